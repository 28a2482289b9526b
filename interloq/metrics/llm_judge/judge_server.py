# SPDX-License-Identifier: Apache-2.0
"""Requests of an LLM judge to a chat server: each is sent once, its answer checked, counted and kept on disk.

An answer that cannot be used is asked for again with other seeds, a few times, and never cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from interloq.errors import InputError
from interloq.play.bots.endpoint import Endpoint, list_urls
from interloq.servers.chat_cache import cache_answers, read_cached_answers
from interloq.servers.chat_server import NO_TEXT, ChatAnswer, RequestFailed, make_call, read_answer
from interloq.servers.spending import Call, Price, Spending, current

Body = dict[str, Any]
Refusal = Callable[[ChatAnswer], str]  # why an answer cannot be used; "" if it can
BLOCK = 16  # requests per connection between two writes to the cache
STEP = 1_000_003  # from the seed of one attempt to the seed of the next


class JudgeServer:
    """Sends the requests of one judge; keeps answers and failures in memory."""

    def __init__(self, bot: Endpoint, price: Price | None, *, reasoning_tokens: int = 0) -> None:
        bot.check_key()
        self.bot, self.price, self.reasoning_tokens = bot, price, reasoning_tokens
        self.left_out: set[str] = set()  # parameters that the model did not accept in any answer
        self.works = False  # whether it has answered
        self._known: dict[bytes, ChatAnswer] = {}
        self._failed: dict[bytes, str] = {}

    def answers(self, bodies: Sequence[Body], refusal: Refusal, *, attempts: int) -> list[ChatAnswer | str]:
        """Return the answer to each request, or the reason why there is none."""
        spent, keys = current(), self._keys(bodies)
        missing = {key: body for key, body in zip(keys, bodies, strict=True) if key not in self._known}
        for key, answer in read_cached_answers(list(missing)).items():
            if refusal(answer):
                continue
            del missing[key]
            self._known[key] = answer
            self.works = True  # it answered before, so failures now leave samples unscored, as in the first run
            self.left_out |= set(answer.left_out)
            spent.add(replace(self._call(answer), cost=0.0 if self.price else None, cached=True))
        waiting = list(missing.values())
        counted = self._estimate(waiting, spent)
        done = 0
        for block in self._blocks(list(missing.items())):
            self._ask(dict(block), refusal, attempts, spent)
            done += len(block)
            if counted != self.bot.parameters.counts_reasoning:  # found out from the first answer
                counted = self._estimate(waiting[done:], spent)
        return self.known_answers(bodies)

    def _estimate(self, bodies: Sequence[Body], spent: Spending) -> bool:
        """Announce what the requests cost, if there are any; return whether reasoning was counted."""
        reasons = self.bot.parameters.counts_reasoning
        size = tokens = 0
        for body in bodies:
            size += len(body["messages"][0]["content"].encode())
            tokens += body["max_tokens"]
            if reasons:
                tokens += self.reasoning_tokens
        if bodies:
            spent.estimate(len(bodies), size, tokens, self.price)
        return reasons

    def known_answers(self, bodies: Sequence[Body]) -> list[ChatAnswer | str]:
        """Return what `answers` returned for these requests, without asking again."""
        return [self._known.get(key) or self._failed[key] for key in self._keys(bodies)]

    def _blocks(self, items: list[tuple[bytes, Body]]) -> Iterator[list[tuple[bytes, Body]]]:
        """Yield blocks of requests; the first is sent alone, so that a server that is not set up is asked only once."""
        size = BLOCK * self.bot.concurrency * len(list_urls(self.bot.url))
        first = size if self.works else 1
        yield items[:first]
        for start in range(first, len(items), size):
            yield items[start : start + size]

    def _ask(self, left: dict[bytes, Body], refusal: Refusal, attempts: int, spent: Spending) -> None:
        good: dict[bytes, ChatAnswer] = {}
        requests = len(left)
        for attempt in range(attempts):
            later = attempt * STEP  # the same seed would get the same answer
            bodies = [{**body, "seed": (body["seed"] + later) % 2**31} for body in left.values()]
            answers = self._send(bodies, spent)
            for key, answer in zip(list(left), answers, strict=True):
                if isinstance(answer, RequestFailed):
                    self._failed[key] = self._failure(answer, left[key])
                    del left[key]
                elif reason := refusal(answer):
                    self._failed[key] = reason
                    if attempts > 1:
                        self._failed[key] += f" ({attempts} attempts)"
                else:
                    good[key] = answer
                    del left[key]
            self.works |= any(isinstance(answer, ChatAnswer) for answer in answers)
        spent.failed += requests - len(good)
        left_out = self.bot.parameters.left_out
        self.left_out |= set(left_out)
        good = {key: replace(answer, left_out=left_out) for key, answer in good.items()}
        self._known |= good
        cache_answers(good)

    def _send(self, bodies: Sequence[Body], spent: Spending) -> list[Any]:
        if not bodies:
            return []

        def record_call(answer: ChatAnswer | RequestFailed, seconds: float) -> None:
            spent.add(replace(self._call(answer), seconds=seconds))

        return self.bot.ask(bodies, read_answer, spent.start_call, record_call, reasoning_tokens=self.reasoning_tokens)

    def _failure(self, failed: RequestFailed, body: Body) -> str:
        if self.works or failed.works:
            return str(failed)
        is_cut = str(failed) == NO_TEXT
        if failed.refused in ("logprobs", "top_logprobs") or (is_cut and "logprobs" in body):
            raise no_log_probabilities(self.bot.where)
        hint = "check endpoint, model and key"
        if is_cut:
            hint = "raise reasoning_tokens if the server counts reasoning"
        raise InputError(f"the endpoint does not answer: {failed}", hint=hint, where=self.bot.where)

    def _call(self, answer: ChatAnswer | RequestFailed) -> Call:
        return make_call(self.bot.where, self.bot.model, answer, self.price or ())

    def _keys(self, bodies: Sequence[Body]) -> list[bytes]:
        return [self.bot.answer_key(body) for body in bodies]


def no_log_probabilities(url: str) -> InputError:
    """Return the error for a server or model that gives no log-probabilities."""
    return InputError(
        "the endpoint returns no log-probabilities, which mode='expected' needs",
        hint="write mode='sampled', with n=… answers per reply",
        where=url,
    )
