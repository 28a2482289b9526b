"""The store on Qdrant: loads that are cut off, servers that go away, nodes that push back, and what differs in BM25."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from interloq import InputError, create, write
from interloq.records import Pair
from interloq.retrieve.index import create_index, open_index
from interloq.retrieve.retriever import Query
from interloq.retrieve.servers import qdrant
from interloq.retrieve.servers.qdrant import Qdrant
from interloq.retrieve.servers.qdrant_nodes import KEY
from tests.qdrant_double import QdrantDouble
from tests.retrieve.made_index import PAIRS, made
from tests.retrieve.made_qdrant import on_server
from tests.server_fixtures import QdrantNode, qdrant_node

pytest.importorskip("httpx")


DENSE = "dense(encoder='fake32')"
Node = QdrantNode | QdrantDouble
QUERIES = [Query(pair.utterance) for pair in made(20, seed=1)]


def n_points(address: str) -> int:
    return int(on_server(address, "POST", "/points/count", {"exact": True})["count"])


def assert_whole(address: str, pairs: list[Pair]) -> None:
    """Every pair is there once, in order, and found."""
    index = open_index(address)
    assert index.store.pairs(range(len(pairs))) == pairs
    assert n_points(address) == len(pairs) == len(index.store)
    asked = pairs[:: len(pairs) // 50]
    found = index.search([Query(pair.utterance) for pair in asked], 5)
    assert all(pair in [hit.pair for hit in hits] for pair, hits in zip(asked, found, strict=True))


PROGRAM = """
import sys, time
from interloq.data.records.jsonl import read
from interloq.retrieve.servers import qdrant, qdrant_nodes
from interloq.retrieve.index import create_index
from interloq.retrieve.servers.qdrant_collection import Collection
qdrant.COMMIT_EVERY, qdrant.WATCHED = 0.02, 0.5
store = Collection._store
Collection._store = lambda *a: (store(*a), time.sleep(0.02))
index = create_index(sys.argv[2], sys.argv[3])
index.add(read(sys.argv[1], kind="pairs"), source="log", segment=700)
"""


@pytest.mark.parametrize("retriever", [DENSE, "bm25"])
def test_kill_the_client_at_any_point_then_resume(tmp_path: Path, qdrant_address: str, retriever: str) -> None:
    """Nothing lost, nothing twice; and what was in by the kill is not sent again."""
    write(tmp_path / "pairs.jsonl", PAIRS, kind="pairs")
    address = f"{qdrant_address}?batch=8&outstanding=3"
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "pairs.jsonl"), address, retriever]
    create_index(address, retriever)
    rng, reached = Random(5), [0]
    for _ in range(3):
        process = subprocess.Popen(command)
        wanted = reached[-1] + rng.randint(1, 400)
        while open_index(address).store.sources().get("log", 0) < wanted and process.poll() is None:
            time.sleep(0.05 * rng.random())
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "the kill met a load"
        reached.append(open_index(address).store.sources()["log"])
    assert reached == sorted(set(reached)), f"each went on where the one before stopped: {reached}"
    assert reached[-1] < len(PAIRS)
    subprocess.run(command, check=True)
    assert open_index(address).store.sources() == {"log": len(PAIRS)}
    assert_whole(address, PAIRS)


def test_points_past_the_end_are_found_by_nobody_and_swept(qdrant_address: str) -> None:
    index = create_index(qdrant_address, DENSE)
    index.add(PAIRS[:50], source="a")
    (vector,) = index.retriever.encode([QUERIES[0].utterance])  # type: ignore[misc]
    stray = {"vector": {"utterance": np.asarray(vector).tolist()}, "payload": {"utterance": "cut off"}}
    on_server(qdrant_address, "PUT", "/points?wait=true", {"points": [{"id": 50 + i, **stray} for i in range(40)]})
    for k in (1, 5, 50):
        (hits,) = open_index(qdrant_address).search(QUERIES[:1], k)
        assert len(hits) == min(k, sum(hit.score > 0 for hit in hits))
        assert {hit.pair.id for hit in hits} <= {pair.id for pair in PAIRS[:50]}
        assert hits
    index.add(PAIRS[:60], source="a")
    assert n_points(qdrant_address) == 60
    assert index.store.pairs(range(60)) == PAIRS[:60]


def test_one_client_adds_at_a_time(qdrant_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant, "WATCHED", 0.5)
    first, second = create_index(qdrant_address, DENSE), create_index(qdrant_address, DENSE)
    encoded = {"utterance": first.retriever.encode([pair.utterance for pair in PAIRS[:10]])}
    first.store.add(PAIRS[:10], encoded, source="a", consumed=10)  # type: ignore[arg-type]
    stop = threading.Event()

    def live() -> None:
        while not stop.is_set():
            first.store._commit()  # type: ignore[attr-defined]
            time.sleep(0.05)

    thread = threading.Thread(target=live)
    thread.start()
    try:
        with pytest.raises(InputError, match="another client is adding"):
            second.add(PAIRS[:20], source="b")
    finally:
        stop.set()
        thread.join()
    assert second.add(PAIRS[:20], source="b") == 20, "the first one has gone silent"
    second.store._begin(encoded)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="another client is adding"):
        first.store.add(PAIRS[10:20], encoded, source="a", consumed=20)  # type: ignore[arg-type]
    assert open_index(qdrant_address).store.sources() == {"a": 10, "b": 20}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A server of this test's own, which it may kill."""
    node = qdrant_node(tmp_path / "node").start()
    yield node
    node.kill()


