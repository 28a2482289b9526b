"""A collection of Qdrant."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import InputError
from interloq.retrieve.index import create_index, open_index
from interloq.retrieve.servers.qdrant_collection import ClientOptions, Collection, CollectionOptions
from tests.retrieve.made_qdrant import PAIRS, on_server

pytest.importorskip("httpx")


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
    note["payload"]["schema"] = 99
    points = {"points": [{"id": 0, "vector": {}, "payload": note["payload"]}]}
    on_server(f"{qdrant_address}_interloq", "PUT", "/points?wait=true", points)
    with pytest.raises(InputError, match="the index has schema 99; this version reads schema 1; build it again"):
        open_index(qdrant_address)


def test_options_are_kept_and_checked(qdrant_address: str) -> None:
    create_index(f"{qdrant_address}?shards=2&m=8&int8=true&patience=30", DENSE)
    config = on_server(qdrant_address, "GET", "")["config"]["params"]
    assert config["shard_number"] == 2
    assert config["vectors"]["utterance"]["hnsw_config"]["m"] == 8
    assert config["vectors"]["utterance"]["quantization_config"]["scalar"]["type"] == "int8"
    create_index(f"{qdrant_address}?shards=2", DENSE)
    with pytest.raises(InputError, match="another option shards: 2, not 3"):
        open_index(f"{qdrant_address}?shards=3")
    with pytest.raises(InputError, match="unknown option 'shard'; did you mean 'shards'"):
        open_index(f"{qdrant_address}?shard=3")
    with pytest.raises(InputError, match="option int8 must be true or false, got 'yes'"):
        open_index(f"{qdrant_address}?int8=yes")


def test_every_option_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "servers.md").read_text()
    for option in (*dataclasses.fields(CollectionOptions), *dataclasses.fields(ClientOptions)):
        (row,) = [line for line in page.splitlines() if line.startswith("| `") and f"`{option.name}`" in line]
        if option.default not in (0, False):
            assert str(option.default) in row or option.name == "replicas"
