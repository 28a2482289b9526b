"""The modules of `interloq.retrieve.servers`: postgres sql, server store."""

from __future__ import annotations

import struct
from dataclasses import asdict, dataclass, replace

import numpy as np
import pytest

from interloq import InputError, create
from interloq.retrieve.retriever import NOTHING
from interloq.retrieve.servers.postgres_sql import as_binary, as_json, as_table, as_text
from interloq.retrieve.servers.server_store import (
    ServerManifest,
    check_source,
    new_manifest,
    read_manifest,
    read_options,
)

VECTORS = np.array([[0.5, -2, 0], [1, 0, 3]], dtype=np.float32)


def test_vectors_in_both_formats() -> None:
    assert as_text(VECTORS) == ["[0.5, -2.0, 0.0]", "[1.0, 0.0, 3.0]"]
    assert struct.unpack(">HH3f", as_binary(VECTORS)[0]) == (3, 0, 0.5, -2, 0)


def test_rows_become_a_table_best_first() -> None:
    ids, scores = as_table([(1, 7, 0.5), (3, 1, 0.1), (1, 4, 0.9), (1, 3, 0.5)], 3, 3)
    assert ids.tolist() == [[4, 3, 7], [NOTHING] * 3, [1, NOTHING, NOTHING]]
    assert scores[0].tolist() == [np.float32(0.9), 0.5, 0.5]
    assert scores[1].tolist() == [-np.inf] * 3


def test_json_is_one_line() -> None:
    assert as_json({"a": "x\ny", "b": [1]}) == '{"a":"x\\ny","b":[1]}'


@dataclass(frozen=True)
class Made:
    shards: int = 1
    int8: bool = False
    length: float = 9.5


def manifest(retriever: str = "bm25") -> ServerManifest:
    return new_manifest(create(retriever, kind="retriever"), Made(), {"shards": 3}, exact_up_to=5, recall=0.9)


def test_a_manifest_knows_options_and_dimensions_and_other_schemas_are_refused() -> None:
    assert manifest().options == {"shards": 3, "int8": False, "length": 9.5}
    assert manifest().dimensions == 0
    assert manifest("dense(encoder='fake32')").dimensions == 32
    stored = replace(manifest(), pairs=7, sources={"a": 7})
    assert read_manifest(asdict(stored), "qdrant://x") == stored
    with pytest.raises(InputError, match="qdrant://x: the index has schema 9"):
        read_manifest(asdict(stored) | {"schema": 9}, "qdrant://x")


def test_a_batch_follows_what_is_stored() -> None:
    stored = replace(manifest(), sources={"a": 1000})
    check_source(stored, "a", 1000)
    check_source(stored, "b", 0)
    with pytest.raises(InputError, match="5 pairs of its source, but 1,000 are stored"):
        check_source(stored, "a", 5)


def test_options_are_read_by_their_type() -> None:
    assert read_options("shards=3&int8=TRUE&length=2", Made, where="") == [{"shards": 3, "int8": True, "length": 2.0}]
    assert read_options("", Made, where="") == [{}]


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("shard=3", "unknown option 'shard'; did you mean 'shards'"),
        ("shards=x", "shards must be a whole number, got 'x'"),
        ("int8=1", "int8 must be true or false"),
        ("length=-1", "length must be from 0"),
        ("shards=", "got ''"),
    ],
)
def test_wrong_options_are_named(query: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read_options(query, Made, where="qdrant://x")