def test_a_server_that_comes_back_in_time_is_waited_for(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant, "COMMIT_EVERY", 0.05)
    address = f"qdrant://{node.host}/log?batch=8&patience=60"
    index = create_index(address, DENSE)
    killed: list[int] = []

    def crash() -> None:
        while len(index.store) < 300:
            time.sleep(0.01)
        node.kill()
        killed.append(len(index.store))
        time.sleep(1)
        node.start()

    thread = threading.Thread(target=crash)
    thread.start()
    index.add(PAIRS, source="log")
    thread.join()
    assert 300 <= killed[0] < len(PAIRS), "the server was killed while pairs were on their way"
    assert_whole(address, PAIRS)


def test_a_server_that_is_gone_is_an_error_that_says_how_to_go_on(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant, "COMMIT_EVERY", 0.05)
    address = f"qdrant://{node.host}/log?batch=8&patience=1"
    index = create_index(address, DENSE)
    store: Any = index.store

    def crash() -> None:
        while len(store) < 300:
            time.sleep(0.01)
        node.kill()

    thread = threading.Thread(target=crash)
    thread.start()
    with pytest.raises(InputError) as caught:
        index.add(PAIRS, source="log")
    thread.join()
    message = str(caught.value)
    assert f"qdrant://{node.host}/log: no answer for 1 s (" in message
    assert f"{store.manifest.sources['log']:,} pairs of the source stored; start the server, then run" in message
    with pytest.raises(InputError, match="no answer for 1 s"):
        index.search(QUERIES)
    with pytest.raises(InputError, match="no answer for 1 s"):
        open_index(address)
    node.start()
    before = store.sources()["log"]
    assert 300 <= before < len(PAIRS)
    assert index.add(PAIRS, source="log") == len(PAIRS) - before
    assert_whole(address, PAIRS)


def test_a_key_is_needed_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = qdrant_node(tmp_path / "node", key="right-secret").start()
    try:
        address = f"qdrant://{node.host}/log"
        for key in ("", "wrong-secret"):
            monkeypatch.setenv(KEY, key)
            with pytest.raises(
                InputError, match=rf"refused the request \(40[13]\); put an API key .* in {KEY}"
            ) as caught:
                create_index(address, "bm25")
            assert "secret" not in str(caught.value)
        monkeypatch.setenv(KEY, "right-secret")
        index = create_index(address, "bm25")
        assert index.add(PAIRS[:5], source="a") == 5
        assert "secret" not in repr(index) + repr(index.store.__dict__)
    finally:
        node.kill()


