"""The store on Qdrant: loads that are cut off, servers that go away, nodes that push back, and what differs in BM25."""

from __future__ import annotations

import dataclasses
import gzip
import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.qdrant_double import QdrantDouble
from tests.server_fixtures import QdrantNode, free_port, qdrant_node

pytest.importorskip("httpx")

import httpx

from interloq import InputError, create, write
from interloq.records import Pair
from interloq.retrieve import qdrant, qdrant_nodes
from interloq.retrieve.index import create_index, open_index
from interloq.retrieve.qdrant import Qdrant
from interloq.retrieve.qdrant_collection import ClientOptions, Collection, CollectionOptions
from interloq.retrieve.qdrant_nodes import KEY, Address, Nodes
from interloq.retrieve.qdrant_points import Ranking, as_queries, as_stored, fold
from interloq.retrieve.retriever import Query, Words

Node = QdrantNode | QdrantDouble
DENSE = "dense(encoder='fake32')"
WORDS = [f"w{i}" for i in range(300)]


def made(n: int, *, seed: int = 0) -> list[Pair]:
    rng = Random(seed)
    texts = iter([" ".join(rng.choices(WORDS, k=rng.randint(3, 10))) for _ in range(2 * n)])
    return [Pair(f"p{i}", next(texts), next(texts)) for i in range(n)]


PAIRS = made(2_000)
QUERIES = [Query(pair.utterance) for pair in made(20, seed=1)]


def on_server(address: str, method: str, path: str, body: Any = None) -> Any:
    """What the server says without Interloq between."""
    host, name = address.partition("?")[0].removeprefix("qdrant://").split("/")
    answer = httpx.request(method, f"http://{host}/collections/{name}{path}", json=body, trust_env=False, timeout=60)
    answer.raise_for_status()
    return answer.json()["result"]


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


# ---- a load that is cut off ------------------------------------------------------------------------------------------

