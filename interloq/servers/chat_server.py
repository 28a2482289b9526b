# SPDX-License-Identifier: Apache-2.0
"""Requests to a chat server: concurrent, rate-limited, retried, and with untrusted answers read safely."""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import re
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import httpx
import numpy as np
import orjson

from interloq.servers.chat_parameters import find_refused_parameter, parameters_of
from interloq.servers.http_body import Body, BodyError
from interloq.servers.replies import Reply, one_line, without_reasoning
from interloq.servers.spending import Call, cost_of
from interloq.signature import fingerprint

LARGEST = 1 << 20  # most bytes read of an answer
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds between attempts; each pause is twice the previous one
RETRYABLE = (408, 409, 425, 429)  # statuses worth retrying, besides 500 and above
NO_TEXT = "no text before the limit of tokens was reached: raise max_tokens"
_KEY = re.compile(r"\bsk-[\w*.-]{3,}")
T = TypeVar("T")
Candidates = tuple[tuple[str, float], ...]  # tokens with their log-probabilities


class RequestFailed(Exception):  # noqa: N818 - internal: becomes the `failure` of a reply
    """Why a request got no reply.

    `retry` says that another attempt could succeed, and `retry_after` how many seconds the server asks to wait. `works`
    says that a chat server is running, and would answer at another time or for another dialogue. `refused` is the
    parameter that the model does not accept.
    """

    def __init__(
        self, failure: str, *, retry: bool, retry_after: float = 0.0, works: bool = False, refused: str = ""
    ) -> None:
        super().__init__(failure)
        self.retry, self.retry_after, self.works, self.refused = retry, retry_after, works, refused


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """Text of an answer, the most likely first tokens if the server gave them, and token counts, which are 0 if not
    reported.

    `left_out` are parameters of the request that the model did not accept, so that they were not sent.
    """

    text: str
    candidates: Candidates | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    left_out: tuple[str, ...] = ()


