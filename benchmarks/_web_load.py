"""Load on a web server: what annotators at once see, and servers in processes of their own."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Awaitable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np

ASPECTS = ("overall", "fluent")
REPLIES = 3  # on a page
PATIENCE = 120  # seconds for a server to start


@dataclass
class Load:
    """What annotators saw: seconds of each request by kind, and acknowledged submissions."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    acknowledged: list[tuple[int, str]] = field(default_factory=list)  # item or assignment, submission or person
    failures: Counter[str] = field(default_factory=Counter)

    def measured(self, kind: str, during: float) -> dict[tuple[str, str], float]:
        """Return the figures of one kind of request by what they are and their unit."""
        taken = np.array(self.seconds.get(kind, [np.nan])) * 1000
        figures = {(f"{kind}, requests", "/s"): len(taken) / during}
        for name, percent in (("median", 50), ("95 %", 95), ("99 %", 99)):
            figures[f"{kind}, {name}", "ms"] = float(np.percentile(taken, percent))
        return figures


async def timed(load: Load, kind: str, request: Awaitable[httpx.Response]) -> httpx.Response | None:
    start = time.perf_counter()
    try:
        found = await request
    except httpx.HTTPError as error:
        load.failures[type(error).__name__] += 1
        return None
    load.seconds.setdefault(kind, []).append(time.perf_counter() - start)
    if found.status_code >= 400:
        load.failures[f"HTTP {found.status_code}"] += 1
    return found


async def together(jobs: Iterable[Coroutine[Any, Any, None]]) -> None:
    await asyncio.gather(*jobs)


def wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a server accepts connections."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 0.1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("the server did not start")


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
