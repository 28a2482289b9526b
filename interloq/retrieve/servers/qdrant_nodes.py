# SPDX-License-Identifier: Apache-2.0
"""Requests to Qdrant nodes, some of which may be down: nodes are asked in turn, with retries and a time limit.

This uses the REST interface directly, because sending and reading numbers is most of the work: the official client
creates an object for each of them, and was half as fast at loading and a quarter as fast for long lists of results.
"""

from __future__ import annotations

import ipaddress
import os
import re
import threading
import time
import warnings
import weakref
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson

from interloq.errors import InputError
from interloq.retrieve.store_address import KEY_VARIABLES
from interloq.servers.http_body import Body, BodyError

KEY = KEY_VARIABLES["qdrant"]
PORT = 6333
TIMEOUT = 60.0  # seconds for one request
LARGEST = 256 << 20  # bytes of an answer: the longest lists of results have 240 MiB
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # between attempts, doubling
NODE_PAUSE = 10.0  # seconds for which a node that did not answer is skipped if there are others
AGAIN = (408, 429)  # status codes to retry, besides those from 500


@dataclass(frozen=True, slots=True)
class QdrantAddress:
    """`qdrant://host:port,host:port/collection?option=value`; `qdrants` is the same over TLS."""

    urls: tuple[str, ...]
    collection: str
    query: str

    @classmethod
    def read(cls, text: str) -> QdrantAddress:
        """Parse `qdrant://host:port/collection`."""
        parts = urlsplit(text)
        collection = parts.path.strip("/")
        if "@" in parts.netloc:  # the text may contain a password, so it is not repeated
            raise InputError("a Qdrant address cannot have a user and password", hint=f"put the API key in {KEY}")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,200}", collection):
            raise InputError(
                f"a collection name has letters, digits, '_' and '-', got {collection!r}",
                hint="write qdrant://host:6333/collection",
            )
        scheme = "https" if parts.scheme.lower() == "qdrants" else "http"
        return cls(tuple(f"{scheme}://{_host(host)}" for host in parts.netloc.split(",")), collection, parts.query)

    def __str__(self) -> str:
        scheme = "qdrants" if self.urls[0].startswith("https") else "qdrant"
        return f"{scheme}://{','.join(url.partition('://')[2] for url in self.urls)}/{self.collection}"


@dataclass(slots=True)
class Node:
    """One node of a Qdrant cluster."""

    client: httpx.Client
    skipped_until: float = 0.0


@dataclass(slots=True, weakref_slot=True)
class Nodes:
    """The nodes of an address, asked in turn."""

    address: QdrantAddress
    patience: float  # seconds without a useful answer before giving up
    _nodes: list[Node] = field(init=False)
    _turn: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._nodes = [Node(_client(url)) for url in self.address.urls]
        for node in self._nodes:
            weakref.finalize(self, node.client.close)

    def __len__(self) -> int:
        return len(self._nodes)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer of a node; if it is down or overloaded, ask another node, or the same one later."""
        content = None if body is None else orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        stop, pause, reason = time.monotonic() + self.patience, FIRST_PAUSE, ""
        while True:
            node = self._next()
            wait = pause
            try:
                answer, data = self._request(node.client, method, path, content)
            except httpx.TransportError as error:
                node.skipped_until = time.monotonic() + NODE_PAUSE
                reason = reason or str(error) or type(error).__name__  # an answer of a live node is more informative
            else:
                if answer.is_success:
                    return self._result(data)
                if answer.status_code < 500 and answer.status_code not in AGAIN:
                    raise self._make_refusal(answer, data)
                reason, wait = f"{answer.status_code}: {_error_message(answer, data)}", max(pause, _retry_after(answer))
            if time.monotonic() + wait > stop:
                raise InputError(
                    f"no answer for {self.patience:g} s ({reason})", hint="start the server", where=self.where
                )
            time.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    @property
    def where(self) -> str:
        """The address of the collection, for messages."""
        return str(self.address)

    def _next(self) -> Node:
        with self._lock:
            self._turn += 1
            turned = [self._nodes[(self._turn + i) % len(self._nodes)] for i in range(len(self._nodes))]
        now = time.monotonic()
        return next((node for node in turned if node.skipped_until <= now), turned[0])

    def _request(
        self, client: httpx.Client, method: str, path: str, content: bytes | None
    ) -> tuple[httpx.Response, bytes]:
        """Return one answer and its body, limited in size and time."""
        stop = time.monotonic() + TIMEOUT
        with client.stream(method, path, content=content) as answer:
            try:
                body = Body(answer.headers.get("content-encoding", ""), LARGEST)
                for part in answer.iter_raw(1 << 16):
                    body.add(part)
                    if time.monotonic() > stop:  # the client's limit is per part
                        raise httpx.ReadTimeout(f"the answer took more than {TIMEOUT:g} s")
                return answer, body.whole()
            except BodyError as error:
                raise InputError(str(error), hint="check host and port", where=self.where) from None

    def _result(self, data: bytes) -> Any:
        try:
            return orjson.loads(data)["result"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise InputError("this is not a Qdrant server", hint="check host and port", where=self.where) from None

    def _make_refusal(self, answer: httpx.Response, data: bytes) -> InputError:
        if answer.status_code in (401, 403):
            return InputError(
                f"the server refused the request ({answer.status_code})",
                hint=f"put an API key that may read and write in {KEY}",
                where=self.where,
            )
        return InputError(
            f"the server reported ({answer.status_code}): {_error_message(answer, data)}", where=self.where
        )


def _host(text: str) -> str:
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?", text)
    if not match:
        raise InputError(f"cannot read the host {text!r}", hint="write qdrant://host:6333/collection")
    return f"{match[1]}:{match[2] or PORT}"


def _client(url: str) -> httpx.Client:
    key, here = os.environ.get(KEY, ""), _on_this_machine(url)
    if key and not here and url.startswith("http://"):
        warnings.warn("the API key is sent unencrypted; write qdrants:// for TLS", stacklevel=2)
    # compression would cost the server up to 20 ms per answer
    headers = {"content-type": "application/json", "accept-encoding": "identity"} | ({"api-key": key} if key else {})
    return httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT, trust_env=not here)  # no proxy for this machine


def _on_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _error_message(answer: httpx.Response, data: bytes) -> str:
    try:
        return str(orjson.loads(data)["status"]["error"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return answer.reason_phrase or "no reason"


def _retry_after(answer: httpx.Response) -> float:
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else 0.0
