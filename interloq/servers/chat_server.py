# SPDX-License-Identifier: Apache-2.0
"""Requests to chat servers: concurrent, rate-limited, retried, and with untrusted answers read safely.

Each concurrent request has an HTTP client of its own: a client with many connections examines all of them for each
request, which took two thirds of the time at 32 connections.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import re
import ssl
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, TypeVar

import httpx
import numpy as np
import orjson

from interloq.servers.chat_dispatch import ChatRequest, ChatServer, Dispatcher, order_servers
from interloq.servers.chat_parameters import find_refused_parameter, parameters_of
from interloq.servers.http_body import Body, BodyError
from interloq.servers.replies import Reply, one_line, without_reasoning
from interloq.servers.spending import Call, cost_of
from interloq.signature import fingerprint

LARGEST = 1 << 20  # most bytes read of an answer
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds between attempts; each pause is twice the previous one
RETRYABLE = (408, 409, 425, 429)  # statuses worth retrying, besides 500 and above
NOT_SET_UP = (401, 403, 404)  # statuses that another server may not have
NO_TEXT = "no text before the limit of tokens was reached: raise max_tokens"
_KEY = re.compile(r"\bsk-[\w*.-]{3,}")
T = TypeVar("T")
Attempt = Callable[[httpx.AsyncClient, ChatServer, bytes], Coroutine[Any, Any, T]]
Candidates = tuple[tuple[str, float], ...]  # tokens with their log-probabilities


class RequestFailed(Exception):  # noqa: N818 - internal: becomes the `failure` of a reply
    """Why a request got no reply.

    `retry` says that another attempt could succeed, and `retry_after` how many seconds the server asks to wait. `works`
    says that a chat server is running, and would answer at another time or for another dialogue. `refused` is the
    parameter that the model does not accept. `elsewhere` says that another server could succeed, as after `retry`.
    """

    def __init__(
        self,
        failure: str,
        *,
        retry: bool,
        retry_after: float = 0.0,
        works: bool = False,
        refused: str = "",
        elsewhere: bool = False,
    ) -> None:
        super().__init__(failure)
        self.retry, self.retry_after, self.works, self.refused = retry, retry_after, works, refused
        self.elsewhere = elsewhere or retry


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
    """Connection to one chat server, or to several with the same model; `concurrency` and `rate` are for each."""

    servers: Sequence[ChatServer]
    secret: str = field(repr=False)
    concurrency: int
    timeout: float
    retries: int
    rate: float

    @property
    def name(self) -> str:
        """The addresses, in the same order however they were given."""
        return ",".join(sorted(server.url for server in self.servers))

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
        attempt = partial(self._attempt, read, allowed, ended)
        return await self._answer(bodies, attempt, self.concurrency, reasoning_tokens)

    async def receive(
        self,
        body: dict[str, Any],
        read: Callable[[httpx.Response], Coroutine[Any, Any, T]],
        may_retry: Callable[[], bool],
    ) -> T | RequestFailed:
        """Return what `read` makes of the response to one request while it arrives, or why there is none.

        `may_retry` is asked after each failure whether another attempt is wanted.
        """

        async def attempt(client: httpx.AsyncClient, server: ChatServer, content: bytes) -> T:
            try:
                return await self._post(client, server, content, read)
            except RequestFailed as failed:
                if may_retry():
                    raise
                raise RequestFailed(f"broke off: {failed}", retry=False, works=True) from None

        return (await self._answer([body], attempt, 1))[0]

    async def check(self, body: dict[str, Any]) -> dict[str, RequestFailed]:
        """Send one request to each server without retries; return the failures by address."""

        async def attempt(client: httpx.AsyncClient, server: ChatServer, content: bytes) -> str:
            return read_text(await self._post(client, server, content, read_body))

        failures = {}
        for server in self.servers:
            async with self._client(server) as client:
                try:
                    await self._send_accepted(attempt, client, server, body)
                except RequestFailed as failed:
                    failures[server.address] = RequestFailed(
                        self._redact(str(failed)), retry=failed.retry, works=failed.works
                    )
        return failures

    def _client(self, server: ChatServer) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        # no proxy for a local server; redirects are not followed, so the key cannot leak through one
        return httpx.AsyncClient(headers=headers, timeout=None, verify=_tls(), trust_env=not server.local)  # noqa: S113 - `_post` has the limit

    async def _answer(
        self, bodies: Sequence[dict[str, Any]], attempt: Attempt[T], concurrency: int, reasoning_tokens: int = 0
    ) -> list[T | RequestFailed]:
        requests = [ChatRequest(body, order_servers(self.servers, body)) for body in bodies]
        dispatcher = Dispatcher(self.servers, requests)
        send_all = partial(self._send_all, dispatcher, attempt, reasoning_tokens)
        senders = []
        for server in self.servers:
            senders.append(send_all(server, probes=True))
            others = min(concurrency, len(requests)) - 1
            senders.extend(send_all(server, probes=False) for _ in range(others))
        await asyncio.gather(*senders)
        return [request.outcome for request in requests]

    async def _send_all(
        self,
        dispatcher: Dispatcher,
        attempt: Attempt[T],
        reasoning_tokens: int,
        server: ChatServer,
        *,
        probes: bool,
    ) -> None:
        """Send requests to one server, one after the other, until all requests have an outcome."""
        request = await dispatcher.take(server, probes=probes)
        if not request:
            return
        async with self._client(server) as client:
            while request:
                request.attempts += 1
                failures = server.failures
                try:
                    answer = await self._send_accepted(attempt, client, server, request.body, reasoning_tokens)
                    dispatcher.finish(request, answer)
                except RequestFailed as failed:
                    self._try_again(dispatcher, server, request, failed)
                if server.failures != failures:
                    dispatcher.wake()
                request = await dispatcher.take(server, probes=probes)

    def _try_again(
        self, dispatcher: Dispatcher, server: ChatServer, request: ChatRequest, failed: RequestFailed
    ) -> None:
        """Give a request that failed to another server, or to one of them after a pause, or give it up."""
        request.tried.add(server)
        if failed.elsewhere and dispatcher.move(request):
            return
        if failed.retry and failed.retry_after <= LONGEST_PAUSE and request.pauses < self.retries:
            rng = np.random.default_rng(int(fingerprint(json.dumps([request.body, request.pauses])), 16))
            pause = _pause_after(request.pauses) * (0.5 + rng.random() / 2)
            request.pauses += 1
            request.tried.clear()
            asyncio.get_running_loop().call_later(max(failed.retry_after, pause), dispatcher.put, request)
            return
        failure = str(failed)
        if request.attempts > 1:
            failure += f" ({request.attempts} attempts)"
        failure = self._redact(failure)
        dispatcher.finish(
            request, RequestFailed(failure, retry=failed.retry, works=failed.works, refused=failed.refused)
        )

    async def _send_accepted(
        self,
        attempt: Attempt[T],
        client: httpx.AsyncClient,
        server: ChatServer,
        body: Mapping[str, Any],
        reasoning_tokens: int = 0,
    ) -> T:
        """Return the outcome of one attempt.

        A parameter that the model refuses is omitted, and the request is sent again.
        """
        parameters = parameters_of(self.name, str(body.get("model", "")))
        while True:
            sent = parameters.adapt(body, reasoning_tokens=reasoning_tokens)
            await self._wait_for_rate(server)
            start = time.monotonic()
            try:
                # it escapes lone surrogates, which orjson rejects
                answer = await attempt(client, server, json.dumps(sent).encode())
            except RequestFailed as failed:
                if parameters.learn(failed.refused, sent):
                    continue
                if failed.elsewhere:
                    pause = max(failed.retry_after, _pause_after(server.failures))
                    server.report_failure(time.monotonic() - start, pause)
                raise
            server.failures = 0
            return answer

    async def _attempt(
        self,
        read: Callable[[bytes], T],
        allowed: Callable[[], str] | None,
        ended: Callable[[T | RequestFailed, float], None] | None,
        client: httpx.AsyncClient,
        server: ChatServer,
        content: bytes,
    ) -> T:
        if allowed and (reason := allowed()):
            raise RequestFailed(reason, retry=False, works=True)
        start = time.monotonic()
        try:
            outcome: T | RequestFailed = read(await self._post(client, server, content, read_body))
        except RequestFailed as failed:
            outcome = failed
        if ended:
            ended(outcome, time.monotonic() - start)
        if isinstance(outcome, RequestFailed):
            raise outcome
        return outcome

    async def _wait_for_rate(self, server: ChatServer) -> None:
        """Wait until the rate limit allows one more request to this server."""
        now = time.monotonic()
        start = max(now, server.free_at)
        server.free_at = start + (60 / self.rate if self.rate else 0.0)
        if start > now:
            await asyncio.sleep(start - now)

    async def _post(
        self,
        client: httpx.AsyncClient,
        server: ChatServer,
        content: bytes,
        read: Callable[[httpx.Response], Coroutine[Any, Any, T]],
    ) -> T:
        try:
            async with asyncio.timeout(self.timeout):
                headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
                async with client.stream("POST", server.url, content=content, headers=headers) as answer:
                    if answer.status_code == 200:
                        return await read(answer)
                    refusal = await read_body(answer)
        except TimeoutError:
            raise RequestFailed(f"timed out after {self.timeout:g} s", retry=True, works=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:  # connection refused or lost, broken HTTP
            raise RequestFailed(f"no answer: {type(error).__name__}: {error}", retry=True) from None
        if answer.status_code == 429:
            server.free_at = max(server.free_at, time.monotonic() + min(_retry_after(answer), LONGEST_PAUSE))
        retry = answer.status_code in RETRYABLE or answer.status_code >= 500
        failure = f"HTTP {answer.status_code}: {_message(refusal)}"
        refused = find_refused_parameter(answer.status_code, refusal)
        raise RequestFailed(
            failure,
            retry=retry,
            retry_after=_retry_after(answer),
            works=retry,
            refused=refused,
            elsewhere=answer.status_code in NOT_SET_UP,
        )

    def _redact(self, text: str) -> str:
        """Return the message without the key, which some servers repeat."""
        return _KEY.sub("***", one_line(text.replace(self.secret, "***") if self.secret else text))


@cache
def _tls() -> ssl.SSLContext:
    """Return the settings of TLS: reading the certificates takes longer than a hundred requests."""
    return httpx.create_ssl_context()


def _pause_after(failures: int) -> float:
    """Return the seconds before the next attempt after this many others."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures, 20))


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
