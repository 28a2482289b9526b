"""A real chat server on this machine, which can fail in every way."""

from __future__ import annotations

import email.utils
import gzip
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from interloq.servers import chat_parameters

KEY = "sk-abcdefghijklmnop0123456789"


class Server(ThreadingHTTPServer):
    """Answers by the last message: a word says how.

    `refuses` are parameters that its model does not accept; `reasoning` are the tokens that it needs before any text.
    """

    refuses: Sequence[str] = ()
    reasoning = 0
    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[float, str, dict[str, str], dict[str, Any]]] = []
        self.asked: Counter[str] = Counter()
        self.now = self.most = 0
        self.lock, self.released = threading.Lock(), threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that hangs up is part of the tests


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        word = body["messages"][-1]["content"]
        with self.server.lock:
            self.server.seen.append((time.monotonic(), self.path, dict(self.headers), body))
            self.server.asked[word] += 1
            asked = self.server.asked[word]
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
        try:
            if refused := [name for name in self.server.refuses if name in body]:
                self._send(400, refusal(refused[0]))
            elif body.get("max_completion_tokens", body.get("max_tokens", math.inf)) < self.server.reasoning:
                self._send(200, answer("", "length"))
            else:
                self._respond(word, asked, body)
        finally:
            with self.server.lock:
                self.server.now -= 1

    def _respond(self, word: str, asked: int, body: dict[str, Any]) -> None:
        kind, _, times = word.partition("*")
        if times and asked > int(times):
            kind = "fine"
        if kind in REFUSALS:
            self._send(*REFUSALS[kind])
        elif kind in ODD:
            self._send(200, ODD[kind])
        elif kind in PACKED:
            self._send(200, PACKED[kind][1], encoding=PACKED[kind][0])
        elif kind == "date":
            self._send(429, b"", email.utils.formatdate(time.time() + 2, usegmt=True))
        elif kind == "hang":
            self.server.released.wait(30)
        elif kind == "drip":
            self._drip()
        elif kind in STREAMS:
            self._stream(STREAMS[kind])
        elif body.get("stream") and kind != "unstreamed":
            self._stream([*parts(f"re {word} {body.get('seed')}"), b"data: [DONE]"])
        elif kind == "large":
            self._send(200, b'{"choices": "' + b"x" * 10_000_000 + b'"}')
        elif kind == "torn off":
            self._send(200, b"{}", length=100)
        else:
            time.sleep(0.02 if kind == "slow" else 0)
            self._send(200, answer(f"re {word} {body.get('seed')}"))

    def _send(self, status: int, data: bytes, after: str = "", length: int = 0, encoding: str = "") -> None:
        self.send_response(status)
        if encoding:
            self.send_header("Content-Encoding", encoding)
        if after:
            self.send_header("Retry-After", after)
        if status == 302:
            self.send_header("Location", self.server.url + "/elsewhere")
        self.send_header("Content-Length", str(length or len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = bool(length)

    def _drip(self) -> None:
        """A byte now and then: never silent for long, never done."""
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not self.server.released.wait(0.05):
            self.wfile.write(b" ")

    def _stream(self, events: Sequence[bytes]) -> None:
        """Events until the connection is closed; an empty one waits for the test."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.end_headers()
        self.close_connection = True
        for event in events:
            if not event:
                self.server.released.wait(30)
            self.wfile.write(event + b"\r\n\r\n" if event else b": waited\n")
            self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def answer(text: Any, finish: str = "stop") -> bytes:
    message = {"role": "assistant", "content": text}
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}]}).encode()


def refusal(name: str) -> bytes:
    """What a public service answers to a parameter that one of its models does not accept."""
    text = f"Unsupported parameter: '{name}' is not supported with this model."
    if name == "max_tokens":
        text += " Use 'max_completion_tokens' instead."
    if name == "temperature":
        text = (
            "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) is supported."
        )
    return json.dumps({"error": {"message": text, "type": "invalid_request_error", "param": name}}).encode()


def parts(text: str, finish: str | None = None) -> list[bytes]:
    """Events of a stream, one per word."""
    deltas: list[dict[str, Any]] = [{"role": "assistant"}, *({"content": word} for word in text.split(" "))]
    deltas[2:] = [{"content": " " + delta["content"]} for delta in deltas[2:]]
    choices = [*({"delta": delta, "finish_reason": None} for delta in deltas), {"delta": {}, "finish_reason": finish}]
    return [b"data: " + json.dumps({"choices": [choice]}).encode() for choice in choices]


STREAMS: dict[str, Sequence[bytes]] = {
    "finished": parts("no last event", "stop"),
    "broken": parts("half a"),
    "stopped": [*parts("half a"), b'data: {"error": {"message": "out of memory; sorry"}}'],
    "garbled": [b"data: {"],
    "refusing": [b'data: {"choices": [{"delta": {"refusal": "I will not"}, "finish_reason": "stop"}]}'],
    "silent": [b"data: [DONE]"],
    "thinking": parts("<think>They said hello.</think> Hello there!", "stop"),
    "cut off": parts("<think>They said", "length"),
    "waiting": [*parts("The first part"), b"", *parts(" and the rest."), b"data: [DONE]"],
}
REFUSALS: dict[str, tuple[Any, ...]] = {
    "500": (500, b"<html>broken</html>"),
    "503": (503, b'{"error": {"message": "overloaded"}}'),
    "429": (429, b'{"error": "slow down"}', "1"),
    "never": (429, b'{"error": {"message": "quota spent"}}', "86400"),
    "nonsense": (429, b"", "soon"),
    "401": (401, json.dumps({"error": {"message": f"wrong key {KEY}, or sk-abc***789"}}).encode()),
    "400": (400, b'{"error": {"message": "no such\\nmodel; sorry"}}'),
    "404": (404, b"\xff\xfe"),
    "302": (302, b""),
}
ODD: dict[str, bytes] = {
    "malformed": b'{"choices": [',
    "nothing": b"",
    "nested": b"[" * 200_000,
    "fields": b'{"object": "chat.completion"}',
    "choices": b'{"choices": []}',
    "null": answer(None),
    "number": answer(5),
    "refusal": b'{"choices": [{"message": {"content": null, "refusal": "I will not"}}]}',
    "blank": answer("  \n"),
    "half": b'{"choices": [{"message": {"content": "a\\ud800\\u0000b"}}]}',
    "parts": answer([{"type": "text", "text": "in "}, {"type": "image"}, {"type": "text", "text": "parts"}]),
    "long": answer("y" * 5_000),
    "thought": answer("<think>They said hello.</think>\n\nHello!"),
    "open thought": answer("They said hello.\n</think>\nHello!"),
    "only thought": answer("<think>They said"),
    "cut": answer("<think>They said", "length"),
    "cut short": answer(None, "length"),
}
ZEROS = gzip.compress(bytes(50_000_000))
PACKED: dict[str, tuple[str, bytes]] = {
    "packed": ("gzip", gzip.compress(answer("from a small parcel"))),
    "bomb": ("gzip", ZEROS),
    "twice": ("gzip, gzip", gzip.compress(ZEROS)),
    "brotli": ("br", b"\x0b\x02\x80hello\x03"),
    "torn": ("gzip", gzip.compress(answer("x"))[:-4]),
    "no gzip": ("gzip", answer("x")),
}

S = TypeVar("S", bound=Server)


@contextmanager
def serving(made: S) -> Iterator[S]:
    """The server in a thread; nothing is known about an earlier one at the same port."""
    chat_parameters._KNOWN.clear()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        made.released.set()
        made.shutdown()
        thread.join()
        made.server_close()
