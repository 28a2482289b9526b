# SPDX-License-Identifier: Apache-2.0
"""What requests to paid servers cost: counted, announced before they are sent, limited, and logged.

with spending(max_calls=500) as spent:
    evaluate("llm_judge(…)", samples)
print(spent.summary())

A log of calls is a file with one JSON object per line, without prompts, answers and keys:

    {"time":"2026-11-16T20:01:02.345678+00:00","endpoint":"https://host/v1","model":"name","prompt_tokens":210,
     "completion_tokens":1,"cost":0.0001065,"seconds":0.412,"cached":false,"failure":""}

The first line is a header. `cost` is null if no price is known. Several processes may append to the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from interloq.data.files.write_errors import writing
from interloq.data.records.jsonl import header, header_line
from interloq.errors import InputError, SpecError, count
from interloq.options import Options, option
from interloq.registry import name_of, parts_of
from interloq.shards.shard_options import ShardOptions

KIND = "calls"
BYTES_PER_TOKEN = 4  # of UTF-8 text, about, in English; Chinese and Japanese have three bytes per character
MILLION = 1_000_000  # prices are per million tokens
Price = tuple[float, float]  # of input and output tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request: answered by the server, answered from the cache, or failed."""

    endpoint: str
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    cached: bool = False
    failure: str = ""


class CallLog:
    """An append-only file of calls; a file of anything else is refused."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.exists() and self.path.stat().st_size:
            if header(self.path).get("kind") != KIND:
                raise InputError("not a log of calls", hint="name another file", where=str(path))
        else:
            self._append(header_line(KIND, {}))

    def add(self, call: Call) -> None:
        """Append a call with the current time."""
        facts = {"time": datetime.now(UTC).isoformat(), **asdict(call), "seconds": round(call.seconds, 3)}
        self._append(orjson.dumps(facts) + b"\n")

    def _append(self, line: bytes) -> None:
        # one write per line in append mode, so that lines of several processes do not mix
        with writing(self.path), self.path.open("ab", buffering=0) as file:
            file.write(line)


@dataclass
class Spending:
    """Calls, tokens and cost so far, and their limits."""

    max_calls: int | None = None
    max_cost: float | None = None
    announce: Callable[[str], None] | None = None  # gets each estimate
    calls: int = 0
    cached: int = 0  # answers from the cache
    failed: int = 0  # requests without an answer that can be used, after all attempts
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    priced: bool = False
    log: CallLog | None = None

    def estimate(self, calls: int, prompt_bytes: int, completion_tokens: int, price: Price | None) -> None:
        """Announce the cost of requests to be sent; refuse them if nothing was sent yet and a limit is too low."""
        if self.max_cost is not None and price is None:
            raise InputError("a limit of cost needs prices", hint="write price=(INPUT,OUTPUT), per million tokens")
        tokens = prompt_bytes // BYTES_PER_TOKEN
        text = f"{count(calls, 'call')}, about {tokens:,} tokens in and at most {completion_tokens:,} out"
        cost = cost_of(tokens, completion_tokens, price) or 0.0
        if price:
            text += f", cost about {cost:.4g}"
        if self.announce:
            self.announce(text)
        if self.calls == 0 and self.max_calls is not None and calls > self.max_calls:
            raise InputError(f"{text}: more than the limit of {count(self.max_calls, 'call')}", hint="raise it")
        if self.calls == 0 and self.max_cost is not None and cost > self.max_cost:
            raise InputError(f"{text}: more than the limit of {self.max_cost:g}", hint="raise it")

    def start_call(self) -> str:
        """Count a call and return an empty text, or return the reason not to make it."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            return f"the limit of {count(self.max_calls, 'call')} is reached"
        if self.max_cost is not None and self.cost >= self.max_cost:
            return f"the cost limit of {self.max_cost:g} is reached"
        self.calls += 1
        return ""

    def add(self, call: Call) -> None:
        """Count the tokens and cost of a call that has ended, or of an answer from the cache, and log it."""
        if self.log:
            self.log.add(call)
        if call.cached:
            self.cached += 1
            return
        if self.max_cost is not None and not call.prompt_tokens and not call.failure:
            raise InputError("the server does not report tokens, so cost cannot be limited", hint="limit the calls")
        self.prompt_tokens += call.prompt_tokens
        self.completion_tokens += call.completion_tokens
        self.priced |= call.cost is not None
        self.cost += call.cost or 0.0

    def summary(self) -> str:
        """Return what was spent; empty if no server was needed."""
        if not self.calls and not self.cached:
            return ""
        text = f"{count(self.calls, 'call')} of a language model, {count(self.cached, 'answer')} from the cache"
        if self.calls:
            text += f"; {self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        if self.priced:
            text += f", cost {self.cost:.4g}"
        if self.failed:
            text += f"; {count(self.failed, 'request')} without a usable answer"
        return text


