"""Nodes of Qdrant: retries, answers within limits, addresses and keys."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from interloq import InputError
from interloq.retrieve.servers import qdrant_nodes
from interloq.retrieve.servers.qdrant_collection import ClientOptions, Collection
from interloq.retrieve.servers.qdrant_nodes import KEY, Nodes, QdrantAddress
from tests.server_fixtures import free_port

pytest.importorskip("httpx")


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
    return Collection("log", Nodes(QdrantAddress.read(f"qdrant://{hosts}/log"), patience), ClientOptions())


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
        ("gzip, gzip", gzip.compress(zeros), "the answer is encoded as 'gzip, gzip'"),
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


def test_addresses() -> None:
    one = QdrantAddress.read("qdrant://localhost/log?shards=3")
    assert one == QdrantAddress(("http://localhost:6333",), "log", "shards=3")
    assert str(one) == "qdrant://localhost:6333/log"
    many = QdrantAddress.read("qdrants://a.example,b.example:7000,[::1]:7001/log_2")
    assert many.urls == ("https://a.example:6333", "https://b.example:7000", "https://[::1]:7001")
    assert str(many) == "qdrants://a.example:6333,b.example:7000,[::1]:7001/log_2"
    for bad in ("qdrant://localhost", "qdrant://localhost/a/b", "qdrant:///log", "qdrant://a b/log", "qdrant://h/l%2F"):
        with pytest.raises(InputError, match="write qdrant://host:6333/collection"):
            QdrantAddress.read(bad)
    with pytest.raises(InputError) as caught:
        QdrantAddress.read("qdrant://me:hunter2@localhost/log")
    assert "hunter2" not in str(caught.value)


def test_a_key_in_plain_text_to_elsewhere_is_worth_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "secret")
    with pytest.warns(UserWarning, match="the API key is sent unencrypted; write qdrants:// for TLS"):
        Nodes(QdrantAddress.read("qdrant://qdrant.example/log"), 1)
    Nodes(QdrantAddress.read("qdrant://localhost/log"), 1)
    Nodes(QdrantAddress.read("qdrants://qdrant.example/log"), 1)
