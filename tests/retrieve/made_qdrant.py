"""Scripted servers and small collections."""

from __future__ import annotations

from random import Random
from typing import Any

import httpx

from interloq.records import Pair

WORDS = [f"w{i}" for i in range(300)]


def made(n: int, *, seed: int = 0) -> list[Pair]:
    rng = Random(seed)
    texts = iter([" ".join(rng.choices(WORDS, k=rng.randint(3, 10))) for _ in range(2 * n)])
    return [Pair(f"p{i}", next(texts), next(texts)) for i in range(n)]


PAIRS = made(2_000)


def on_server(address: str, method: str, path: str, body: Any = None) -> Any:
    """What the server says without Interloq between."""
    host, name = address.partition("?")[0].removeprefix("qdrant://").split("/")
    answer = httpx.request(method, f"http://{host}/collections/{name}{path}", json=body, trust_env=False, timeout=60)
    answer.raise_for_status()
    return answer.json()["result"]
