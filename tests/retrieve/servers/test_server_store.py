"""Manifests on servers, and options in addresses."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import pytest

from interloq import InputError, create
from interloq.retrieve.servers.server_store import (
    ServerManifest,
    check_source,
    new_manifest,
    read_manifest,
    read_options,
)


@dataclass(frozen=True)
class Made:
    shards: int = 1
    int8: bool = False
    length: float = 9.5


def manifest(retriever: str = "bm25") -> ServerManifest:
    return new_manifest(create(retriever, kind="retriever"), Made(), {"shards": 3}, exact_up_to=5, recall=0.9)


def test_a_new_manifest_knows_options_and_dimensions() -> None:
    assert manifest().options == {"shards": 3, "int8": False, "length": 9.5}
    assert manifest().dimensions == 0
    assert manifest("dense(encoder='fake32')").dimensions == 32


def test_a_manifest_comes_back_and_other_schemas_are_refused() -> None:
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
