"""Requests to a chat server: side by side, not too many a minute, tried again, and read with care."""

from __future__ import annotations

import asyncio
import email.utils
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import orjson

from interloq.data.http_body import Body, BodyError
from interloq.models.replies import Reply, one_line
from interloq.signature import fingerprint

LARGEST = 1 << 20  # bytes of an answer that are read
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds between attempts, doubling
AGAIN = (408, 409, 425, 429)  # refusals that may pass, beside those from 500 on
_KEY = re.compile(r"\bsk-[\w*.-]{3,}")


class Failed(Exception):  # noqa: N818 - not for callers: it becomes a reply's failure
    """Why there is no reply; `again` whether another attempt could help, `after` how long the server wants to rest.

    `works` says that a chat server is there and would answer at another time, or another dialogue.
    """

    def __init__(self, failure: str, *, again: bool, after: float = 0.0, works: bool = False) -> None:
        super().__init__(failure)
        self.again, self.after, self.works = again, after, works


@dataclass
class Line:
    """The connection to one chat server."""

    url: str
    secret: str = field(repr=False)
    local: bool
    concurrency: int
    timeout: float
    retries: int
    rate: float
    free_at: float = 0.0  # when the next request may go out

    async def answers(self, bodies: Sequence[dict[str, Any]]) -> list[Reply]:
        """One reply a request, in their order; an error becomes the reply's failure."""
        turnstile = asyncio.Semaphore(self.concurrency)
        async with self._client() as client:
            return list(await asyncio.gather(*(self._answer(client, turnstile, body) for body in bodies)))

    async def tried(self, body: dict[str, Any]) -> Failed | None:
        """Why one request, without further attempts, was not answered."""
        async with self._client() as client:
            try:
                _text(await self._post(client, json.dumps(body).encode()))
            except Failed as failed:
                return Failed(self._said(str(failed)), again=failed.again, works=failed.works)
        return None

    def _client(self) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        limits = httpx.Limits(max_connections=self.concurrency)
        # no proxy to ourselves; the key follows no redirect, because none is followed
        return httpx.AsyncClient(headers=headers, timeout=None, limits=limits, trust_env=not self.local)  # noqa: S113 - `_post` has the limit

    async def _answer(self, client: httpx.AsyncClient, turnstile: asyncio.Semaphore, body: dict[str, Any]) -> Reply:
        content = json.dumps(body).encode()  # escapes what orjson would refuse
        rng = np.random.default_rng(int(fingerprint(content), 16))  # the body holds the seed
        for attempt in range(self.retries + 1):
            async with turnstile:
                await self._turn()
                try:
                    return Reply(_text(await self._post(client, content)))
                except Failed as failed:
                    last = failed
            if not last.again or last.after > LONGEST_PAUSE or attempt == self.retries:
                break
            await asyncio.sleep(max(last.after, _pause(attempt) * (0.5 + rng.random() / 2)))
        attempts = f" ({attempt + 1} attempts)" if attempt else ""
        return Reply("", self._said(f"{last}{attempts}"))

    async def _turn(self) -> None:
        """Wait until the rate allows one more request."""
        now = time.monotonic()
        start = max(now, self.free_at)
        self.free_at = start + (60 / self.rate if self.rate else 0.0)
        if start > now:
            await asyncio.sleep(start - now)

    async def _post(self, client: httpx.AsyncClient, content: bytes) -> bytes:
        try:
            async with asyncio.timeout(self.timeout):
                headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
                async with client.stream("POST", self.url, content=content, headers=headers) as answer:
                    data = await _read(answer)
        except TimeoutError:
            raise Failed(f"timed out after {self.timeout:g} s", again=True, works=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:  # connection refused or lost, broken HTTP
            raise Failed(f"no answer: {type(error).__name__}: {error}", again=True) from None
        if answer.status_code == 429:
            self.free_at = max(self.free_at, time.monotonic() + min(_retry_after(answer), LONGEST_PAUSE))
        if answer.status_code != 200:
            again = answer.status_code in AGAIN or answer.status_code >= 500
            failure, after = f"HTTP {answer.status_code}: {_message(data)}", _retry_after(answer)
            raise Failed(failure, again=again, after=after, works=again)
        return data

    def _said(self, text: str) -> str:
        """A message without the key, which some servers repeat."""
        return _KEY.sub("***", one_line(text.replace(self.secret, "***") if self.secret else text))


async def _read(answer: httpx.Response) -> bytes:
    try:
        body = Body(answer.headers.get("content-encoding", ""), LARGEST)
        async for part in answer.aiter_raw(1 << 16):
            body.add(part)
        return body.whole()
    except BodyError as error:
        raise Failed(str(error), again=False) from None


def _text(data: bytes) -> str:
    try:
        value = json.loads(data)  # takes halves of characters, which are replaced later
    except (ValueError, RecursionError):
        raise Failed("the answer is not valid JSON", again=True) from None
    try:
        message = value["choices"][0]["message"]
        text = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Failed("the answer holds no choices[0].message", again=True) from None
    if isinstance(text, list):  # parts, of which some are text
        text = "".join(str(part.get("text") or "") for part in text if isinstance(part, dict))
    if isinstance(text, str):
        return text
    refusal = message.get("refusal")
    raise Failed(f"refused: {refusal}" if refusal else "the answer's message holds no text", again=False, works=True)


def _message(data: bytes) -> str:
    """What the server says of its refusal."""
    try:
        value: Any = orjson.loads(data)
        error = value.get("error", value)
        return str(error.get("message", "nothing said") if isinstance(error, dict) else error)
    except (orjson.JSONDecodeError, AttributeError):
        return data[:1_000].decode("utf-8", "replace")


def _pause(attempt: int) -> float:
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt, 20))


def _retry_after(answer: httpx.Response) -> float:
    """Seconds, given as such or as a date; 0 where nothing is said."""
    text = answer.headers.get("retry-after", "")
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError):
            return 0.0
    return max(0.0, seconds) if seconds == seconds else 0.0