PROGRAM = """
import sys, time
from interloq.data.jsonl import read
from interloq.retrieve import qdrant, qdrant_nodes
from interloq.retrieve.index import create_index
from interloq.retrieve.qdrant_collection import Collection
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
    for _ in range(5):
        process = subprocess.Popen(command)
        wanted = reached[-1] + rng.randint(1, 250)
        while open_index(address).store.sources().get("log", 0) < wanted and process.poll() is None:
            time.sleep(0.005 * rng.random())
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


def test_what_another_client_added_is_not_added_again(qdrant_address: str) -> None:
    first, second = create_index(qdrant_address, DENSE), create_index(qdrant_address, DENSE)
    first.add(PAIRS[:30], source="a")
    assert second.add(PAIRS[:40], source="a") == 10
    assert first.add(PAIRS[:40], source="a") == 0
    encoded = {"utterance": first.retriever.encode([pair.utterance for pair in PAIRS[:10]])}
    with pytest.raises(InputError, match="the batch follows 30 pairs of its source, but 40 are stored"):
        first.store.add(PAIRS[:10], encoded, source="a", consumed=40)  # type: ignore[arg-type]
    assert open_index(qdrant_address).store.pairs(range(40)) == PAIRS[:40]


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


# ---- a server that goes away -----------------------------------------------------------------------------------------


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


# ---- nodes that push back --------------------------------------------------------------------------------------------


@contextmanager
def scripted(*answers: tuple[int, dict[str, str], bytes]) -> Iterator[tuple[str, list[float]]]:
    """A server that gives these answers in turn, then a good one; with the times at which it was asked."""
    script, asked = list(answers), list[float]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(time.monotonic())
            status, headers, body = script.pop(0) if script else (200, {}, b'{"result": {"exists": true}}')
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def collection(hosts: str, *, patience: int = 20) -> Collection:
    return Collection("log", Nodes(Address.read(f"qdrant://{hosts}/log"), patience), ClientOptions())


def test_a_busy_server_is_asked_again() -> None:
    busy = (429, {"retry-after": "1"}, b"")
    with scripted(busy, (503, {}, b""), (500, {}, b'{"status": {"error": "timeout"}}')) as (host, asked):
        assert collection(host).exists()
    assert len(asked) == 4
    assert asked[1] - asked[0] >= 1, "as long as it asked for"
    assert asked[3] - asked[2] > asked[2] - asked[1] > 0.1, "longer each time"


def test_patience_ends() -> None:
    with scripted(*[(503, {}, b'{"status": {"error": "out of disk"}}')] * 50) as (host, _):
        start = time.monotonic()
        with pytest.raises(InputError, match=r"no answer for 1 s \(503: out of disk\)"):
            collection(host, patience=1).exists()
        assert time.monotonic() - start < 5


def test_refusals_are_not_repeated() -> None:
    with scripted((400, {}, b'{"status": {"error": "Wrong input: no"}}')) as (host, asked):
        with pytest.raises(InputError, match=r"the server reported \(400\): Wrong input: no"):
            collection(host).exists()
        assert len(asked) == 1
    with scripted((200, {}, b"<html>")) as (host, _), pytest.raises(InputError, match="not a Qdrant server"):
        collection(host).exists()


def test_an_answer_is_read_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_nodes, "LARGEST", 1 << 20)
    good, zeros = b'{"result": {"exists": true}}', gzip.compress(bytes(50_000_000))
    with scripted((200, {"content-encoding": "gzip"}, gzip.compress(good))) as (host, _):
        assert collection(host).exists()
    for encoding, body, message in (
        ("gzip", zeros, "the answer is larger than 1 MiB"),
        ("identity", bytes(2_000_000), "the answer is larger than 1 MiB"),
        ("gzip, gzip", gzip.compress(zeros), "the answer is packed as 'gzip, gzip'"),
    ):
        with (
            scripted((200, {"content-encoding": encoding}, body)) as (host, _),
            pytest.raises(InputError, match=message),
        ):
            collection(host).exists()


def test_an_answer_that_takes_too_long_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted() as (host, _):
        asking = collection(host, patience=0)
        monkeypatch.setattr(qdrant_nodes, "TIMEOUT", 0.0)
        with pytest.raises(InputError, match=r"no answer for 0 s \(the answer took more than 0 s\)"):
            asking.exists()


def test_redirects_are_not_followed() -> None:
    with (
        scripted() as (elsewhere, asked),
        scripted((302, {"location": f"http://{elsewhere}/"}, b"")) as (host, _),
        pytest.raises(InputError, match=r"the server reported \(302\)"),
    ):
        collection(host).exists()
    assert not asked


def test_a_dead_node_is_passed_over() -> None:
    with scripted() as (host, asked):
        nodes = collection(f"127.0.0.1:{free_port()},{host}")
        start = time.monotonic()
        assert all(nodes.exists() for _ in range(20))
    assert len(asked) == 20
    assert time.monotonic() - start < 2, "the dead one is not tried each time"


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


# ---- what lives on the server ----------------------------------------------------------------------------------------


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


def test_the_mean_length_is_that_of_the_first_batch(qdrant_address: str) -> None:
    index = create_index(qdrant_address, "bm25")
    index.add(PAIRS[:100], source="a", segment=20)
    mean = np.mean([len(pair.utterance.split()) for pair in PAIRS[:20]])
    assert index.store.manifest.words == {"utterance": pytest.approx(mean)}  # type: ignore[attr-defined]
    assert open_index(qdrant_address).store.manifest.words["utterance"] == pytest.approx(mean)  # type: ignore[attr-defined]


def test_a_collection_that_is_no_index_is_left_alone(qdrant_address: str) -> None:
    on_server(qdrant_address, "PUT", "", {"vectors": {"size": 4, "distance": "Cosine"}})
    with pytest.raises(InputError, match=r"exists and is not an index; name a new collection"):
        create_index(qdrant_address, "bm25")
    with pytest.raises(InputError, match="no index at this address"):
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
    page = (Path(__file__).parents[2] / "docs" / "servers.md").read_text()
    for option in (*dataclasses.fields(CollectionOptions), *dataclasses.fields(ClientOptions)):
        (row,) = [line for line in page.splitlines() if line.startswith("| `") and f"`{option.name}`" in line]
        if option.default not in (0, False):
            assert str(option.default) in row or option.name == "replicas"


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


# ---- words as points -------------------------------------------------------------------------------------------------

TERMS = arrays.arrays(np.uint64, st.integers(1, 20), elements=st.integers(0, 2**64 - 1), unique=True)


@given(TERMS, st.data())
def test_weights_are_bm25s(terms: Any, data: st.DataObject) -> None:
    """One text between two others; words that share a number are added up."""
    counts = np.array(data.draw(st.lists(st.integers(1, 50), min_size=len(terms), max_size=len(terms))), dtype=np.int32)
    words = Words(np.tile(terms, 3), np.tile(counts, 3), np.arange(4) * len(terms))
    (stored,) = as_stored("utterance", words, slice(1, 2), Ranking(1.5, 0.6, {"utterance": 9.0}))
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


# ---- addresses -------------------------------------------------------------------------------------------------------


def test_addresses() -> None:
    one = Address.read("qdrant://localhost/log?shards=3")
    assert one == Address(("http://localhost:6333",), "log", "shards=3")
    assert str(one) == "qdrant://localhost:6333/log"
    many = Address.read("qdrants://a.example,b.example:7000,[::1]:7001/log_2")
    assert many.urls == ("https://a.example:6333", "https://b.example:7000", "https://[::1]:7001")
    assert str(many) == "qdrants://a.example:6333,b.example:7000,[::1]:7001/log_2"
    for bad in ("qdrant://localhost", "qdrant://localhost/a/b", "qdrant:///log", "qdrant://a b/log", "qdrant://h/l%2F"):
        with pytest.raises(InputError, match="write qdrant://host:6333/collection"):
            Address.read(bad)
    with pytest.raises(InputError) as caught:
        Address.read("qdrant://me:hunter2@localhost/log")
    assert "hunter2" not in str(caught.value)


def test_a_key_in_plain_text_to_elsewhere_is_worth_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "secret")
    with pytest.warns(UserWarning, match="the API key is sent unencrypted; write qdrants:// for TLS"):
        Nodes(Address.read("qdrant://qdrant.example/log"), 1)
    Nodes(Address.read("qdrant://localhost/log"), 1)
    Nodes(Address.read("qdrants://qdrant.example/log"), 1)
