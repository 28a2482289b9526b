# SPDX-License-Identifier: Apache-2.0
"""A bot behind a server with OpenAI's `/chat/completions` API: a public service, or vLLM, llama.cpp, Ollama …

Requests are sent concurrently. Temporary refusals (429, 5xx), lost connections, timeouts and answers that are not JSON
are retried after a pause, which doubles each time unless the server requests another. The key comes only from the
environment: `key` names the variable. The key itself never appears in a spec, signature or message. What a model does
not accept (a seed, a temperature, `max_tokens`) is left out or renamed, with a warning, and so is reasoning in
`<think>…</think>`. Several servers with the same model share the work (see servers/chat_dispatch.py).
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import warnings
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, TypeVar
from urllib.parse import parse_qsl, urlsplit

from interloq.errors import InputError, MissingDependencyError, SpecError
from interloq.options import limited
from interloq.play.bot import Bot
from interloq.records import Turn
from interloq.servers.chat_parameters import ChatParameters, parameters_of
from interloq.servers.replies import NOTHING_TO_ANSWER, Reply, roles
from interloq.servers.spending import check_price, current
from interloq.signature import Signature, signature

HERE = ("localhost", "127.0.0.1", "::1")
PATH = "/chat/completions"
DEFAULT_KEY = "OPENAI_API_KEY"
EACH = 4  # dialogues per batch and concurrent request
_SECRET = re.compile(r"key|token|secret|password|sig", re.IGNORECASE)
T = TypeVar("T")


@dataclass(frozen=True)
class Endpoint(Bot, name="endpoint"):
    """Sends dialogues to a chat server."""

    url: Annotated[
        str | tuple[str, ...],
        "up to `/v1`, or up to `/chat/completions`; several servers: `('http://a/v1','http://b/v1')`",
    ]
    model: Annotated[str, "the model's name on the server"]
    key: Annotated[str, "environment variable that contains the key; `''`: none"] = DEFAULT_KEY
    concurrency: Annotated[int, "concurrent requests per server"] = limited(8, above=0)
    timeout: Annotated[float, "seconds for one request"] = limited(60.0, above=0)
    retries: Annotated[int, "further attempts after a failed request"] = limited(5, least=0)
    rate: Annotated[float, "requests per minute and server; 0: no limit"] = limited(0.0, least=0)
    temperature: Annotated[float | None, "sampling temperature; `None`: the server's default"] = limited(None, least=0)
    max_tokens: Annotated[int, "tokens per reply, at most; 0: the server's default"] = limited(0, least=0)
    system_prompt: Annotated[str, "a system message before the dialogue"] = ""
    send_seed: Annotated[bool, "send a seed with each request; some servers refuse it"] = True
    cache: Annotated[bool, "take answers to requests that were sent before from the cache on disk"] = False
    price: Annotated[tuple[float, ...], "price per million tokens, input and output; empty: unknown"] = ()
    waits: ClassVar[bool] = True  # for the server, so that other bots can run meanwhile

    def __post_init__(self) -> None:
        super().__post_init__()
        check_urls(self.url)
        check_price(self.price, "endpoint")
        # the message does not repeat the value, because it may be the key itself
        if self.key and not re.fullmatch("[A-Z_][A-Z0-9_]*", self.key):
            raise InputError("key must be the name of an environment variable, such as OPENAI_API_KEY, not the key")

    @property
    def batch(self) -> int:  # type: ignore[override]
        """Enough to keep all requests busy, at most ten minutes of requests, so that dialogues are finished early."""
        servers = len(list_urls(self.url))
        if not self.rate:
            return EACH * self.concurrency * servers
        return min(EACH * self.concurrency, math.ceil(10 * self.rate)) * servers

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        replies = [Reply("", NOTHING_TO_ANSWER)] * len(dialogues)
        answerable = [i for i, turns in enumerate(dialogues) if turns]
        bodies = [self._body(dialogues[i], seeds[i]) for i in answerable]
        for i, reply in zip(answerable, self._answers(bodies), strict=True):
            replies[i] = reply
        return replies

    def stream(self, turns: Sequence[Turn], seed: int, show: Callable[[str], None]) -> Reply:
        """Return one reply, shown while it arrives; answers from the cache arrive at once."""
        if self.cache or not turns:
            return self.replies([turns], [seed])[0]
        connection = self._connection
        from interloq.servers.chat_stream import stream_reply

        reply = _run(stream_reply(connection, self._body(turns, seed), show))
        self._warn_of_left_out()
        return reply

    def _answers(self, bodies: Sequence[dict[str, Any]]) -> list[Reply]:
        self._connection  # noqa: B018 - a missing package is named before the next imports fail
        from interloq.servers.chat_cache import cache_answers, read_cached_answers
        from interloq.servers.chat_server import ChatAnswer, make_call, reply_of

        if not self.cache:
            answers = self._send_counted(bodies)
        else:
            keys = [self.answer_key(body) for body in bodies]
            known: dict[bytes, Any] = dict(read_cached_answers(keys))
            for answer in known.values():
                current().add(replace(make_call(self.where, self.model, answer, self.price), cached=True))
            new = {key: body for key, body in zip(keys, bodies, strict=True) if key not in known}
            new_answers = dict(zip(new, self._send_counted(list(new.values())), strict=True))
            cache_answers({key: answer for key, answer in new_answers.items() if isinstance(answer, ChatAnswer)})
            known |= new_answers
            answers = [known[key] for key in keys]
        self._warn_of_left_out()
        return [reply_of(answer) for answer in answers]

    def _send_counted(self, bodies: Sequence[dict[str, Any]]) -> list[Any]:
        """Send requests within the limits of spending, and count what they cost."""
        from interloq.servers.chat_server import ChatAnswer, RequestFailed, make_call, read_answer

        spent, uncounted = current(), list[InputError]()

        def record_call(answer: ChatAnswer | RequestFailed, seconds: float) -> None:
            try:
                spent.add(replace(make_call(self.where, self.model, answer, self.price), seconds=seconds))
            except InputError as error:
                uncounted.append(error)  # raised when all requests have ended, so that none is broken off

        answers = self.ask(bodies, read_answer, spent.start_call, record_call)
        if uncounted:  # it ends the run: no single dialogue is the cause
            raise SpecError(str(uncounted[0])) from uncounted[0]
        return answers

    def ask(
        self,
        bodies: Sequence[dict[str, Any]],
        read: Callable[[bytes], T],
        allowed: Callable[[], str] | None = None,
        ended: Callable[[Any, float], None] | None = None,
        *,
        reasoning_tokens: int = 0,
    ) -> list[Any]:
        """Send requests of any content; see `ChatConnection.answers`."""
        work = self._connection.answers(bodies, read, allowed, ended, reasoning_tokens=reasoning_tokens)
        return _run(work)

    @property
    def parameters(self) -> ChatParameters:
        """What the model is known not to accept."""
        return parameters_of(self._connection.name, self.model)

    @property
    def where(self) -> str:
        """The addresses, for messages."""
        return " and ".join(list_urls(self.url))

    def answer_key(self, body: Mapping[str, Any]) -> bytes:
        """Return the key of a request in the cache: it has the address of the server that the request prefers.

        So most answers are still found after a server was added or removed.
        """
        from interloq.servers.chat_cache import answer_key
        from interloq.servers.chat_dispatch import order_servers

        return answer_key(order_servers(self._connection.servers, body)[0].address, body)

    def _warn_of_left_out(self) -> None:
        """Warn once which parameters the model does not accept."""
        if names := self.parameters.news():
            effect = ": replies cannot be repeated" if "seed" in names else ""
            warnings.warn(f"{self.where}: {self.model} does not accept {' and '.join(names)}{effect}", stacklevel=3)

    def try_out(self, turns: Sequence[Turn]) -> None:
        """Send one request to each server without retries; one that is only busy is accepted: the run retries.

        Of several servers, one has to work.
        """
        self.check_key()
        if current().max_cost is not None and not self.price:
            raise InputError("a limit of cost needs prices", hint="write price=(INPUT,OUTPUT), per million tokens")
        failures = _run(self._connection.check(self._body(turns, 0)))
        dead = [address for address, failed in failures.items() if not failed.works]
        if len(dead) == len(self._connection.servers):
            first = failures[dead[0]]
            raise InputError(
                f"the endpoint does not answer: {first}", hint="check url, model and key", where=self.where
            )
        for address, failed in failures.items():
            warnings.warn(f"{address}: {failed}; continuing anyway", stacklevel=2)
        self._warn_of_left_out()

    def check_key(self) -> None:
        """Raise an error if the key is needed and its variable is not set.

        Only the default key may be missing, and only for an unencrypted, hence probably local, server.
        """
        is_encrypted = any(url.lower().startswith("https") for url in list_urls(self.url))
        is_needed = self.key != DEFAULT_KEY or is_encrypted
        if self.key and is_needed and not os.environ.get(self.key, "").strip():
            raise InputError(
                f"the environment variable {self.key} is not set, which must contain the endpoint's key",
                hint="set it, name another with key=…, or write key='' if the server needs none",
                where=self.where,
            )

    @property
    def side_effect(self) -> str:
        """Return a text that names the server it contacts."""
        effect = f"sends dialogues to {self.where}"
        if self.key:
            effect += f" with the key in {self.key}"
        return effect

    @property
    def key_variable(self) -> str:
        """Return the environment variable whose value it sends."""
        return self.key

    def signature(self) -> Signature:
        """Return the signature without settings that do not change replies; the server's weights are unknown."""
        self._connection  # noqa: B018 - fails early
        urls = tuple(sorted(list_urls(self.url)))  # their order changes nothing
        url = urls if len(urls) > 1 else urls[0]
        bare = replace(self, url=url, key="", concurrency=1, timeout=60.0, retries=0, rate=0.0, cache=False, price=())
        return signature(bare, weights="unknown")

    def _body(self, turns: Sequence[Turn], seed: int) -> dict[str, Any]:
        messages = [{"role": "system", "content": self.system_prompt}] * bool(self.system_prompt)
        messages += [{"role": role, "content": t.text} for t, role in zip(turns, roles(turns), strict=True)]
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.max_tokens:
            body["max_tokens"] = self.max_tokens
        if self.send_seed:
            body["seed"] = seed % 2**31
        return body

    @cached_property
    def _connection(self) -> Any:
        try:
            from interloq.servers.chat_dispatch import ChatServer
            from interloq.servers.chat_server import ChatConnection
        except ImportError as error:
            raise MissingDependencyError("bot 'endpoint'", error.name or "httpx", "endpoint") from error
        secret = os.environ.get(self.key, "").strip() if self.key else ""
        if not re.fullmatch("[!-~]*", secret):
            raise InputError(f"the key in {self.key} contains characters that cannot be sent", hint="copy it again")
        servers = []
        for address in list_urls(self.url):
            parts = urlsplit(address)
            local = (parts.hostname or "") in HERE
            if secret and parts.scheme == "http" and not local:
                raise InputError(
                    f"the key in {self.key} would be sent unencrypted to {parts.hostname}",
                    hint="use https, or write key='' if the server needs none",
                )
            path = parts.path.rstrip("/")
            url = parts._replace(path=path.removesuffix(PATH) + PATH).geturl()
            servers.append(ChatServer(address, url, local))
        return ChatConnection(
            servers,
            secret=secret,
            concurrency=self.concurrency,
            timeout=self.timeout,
            retries=self.retries,
            rate=self.rate,
        )


def list_urls(url: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return each address once."""
    return (url,) if isinstance(url, str) else tuple(dict.fromkeys(url))


def check_urls(url: object) -> None:
    """Refuse what is neither the address of a server nor a tuple of some."""
    urls = url if isinstance(url, tuple) and url else (url,)
    for address in urls:
        _check_url(address if isinstance(address, str) else "")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise InputError("url must be an address such as http://localhost:8000/v1, or several: ('http://…','http://…')")
    if "@" in parts.netloc or any(_SECRET.search(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
        raise InputError("url must not contain a password or key", hint="put the key in an environment variable")


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, even if an event loop is already running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, work).result()