_CURRENT: ContextVar[Spending | None] = ContextVar("spending", default=None)


def current() -> Spending:
    """Return the spending of the innermost `with spending(…)`; outside of any, a spending without limits."""
    return _CURRENT.get() or Spending()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingLimits(Options):
    """Limits and a log of what LLM judges and bots send to paid servers."""

    max_calls: int | None = option(None, "most requests to servers of language models", least=0)
    max_cost: float | None = option(None, "most that these requests may cost, in the currency of their price", least=0)
    call_log: str | Path | None = option(
        None,
        "append model, tokens, cost and time of each of these requests to FILE (JSONL, without texts or keys)",
        writes=True,
        metavar="FILE",
    )

    def apply(self, announce: Callable[[str], None] | None = None) -> AbstractContextManager[Spending]:
        """Count and limit what is spent inside a `with` statement; `announce` gets each estimate."""
        return spending(max_calls=self.max_calls, max_cost=self.max_cost, announce=announce, log=self.call_log)


NO_LIMITS = SpendingLimits()


@contextmanager
def spending(
    *,
    max_calls: int | None = None,
    max_cost: float | None = None,
    announce: Callable[[str], None] | None = None,
    log: str | Path | None = None,
) -> Iterator[Spending]:
    """Count and limit what is spent inside; `log` is a file that each call is appended to (see `CallLog`)."""
    SpendingLimits(max_calls=max_calls, max_cost=max_cost)  # refuses negative ones
    token = _CURRENT.set(Spending(max_calls, max_cost, announce, log=CallLog(log) if log else None))
    try:
        yield current()
    finally:
        _CURRENT.reset(token)


def check_processes(components: Iterable[Any], shards: ShardOptions, limits: Spending | SpendingLimits) -> None:
    """Refuse to ask servers and programs from several processes: limits and counts hold in one."""
    for component in components:
        if not _waits(component):
            continue
        if shards.workers:
            what = (
                f"{name_of(component)} waits for a server or program, which one process sends many requests at a time"
            )
            raise InputError(what, hint="run it without --workers")
        if shards.shard and (limits.max_calls is not None or limits.max_cost is not None):
            raise InputError("limits of requests do not hold over several processes", hint="run it without --shard")


def _waits(component: Any) -> bool:
    """Return whether this bot or LLM judge, or a part of it, waits for a server or program."""
    if getattr(component, "waits", False) or (name_of(component) == "llm_judge" and component.endpoint):
        return True
    return any(map(_waits, parts_of(component)))


def check_price(price: object, component: str) -> None:
    """Refuse a price that is neither empty nor two numbers."""
    prices = price if isinstance(price, tuple) else (None,)
    if len(prices) not in (0, 2) or any(type(number) not in (int, float) or number < 0 for number in prices):
        raise SpecError(f"{component}: price must be two numbers, such as (0.5,1.5), got {price!r}")


def cost_of(prompt_tokens: int, completion_tokens: int, price: Price | None) -> float | None:
    """Return the cost at prices per million tokens; None without prices."""
    if not price:
        return None
    return (prompt_tokens * price[0] + completion_tokens * price[1]) / MILLION
