"""What requests to paid servers cost: counted, announced before they are sent, and limited.

with spending(max_calls=500) as spent:
    evaluate("llm_judge(…)", samples)
print(spent.summary())
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from interloq.errors import InputError, count

BYTES_PER_TOKEN = 4  # of UTF-8 text, about, in English; Chinese and Japanese have three bytes per character
MILLION = 1_000_000  # prices are per million tokens
Price = tuple[float, float]  # of input and output tokens


@dataclass
class Spending:
    """Calls, tokens and cost so far, and their limits."""

    max_calls: int | None = None
    max_cost: float | None = None
    announce: Callable[[str], None] | None = None  # gets each estimate
    calls: int = 0
    cached: int = 0  # answers from the cache
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    priced: bool = False

    def estimate(self, calls: int, prompt_bytes: int, completion_tokens: int, price: Price | None) -> None:
        """Announce the cost of requests to be sent; refuse them if nothing was sent yet and a limit is too low."""
        if self.max_cost is not None and price is None:
            raise InputError("a limit of cost needs prices", hint="write price=(INPUT,OUTPUT), per million tokens")
        tokens = prompt_bytes // BYTES_PER_TOKEN
        text = f"{count(calls, 'call')}, about {tokens:,} tokens in and at most {completion_tokens:,} out"
        cost = cost_of(tokens, completion_tokens, price)
        text += f", cost about {cost:.4g}" if price else ""
        if self.announce:
            self.announce(text)
        if self.calls == 0 and self.max_calls is not None and calls > self.max_calls:
            raise InputError(f"{text}: more than the limit of {count(self.max_calls, 'call')}", hint="raise it")
        if self.calls == 0 and self.max_cost is not None and cost > self.max_cost:
            raise InputError(f"{text}: more than the limit of {self.max_cost:g}", hint="raise it")

    def start_call(self) -> str:
        """Count a call; or the reason not to make it."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            return f"the limit of {count(self.max_calls, 'call')} is reached"
        if self.max_cost is not None and self.cost >= self.max_cost:
            return f"the cost limit of {self.max_cost:g} is reached"
        self.calls += 1
        return ""

    def add(self, prompt_tokens: int, completion_tokens: int, price: Price | None) -> None:
        """Count the tokens of an answer."""
        if self.max_cost is not None and not prompt_tokens:
            raise InputError("the server does not report tokens, so cost cannot be limited", hint="limit the calls")
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        self.priced |= price is not None
        self.cost += cost_of(prompt_tokens, completion_tokens, price)

    def summary(self) -> str:
        """What was spent; empty if no server was needed."""
        if not self.calls and not self.cached:
            return ""
        text = f"{count(self.calls, 'call')} of a language model, {count(self.cached, 'answer')} from the cache"
        if self.calls:
            text += f"; {self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        return text + (f", cost {self.cost:.4g}" if self.priced else "")


_CURRENT: ContextVar[Spending | None] = ContextVar("spending", default=None)


def current() -> Spending:
    """The spending of the innermost `with spending(…)`; outside, one without limits."""
    return _CURRENT.get() or Spending()


@contextmanager
def spending(
    *, max_calls: int | None = None, max_cost: float | None = None, announce: Callable[[str], None] | None = None
) -> Iterator[Spending]:
    """Count and limit what is spent inside."""
    for name, value in (("max_calls", max_calls), ("max_cost", max_cost)):
        if value is not None and not value >= 0:
            raise InputError(f"{name} must not be negative, got {value}")
    token = _CURRENT.set(Spending(max_calls, max_cost, announce))
    try:
        yield current()
    finally:
        _CURRENT.reset(token)


def cost_of(prompt_tokens: int, completion_tokens: int, price: Price | None) -> float:
    """Cost at prices per million tokens; 0 without prices."""
    return (prompt_tokens * price[0] + completion_tokens * price[1]) / MILLION if price else 0.0