def test_the_mean_length_is_that_of_the_first_batch(qdrant_address: str) -> None:
    index = create_index(qdrant_address, "bm25")
    index.add(PAIRS[:100], source="a", segment=20)
    mean = np.mean([len(pair.utterance.split()) for pair in PAIRS[:20]])
    assert index.store.manifest.words == {"utterance": pytest.approx(mean)}  # type: ignore[attr-defined]
    assert open_index(qdrant_address).store.manifest.words["utterance"] == pytest.approx(mean)  # type: ignore[attr-defined]


def test_a_collection_that_is_not_an_index_is_left_alone(qdrant_address: str) -> None:
    on_server(qdrant_address, "PUT", "", {"vectors": {"size": 4, "distance": "Cosine"}})
    with pytest.raises(InputError, match=r"exists and is not an index; name a new collection"):
        create_index(qdrant_address, "bm25")
    with pytest.raises(InputError, match="no index at this address"):
        open_index(qdrant_address)


@pytest.mark.parametrize("options", ["", "?int8=true&on_disk=true", "?shards=3"])
def test_indexed_search_reaches_the_recall_it_says(qdrant_address: str, options: str) -> None:
    store = Qdrant.create(qdrant_address + options, create(DENSE), exact_up_to=1_000, recall=0.95)
    told: list[tuple[int, int]] = []
    store.progress = lambda indexed, total: told.append((indexed, total))
    encoded = create(DENSE).encode([pair.utterance for pair in PAIRS])
    store.add(PAIRS, {"utterance": encoded}, source="a", consumed=len(PAIRS))
    store.finish()
    assert told[-1][1] == len(PAIRS)
    assert store.manifest.recall is not None
    assert store.manifest.recall >= 0.95
    queries = create(DENSE).encode([query.utterance for query in QUERIES])
    truth = np.sort(queries @ encoded.T, axis=1)[:, ::-1][:, :15]
    _, scores = Qdrant(qdrant_address).nearest("utterance", queries, 15)
    assert np.mean(scores >= truth[:, -1:] - 1e-5) > 0.9


def test_waiting_for_the_index_ends(qdrant_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Qdrant.create(f"{qdrant_address}?wait=0", create(DENSE), exact_up_to=0)
    encoded = create(DENSE).encode([pair.utterance for pair in PAIRS])
    store.add(PAIRS, {"utterance": encoded}, source="a", consumed=len(PAIRS))
    with pytest.raises(
        InputError, match=r"all pairs are stored; [\d,]+ of 2,000 vectors are indexed after 0 s; run the same"
    ):
        store.finish()
    assert open_index(qdrant_address).search(QUERIES[:1], 3)[0], "search works meanwhile"
    monkeypatch.setattr(qdrant, "WATCHED", 0.2)
    Qdrant(qdrant_address).finish()
    assert Qdrant(qdrant_address).manifest.recall is not None


def test_bm25_of_shards_ranks_nearly_as_a_folder(qdrant_address: str, tmp_path: Path) -> None:
    """Each shard has its own idf, and the mean length is the first batch's: the lists of ten differ in few places."""
    folder = create_index(tmp_path / "index", "bm25")
    folder.add(PAIRS, source="a")
    for_whole, shares = folder.search(QUERIES, 10), {}
    for shards in (1, 3):
        index = create_index(f"{qdrant_address}_{shards}?shards={shards}", "bm25")
        index.add(PAIRS, source="a", segment=500)
        found = index.search(QUERIES, 10)
        shares[shards] = np.mean([_shared(a, b) for a, b in zip(for_whole, found, strict=True)])
        for name in ("", "_interloq"):
            on_server(f"{qdrant_address}_{shards}{name}", "DELETE", "")
    assert shares[1] > 0.93, "equal scores may swap at the border"
    assert shares[3] > 0.8


def _shared(one: Any, two: Any) -> float:
    return len({hit.pair.id for hit in one} & {hit.pair.id for hit in two}) / len(one)
