"""Three Qdrant nodes on loopback, three shards in two copies each: one node dies in the middle of a load."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.retrieve.made_index import made
from tests.server_fixtures import QdrantNode, free_port, qdrant_binary

pytest.importorskip("httpx")

import httpx

from interloq.retrieve.index import Index, create_index, open_index
from interloq.retrieve.retriever import Query
from interloq.retrieve.servers import qdrant

DENSE = "dense(encoder='fake32')"
OPTIONS = "shards=3&replicas=2&batch=32&patience=60"


PAIRS = made(12_000)
QUERIES = [Query(pair.utterance) for pair in made(30, seed=1)]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[QdrantNode]]:
    binary, uris = qdrant_binary(), [f"http://127.0.0.1:{free_port()}" for _ in range(3)]
    nodes: list[QdrantNode] = []
    try:
        for i, uri in enumerate(uris):
            settings = {"CLUSTER__ENABLED": "true", "CLUSTER__P2P__PORT": uri.rpartition(":")[2]}
            arguments = ("--uri", uri) if i == 0 else ("--bootstrap", uris[0], "--uri", uri)
            nodes.append(QdrantNode(binary, tmp_path / f"node{i}", settings, arguments).start())
        yield nodes
    finally:
        for node in nodes:
            node.kill()


def on(node: QdrantNode, path: str) -> Any:
    return httpx.get(f"http://{node.host}{path}", trust_env=False, timeout=30).json()["result"]


def replicas(node: QdrantNode) -> list[str]:
    """The state of every copy of every shard, as this node knows it."""
    facts = on(node, "/collections/log/cluster")
    return [shard["state"] for shard in [*facts["local_shards"], *facts["remote_shards"]]]


def wait_for(true: Any, what: str, *, within: float = 60) -> None:
    stop = time.monotonic() + within
    while not true():
        assert time.monotonic() < stop, f"{what} took more than {within} s"
        time.sleep(0.1)


def assert_whole(index: Index) -> None:
    assert len(index.store) == len(PAIRS)
    assert index.store.sources() == {"log": len(PAIRS)}
    assert index.store.pairs(range(len(PAIRS))) == PAIRS
    assert_found(index)


def assert_found(index: Index) -> None:
    """Exact search over the nodes that are left is that of one machine over the pairs that are in."""
    here = PAIRS[: len(index.store)]
    stored = np.asarray(index.retriever.encode([pair.utterance for pair in here]))
    asked = np.asarray(index.retriever.encode([query.utterance for query in QUERIES]))
    truth = np.sort(asked @ stored.T, axis=1)[:, ::-1][:, :10]
    for row, hits in zip(truth, index.search(QUERIES, 10), strict=True):
        assert [hit.score for hit in hits] == pytest.approx(row, abs=1e-5)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("victim", [0, 2], ids=["the node that was asked first", "another node"])
def test_a_node_dies_in_the_middle_of_a_load(
    nodes: list[QdrantNode], victim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qdrant, "COMMIT_EVERY", 0.1)
    address = f"qdrant://{','.join(node.host for node in nodes)}/log"
    index = create_index(f"{address}?{OPTIONS}", DENSE)
    assert len(replicas(nodes[1])) == 6
    died: list[int] = []

    def crash() -> None:
        while len(index.store) < 3_000:
            time.sleep(0.01)
        nodes[victim].kill()
        died.append(len(index.store))

    thread = threading.Thread(target=crash)
    thread.start()
    index.add(PAIRS, source="log", segment=5_000)
    thread.join()
    assert 3_000 <= died[0] < len(PAIRS), "the node died while pairs were on their way"
    assert "Dead" in replicas(nodes[1])
    assert_whole(open_index(address))

    nodes[victim].start()
    wait_for(lambda: set(replicas(nodes[1])) == {"Active"}, "the node's recovery")
    survivors = [node for i, node in enumerate(nodes) if i not in (victim, 1)]
    for node in survivors:
        node.kill()
    # the node that came back and node 1 hold every shard between them, or one of its copies was not brought up to date
    alone = open_index(f"qdrant://{nodes[victim].host},{nodes[1].host}/log")
    assert_whole(alone)


@pytest.mark.timeout(240)
def test_bm25_is_spread_too(nodes: list[QdrantNode]) -> None:
    address = f"qdrant://{nodes[1].host}/log"
    create_index(f"{address}?{OPTIONS}", "bm25").add(PAIRS[:3_000], source="log")
    nodes[0].kill()
    index = open_index(f"qdrant://{nodes[0].host},{nodes[2].host}/log")
    found = index.search([Query(pair.utterance) for pair in PAIRS[:30]], 3)
    assert [hits[0].pair.utterance for hits in found] == [pair.utterance for pair in PAIRS[:30]]
