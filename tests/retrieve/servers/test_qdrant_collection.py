"""A collection of Qdrant."""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from interloq import InputError
from interloq.retrieve.index import create_index, open_index
from interloq.retrieve.retriever import Words
from interloq.retrieve.servers.qdrant_collection import (
    ClientOptions,
    Collection,
    CollectionOptions,
    PointRanking,
    as_queries,
    as_stored,
    fold,
)
from tests.retrieve.made_index import PAIRS
from tests.retrieve.made_qdrant import on_server

pytest.importorskip("httpx")


TERMS = arrays.arrays(np.uint64, st.integers(1, 20), elements=st.integers(0, 2**64 - 1), unique=True)


@given(TERMS, st.data())
def test_weights_are_bm25s(terms: Any, data: st.DataObject) -> None:
    """One text between two others; words that share a number are added up."""
    counts = np.array(data.draw(st.lists(st.integers(1, 50), min_size=len(terms), max_size=len(terms))), dtype=np.int32)
    words = Words(np.tile(terms, 3), np.tile(counts, 3), np.arange(4) * len(terms))
    (stored,) = as_stored("utterance", words, slice(1, 2), PointRanking(1.5, 0.6, {"utterance": 9.0}))
    length, expected = int(counts.sum()), dict[int, float]()
    for term, n in zip(terms.tolist(), counts.tolist(), strict=True):
        number = (term & 0xFFFFFFFF) ^ (term >> 32)
        expected[number] = expected.get(number, 0) + n * (1.5 + 1) / (n + 1.5 * (1 - 0.6 + 0.6 * length / 9.0))
    assert dict(zip(stored["indices"].tolist(), stored["values"].tolist(), strict=True)) == pytest.approx(
        expected, rel=1e-5
    )
    query = as_queries(words)[0]
    assert len(set(query["indices"].tolist())) == len(query["indices"])
    assert math.isclose(query["values"].sum(), length, rel_tol=1e-6)


def test_two_words_with_one_number_are_one() -> None:
    words = Words(np.array([5, 5 << 32, 7], dtype=np.uint64), np.array([1, 2, 4], dtype=np.int32), np.array([0, 3, 3]))
    assert fold(words.terms).tolist() == [5, 5, 7]
    first, second = as_queries(words)
    assert first["indices"].tolist() == [5, 7]
    assert first["values"].tolist() == [3, 4]
    assert second["indices"].tolist() == []


DENSE = "dense(encoder='fake32')"


def test_few_requests_are_on_their_way_at_once() -> None:
    class Slow:
        def __init__(self) -> None:
            self.now, self.most, self.lock = 0, 0, threading.Lock()

        def ask(self, *_: Any) -> None:
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
            time.sleep(0.01)
            with self.lock:
                self.now -= 1

    slow = Slow()
    stored = Collection("log", slow, ClientOptions(batch=10, outstanding=3))  # type: ignore[arg-type]
    vectors = np.zeros((305, 4), dtype=np.float32)
    arrived = list(stored.store(0, PAIRS[:305], {"utterance": vectors}, None))
    assert arrived == [*range(10, 310, 10), 305]
    assert slow.most == 3


def test_the_manifest_is_on_the_server(qdrant_address: str) -> None:
    create_index(f"{qdrant_address}?utterance_length=7.5", "bm25").add(PAIRS[:30], source="a")
    (note,) = on_server(f"{qdrant_address}_interloq", "POST", "/points", {"ids": [0], "with_payload": True})
    assert note["payload"]["retriever"] == "bm25"
    assert note["payload"]["words"] == {"utterance": 7.5}
    assert note["payload"]["sources"] == {"a": 30}


def test_options_are_kept_and_checked(qdrant_address: str) -> None:
    create_index(f"{qdrant_address}?shards=2&m=8&int8=true&patience=30", DENSE)
    config = on_server(qdrant_address, "GET", "")["config"]["params"]
    assert config["shard_number"] == 2
    assert config["vectors"]["utterance"]["hnsw_config"]["m"] == 8
    assert config["vectors"]["utterance"]["quantization_config"]["scalar"]["type"] == "int8"
    create_index(f"{qdrant_address}?shards=2", DENSE)
    with pytest.raises(InputError, match="another option shards: 2, not 3"):
        open_index(f"{qdrant_address}?shards=3")


def test_every_option_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "servers.md").read_text()
    for option in (*dataclasses.fields(CollectionOptions), *dataclasses.fields(ClientOptions)):
        (row,) = [line for line in page.splitlines() if line.startswith("| `") and f"`{option.name}`" in line]
        if option.default not in (0, False):
            assert str(option.default) in row or option.name == "replicas"