@dataclass
class ChatConnection:
    """Connection to one chat server."""

    url: str
    secret: str = field(repr=False)
    local: bool
    concurrency: int
    timeout: float
    retries: int
    rate: float
    free_at: float = 0.0  # when the next request may be sent

    async def answers(
        self,
        bodies: Sequence[dict[str, Any]],
        read: Callable[[bytes], T],
        allowed: Callable[[], str] | None = None,
        ended: Callable[[T | RequestFailed, float], None] | None = None,
        *,
        reasoning_tokens: int = 0,
    ) -> list[T | RequestFailed]:
        """Return what `read` makes of each answer, in order, or why there is none.

        `read` raises RequestFailed for an answer that cannot be used. `allowed` is called before every attempt; if it
        returns a text, that is the reason not to send it. `ended` is called after every attempt that was sent, with its
        outcome and seconds. `reasoning_tokens` are added to `max_tokens` if the server counts reasoning.
        """
        slots = asyncio.Semaphore(self.concurrency)
        async with self._client() as client:
            attempt = partial(self._attempt, client, read, allowed, ended)
            answers = (self._answer(attempt, slots, body, reasoning_tokens) for body in bodies)
            return list(await asyncio.gather(*answers))

    async def receive(
        self,
        body: dict[str, Any],
        read: Callable[[httpx.Response], Coroutine[Any, Any, T]],
        may_retry: Callable[[], bool],
    ) -> T | RequestFailed:
        """Return what `read` makes of the response to one request while it arrives, or why there is none.

        `may_retry` is asked after each failure whether another attempt is wanted.
        """
        async with self._client() as client:

            async def attempt(content: bytes) -> T:
                try:
                    return await self._post(client, content, read)
                except RequestFailed as failed:
                    if may_retry():
                        raise
                    raise RequestFailed(f"broke off: {failed}", retry=False, works=True) from None

            return await self._answer(attempt, asyncio.Semaphore(1), body)

    async def check(self, body: dict[str, Any]) -> RequestFailed | None:
        """Send one request without retries; return the failure, or None if it was answered."""
        async with self._client() as client:

            async def attempt(content: bytes) -> str:
                return read_text(await self._post(client, content, read_body))

            try:
                await self._send_accepted(attempt, body)
            except RequestFailed as failed:
                return RequestFailed(self._redact(str(failed)), retry=failed.retry, works=failed.works)
        return None

    def _client(self) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        limits = httpx.Limits(max_connections=self.concurrency)
        # no proxy for a local server; redirects are not followed, so the key cannot leak through one
        return httpx.AsyncClient(headers=headers, timeout=None, limits=limits, trust_env=not self.local)  # noqa: S113 - `_post` has the limit

    async def _answer(
        self,
        attempt: Callable[[bytes], Coroutine[Any, Any, T]],
        slots: asyncio.Semaphore,
        body: dict[str, Any],
        reasoning_tokens: int = 0,
    ) -> T | RequestFailed:
        rng = np.random.default_rng(int(fingerprint(json.dumps(body)), 16))  # the body contains the seed
        for tried in range(self.retries + 1):
            async with slots:
                try:
                    return await self._send_accepted(attempt, body, reasoning_tokens)
                except RequestFailed as failed:
                    last = failed
            if not last.retry or last.retry_after > LONGEST_PAUSE or tried == self.retries:
                break
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(tried, 20))
            await asyncio.sleep(max(last.retry_after, pause * (0.5 + rng.random() / 2)))
        failure = str(last)
        if tried:
            failure += f" ({tried + 1} attempts)"
        failure = self._redact(failure)
        return RequestFailed(failure, retry=last.retry, works=last.works, refused=last.refused)

    async def _send_accepted(
        self, attempt: Callable[[bytes], Coroutine[Any, Any, T]], body: dict[str, Any], reasoning_tokens: int = 0
    ) -> T:
        """Return the outcome of one attempt.

        A parameter that the model refuses is omitted, and the request is sent again.
        """
        parameters = parameters_of(self.url, str(body.get("model", "")))
        while True:
            sent = parameters.adapt(body, reasoning_tokens=reasoning_tokens)
            await self._wait_for_rate()
            try:
                return await attempt(json.dumps(sent).encode())  # it escapes lone surrogates, which orjson rejects
            except RequestFailed as failed:
                if not parameters.learn(failed.refused, sent):
                    raise

    async def _attempt(
        self,
        client: httpx.AsyncClient,
        read: Callable[[bytes], T],
        allowed: Callable[[], str] | None,
        ended: Callable[[T | RequestFailed, float], None] | None,
        content: bytes,
    ) -> T:
        if allowed and (reason := allowed()):
            raise RequestFailed(reason, retry=False, works=True)
        start = time.monotonic()
        try:
            outcome: T | RequestFailed = read(await self._post(client, content, read_body))
        except RequestFailed as failed:
            outcome = failed
        if ended:
            ended(outcome, time.monotonic() - start)
        if isinstance(outcome, RequestFailed):
            raise outcome
        return outcome

    async def _wait_for_rate(self) -> None:
        """Wait until the rate limit allows one more request."""
        now = time.monotonic()
        start = max(now, self.free_at)
        self.free_at = start + (60 / self.rate if self.rate else 0.0)
        if start > now:
            await asyncio.sleep(start - now)

    async def _post(
        self, client: httpx.AsyncClient, content: bytes, read: Callable[[httpx.Response], Coroutine[Any, Any, T]]
    ) -> T:
        try:
            async with asyncio.timeout(self.timeout):
                headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
                async with client.stream("POST", self.url, content=content, headers=headers) as answer:
                    if answer.status_code == 200:
                        return await read(answer)
                    refusal = await read_body(answer)
        except TimeoutError:
            raise RequestFailed(f"timed out after {self.timeout:g} s", retry=True, works=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:  # connection refused or lost, broken HTTP
            raise RequestFailed(f"no answer: {type(error).__name__}: {error}", retry=True) from None
        if answer.status_code == 429:
            self.free_at = max(self.free_at, time.monotonic() + min(_retry_after(answer), LONGEST_PAUSE))
        retry = answer.status_code in RETRYABLE or answer.status_code >= 500
        failure = f"HTTP {answer.status_code}: {_message(refusal)}"
        refused = find_refused_parameter(answer.status_code, refusal)
        raise RequestFailed(failure, retry=retry, retry_after=_retry_after(answer), works=retry, refused=refused)

    def _redact(self, text: str) -> str:
        """Return the message without the key, which some servers repeat."""
        return _KEY.sub("***", one_line(text.replace(self.secret, "***") if self.secret else text))


def reply_of(answer: str | ChatAnswer | RequestFailed) -> Reply:
    """Return the text of an answer, or the failure of its request, as a reply."""
    if isinstance(answer, RequestFailed):
        return Reply("", str(answer))
    return Reply(answer.text if isinstance(answer, ChatAnswer) else answer)


def make_call(url: str, model: str, answer: ChatAnswer | RequestFailed, price: Sequence[float]) -> Call:
    """Return what one request cost, for the limits of spending and the log of calls; an empty price is unknown."""
    call = Call(endpoint=url, model=model)
    if isinstance(answer, RequestFailed):  # without the server's message, which may repeat the prompt
        return replace(call, failure=str(answer).partition(":")[0])
    tokens = answer.prompt_tokens, answer.completion_tokens
    cost = cost_of(*tokens, (price[0], price[1]) if price else None)
    return replace(call, prompt_tokens=tokens[0], completion_tokens=tokens[1], cost=cost)


async def read_body(answer: httpx.Response) -> bytes:
    """Return the whole body of a response, within the limit."""
    try:
        body = Body(answer.headers.get("content-encoding", ""), LARGEST)
        async for part in answer.aiter_raw(1 << 16):
            body.add(part)
        return body.whole()
    except BodyError as error:
        raise RequestFailed(str(error), retry=False) from None


def read_text(data: bytes) -> str:
    """Return the text of an answer."""
    choice = _first_choice(data)[1]
    return check_text(_text(choice), choice.get("finish_reason"))


def read_answer(data: bytes) -> ChatAnswer:
    """Return the text of an answer with the candidates for its first token and its numbers of tokens."""
    value, choice = _first_choice(data)
    usage = value.get("usage")
    prompt_tokens, completion_tokens = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    text, candidates = _text(choice), _candidates(choice)
    if not candidates:
        text = check_text(text, choice.get("finish_reason"))
    return ChatAnswer(text, candidates, prompt_tokens, completion_tokens)


def _count(usage: object, name: str) -> int:
    """Return a number of tokens; 0 if the server does not report a valid one."""
    n = usage.get(name) if isinstance(usage, dict) else None
    if type(n) is int and n > 0:
        return n
    return 0


def check_text(text: str, finish_reason: object) -> str:
    """Return the answer without its reasoning; refuse an answer that ended before it had any text."""
    answer = without_reasoning(text)
    if not answer.strip() and finish_reason == "length":
        raise RequestFailed(NO_TEXT, retry=False)
    if text.strip() and not answer.strip():
        raise RequestFailed("the answer has only reasoning and no text", retry=False, works=True)
    return answer


def _first_choice(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the whole answer and its first choice, which has a message."""
    try:
        value = json.loads(data)  # accepts lone surrogates, which are replaced later
    except (ValueError, RecursionError):
        raise RequestFailed("the answer is not valid JSON", retry=True) from None
    match value:
        case {"choices": [{"message": {}} as choice, *_]}:
            return value, choice
    raise RequestFailed("the answer has no choices[0].message", retry=True)


def _text(choice: dict[str, Any]) -> str:
    message = choice["message"]
    text = message.get("content")
    if isinstance(text, list):  # parts, some of which are text
        text = "".join(str(part.get("text") or "") for part in text if isinstance(part, dict))
    if isinstance(text, str):
        return text
    if choice.get("finish_reason") == "length":
        return ""
    refusal = message.get("refusal")
    failure = f"refused: {refusal}" if refusal else "the answer's message has no text"
    raise RequestFailed(failure, retry=False, works=True)


def _candidates(choice: dict[str, Any]) -> Candidates | None:
    match choice.get("logprobs"):
        case {"content": [{"top_logprobs": [*tokens]}, *_]}:
            candidates = []
            for token in tokens:
                match token:
                    case {"token": str(text), "logprob": float() | int() as chance}:
                        candidates.append((text, float(chance)))
            return tuple(candidates)
    return None


def _message(data: bytes) -> str:
    """Return the server's error message."""
    try:
        value: Any = orjson.loads(data)
        error = value.get("error", value)
        return str(error.get("message", "no message") if isinstance(error, dict) else error)
    except (orjson.JSONDecodeError, AttributeError):
        return data[:1_000].decode("utf-8", "replace")


def _retry_after(answer: httpx.Response) -> float:
    """Return the value of the Retry-After header in seconds, from a number or a date; 0 if there is none."""
    text = answer.headers.get("retry-after", "")
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError):
            return 0.0
    if math.isnan(seconds):
        return 0.0
    return max(0.0, seconds)
