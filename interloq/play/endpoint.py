"""A bot behind a server that speaks OpenAI's `/chat/completions`: a public service, or vLLM, llama.cpp, Ollama …

Requests go out side by side. Refusals that may pass (429, 5xx), lost connections, timeouts and answers that are no
JSON are tried again after a pause that doubles, or that the server asks for. The key comes from the environment alone:
`key` names the variable. It stands in no spec, signature or message.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import warnings
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, TypeVar
from urllib.parse import parse_qsl, urlsplit

from interloq.errors import InputError, MissingDependencyError
from interloq.models.replies import Reply
from interloq.play.bot import NOTHING_TO_ANSWER, roles
from interloq.records import Turn
from interloq.registry import Component
from interloq.signature import Signature, signature

HERE = ("localhost", "127.0.0.1", "::1")
PATH = "/chat/completions"
DEFAULT_KEY = "OPENAI_API_KEY"
EACH = 4  # dialogues of a batch for each request at a time
_SECRET = re.compile(r"key|token|secret|password|sig", re.IGNORECASE)
T = TypeVar("T")


@dataclass(frozen=True)
class Endpoint(Component):
    """Asks a chat server."""

    url: Annotated[str, "up to `/v1`, or up to `/chat/completions`"]
    model: Annotated[str, "the model's name on the server"]
    key: Annotated[str, "the environment variable that holds the key; `''`: none"] = DEFAULT_KEY
    concurrency: Annotated[int, "requests under way at a time"] = 8
    timeout: Annotated[float, "seconds for one request"] = 60.0
    retries: Annotated[int, "further attempts after a failed request"] = 5
    rate: Annotated[float, "requests per minute; 0: no limit"] = 0.0
    temperature: Annotated[float | None, "of sampling; `None`: the server's own"] = None
    max_tokens: Annotated[int, "of a reply; 0: the server's own"] = 0
    system_prompt: Annotated[str, "a system message before the dialogue"] = ""
    send_seed: Annotated[bool, "send a seed with each request; some servers refuse it"] = True
    waits: ClassVar[bool] = True  # for the server: other bots may speak meanwhile

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_url(self.url)
        # a message never repeats what was given: it may be the key itself
        if self.key and not re.fullmatch("[A-Z_][A-Z0-9_]*", self.key):
            raise InputError("key must be the name of an environment variable, such as OPENAI_API_KEY, not the key")
        if self.concurrency < 1 or self.timeout <= 0:
            raise InputError(f"concurrency and timeout must be above 0, got {self.concurrency} and {self.timeout}")
        if min(self.retries, self.rate, self.max_tokens, self.temperature or 0) < 0:
            raise InputError("retries, rate, max_tokens and temperature must not be negative")

    @property
    def batch(self) -> int:
        """Enough to keep all requests busy, at most what ten minutes allow: so dialogues end, and are kept, early."""
        allowed = math.ceil(10 * self.rate) if self.rate else EACH * self.concurrency
        return min(EACH * self.concurrency, allowed)

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        bodies = [self._body(turns, seed) if turns else None for turns, seed in zip(dialogues, seeds, strict=True)]
        found = iter(_run(self._connection.replies([body for body in bodies if body])))
        return [next(found) if body else Reply("", NOTHING_TO_ANSWER) for body in bodies]

    def try_out(self, turns: Sequence[Turn]) -> None:
        """One request, without further attempts; a server that is merely busy is left to the attempts of the play."""
        if self._lacks_key():
            raise InputError(
                f"the environment variable {self.key} is not set, and the endpoint's key should be there",
                hint="set it, name another with key=…, or write key='' where the server needs none",
                where=self.url,
            )
        failed = _run(self._connection.check(self._body(turns, 0)))
        if failed and not failed.works:
            raise InputError(f"the endpoint does not answer: {failed}", hint="check url, model and key", where=self.url)
        if failed:
            warnings.warn(f"{self.url}: {failed}; playing all the same", stacklevel=2)

    def _lacks_key(self) -> bool:
        """The default may be unset where a server of one's own, which needs none, is likely: without encryption."""
        wanted = self.key != DEFAULT_KEY or self.url.lower().startswith("https")
        return bool(self.key) and wanted and not os.environ.get(self.key, "").strip()

    @property
    def side_effect(self) -> str:
        """Which server it asks, in words."""
        key = f" with the key in {self.key}" if self.key else ""
        return f"sends dialogues to {self.url}{key}"

    @property
    def key_variable(self) -> str:
        """The environment variable whose value it sends."""
        return self.key

    def signature(self) -> Signature:
        """Nobody can know which weights answer; how they are asked for changes no reply."""
        self._connection  # noqa: B018 - fails early
        bare = replace(self, key="", concurrency=1, timeout=60.0, retries=0, rate=0.0)
        return signature(bare, weights="unknown")

    def _body(self, turns: Sequence[Turn], seed: int) -> dict[str, Any]:
        messages = [{"role": "system", "content": self.system_prompt}] * bool(self.system_prompt)
        messages += [{"role": role, "content": t.text} for t, role in zip(turns, roles(turns), strict=True)]
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        body |= {} if self.temperature is None else {"temperature": self.temperature}
        body |= {"max_tokens": self.max_tokens} if self.max_tokens else {}
        return body | ({"seed": seed % 2**31} if self.send_seed else {})

    @cached_property
    def _connection(self) -> Any:
        try:
            from interloq.models.chat_server import ChatConnection
        except ImportError as error:
            raise MissingDependencyError("bot 'endpoint'", error.name or "httpx", "endpoint") from error
        parts = urlsplit(self.url)
        local = (parts.hostname or "") in HERE
        secret = os.environ.get(self.key, "").strip() if self.key else ""
        if not re.fullmatch("[!-~]*", secret):
            raise InputError(f"the key in {self.key} holds characters that cannot be sent", hint="copy it again")
        if secret and parts.scheme == "http" and not local:
            raise InputError(
                f"the key in {self.key} would travel unencrypted to {parts.hostname}",
                hint="use https, or write key='' where the server needs none",
            )
        path = parts.path.rstrip("/")
        url = parts._replace(path=path if path.endswith(PATH) else path + PATH).geturl()
        return ChatConnection(
            url,
            secret=secret,
            local=local,
            concurrency=self.concurrency,
            timeout=self.timeout,
            retries=self.retries,
            rate=self.rate,
        )


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise InputError("url must be an address such as http://localhost:8000/v1")
    if "@" in parts.netloc or any(_SECRET.search(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
        raise InputError("url must hold no password and no key", hint="put the key in an environment variable")


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, also where a loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, work).result()
