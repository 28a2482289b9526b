# SPDX-License-Identifier: Apache-2.0
"""Which of two replies to the same context is better, by an LLM judge that sees them in both orders.

The judge is asked twice about each pair, with the positions of the replies swapped. A reply is preferred only if it
wins in both orders; anything else is a tie. Judges often favour a position, so the share of pairs whose winner changes
with the order (flip rate) is reported with the preferences, beside the figures of judge_moments.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2
from statistics import fmean

import numpy as np

from interloq.errors import InputError, SpecError, count
from interloq.metrics.likelihood.fed import context
from interloq.metrics.llm_judge.judge_moments import COLUMNS, figures, format_figures, moments, rating_of
from interloq.metrics.llm_judge.llm_judge import LlmJudge
from interloq.metrics.llm_judge.rubrics import Excerpt
from interloq.records import Sample, format_key

A, B, TIE = "A", "B", "tie"
NO_TEXT = "neither reply has text"


@dataclass(frozen=True, slots=True)
class PairJudgment:
    """Judgment of one pair: 1 if the first sample's reply is better, −1 if the second's is, 0 for a tie.

    `orders` are the judgments with the first reply shown first and shown second; `failure` says why there is none.
    `runs` are the preferences for the first reply in each run, from 0 to 1, over both orders; none if nothing was sent.
    `rating` is people's rating of the first reply minus their rating of the second. `replies_cut` and `context_cut` say
    whether the judge read only a part.
    """

    first: Sample
    second: Sample
    orders: tuple[int, int] = (0, 0)
    failure: str = ""
    runs: tuple[float, ...] = ()
    rating: float | None = None
    replies_cut: int = 0
    context_cut: bool = False

    @property
    def value(self) -> int | None:
        """1, −1 or 0; None if the pair could not be judged."""
        if self.failure:
            return None
        return self.orders[0] if self.orders[0] == self.orders[1] else 0

    @property
    def flipped(self) -> bool:
        """Whether the two orders have different winners."""
        return not self.failure and self.orders[0] * self.orders[1] < 0


@dataclass(frozen=True)
class Preferences:
    """Judgments of all pairs, in their order."""

    pairs: tuple[PairJudgment, ...]
    deterministic: bool = False  # whether the judge would answer the same again
    caveats: tuple[str, ...] = ()  # what was shortened, and what the judge's model does not accept

    @cached_property
    def counts(self) -> dict[str, int]:
        """Numbers of wins of the first and of the second side, ties and pairs that could not be judged."""
        values = [pair.value for pair in self.pairs]
        sides = {"first": 1, "second": -1, "tie": 0, "unjudged": None}
        return {name: values.count(value) for name, value in sides.items()}

    @property
    def flip_rate(self) -> float | None:
        """Share of the judged pairs whose winner changes with the order; None without judged pairs."""
        judged = [pair.flipped for pair in self.pairs if not pair.failure]
        return fmean(judged) if judged else None

    @cached_property
    def figures(self) -> dict[str, float]:
        """How far to trust the preferences: slope on relative length, reliability, agreement (see judge_moments.py)."""
        rows = []
        for pair in self.pairs:
            if pair.runs:
                size = log2((1 + len(pair.first.response)) / (1 + len(pair.second.response)))
                rows.append(moments(size, pair.runs, pair.rating))
        return figures(np.array(rows).reshape(len(rows), COLUMNS).sum(axis=0))

    def remark(self) -> str:
        """Return the flip rate and the figures in words."""
        n = len(self.pairs) - self.counts["unjudged"]
        rate = "unknown" if self.flip_rate is None else f"{self.flip_rate:.2f}"
        flips = f"flip rate {rate}: winners that change with the order of the replies, of {count(n, 'pair')}"
        trust = format_figures(self.figures, noun="pair", deterministic=self.deterministic)
        return "; ".join([flips, trust, *self.caveats])


def judge_pairs(first: Sequence[Sample], second: Sequence[Sample], judge: LlmJudge) -> Preferences:
    """Judge each sample of one side against its counterpart, a reply to the same context, on the other side.

    An empty reply loses to any other without being sent.
    """
    if judge.of == "dialogue":
        raise SpecError("a judge of whole dialogues cannot compare replies; write of='reply'")
    if len(first) != len(second):
        raise InputError(f"pairs need as many samples on both sides, got {len(first)} and {len(second)}")
    for one, two in zip(first, second, strict=True):
        if context(one) != context(two):
            raise InputError(f"{format_key(one.key)} and {format_key(two.key)} do not have the same context")
    orders = []
    for one, two in zip(first, second, strict=True):
        if one.response.strip() and two.response.strip():
            orders += [(one, two), (two, one)]
    answers = iter(_ask(orders, judge))
    judgments, replies_cut, contexts_cut = [], 0, 0
    for one, two in zip(first, second, strict=True):
        judgment = _judgment(one, two, answers, judge)
        judgments.append(judgment)
        replies_cut += judgment.replies_cut
        contexts_cut += judgment.context_cut
    caveats = tuple(judge.caveats(replies_cut, contexts_cut))
    return Preferences(tuple(judgments), deterministic=not judge.endpoint, caveats=caveats)


def _judgment(one: Sample, two: Sample, answers: Iterator[list[float] | str], judge: LlmJudge) -> PairJudgment:
    first_text, second_text = bool(one.response.strip()), bool(two.response.strip())
    if not first_text and not second_text:
        return PairJudgment(one, two, failure=NO_TEXT)
    if not first_text or not second_text:
        value = int(first_text) - int(second_text)
        return PairJudgment(one, two, (value, value))
    front, behind = next(answers), next(answers)
    if isinstance(front, str):
        return PairJudgment(one, two, failure=front)
    if isinstance(behind, str):
        return PairJudgment(one, two, failure=behind)
    runs = tuple((2 + _sign([a]) - _sign([b])) / 4 for a, b in zip(front, behind, strict=True))
    first_rating, second_rating = rating_of(one, judge.dimension), rating_of(two, judge.dimension)
    rating = None
    if first_rating is not None and second_rating is not None:
        rating = first_rating - second_rating
    read = _excerpt(one, two, judge)
    orders = (_sign(front), -_sign(behind))
    return PairJudgment(one, two, orders, "", runs, rating, replies_cut=read.replies_cut, context_cut=read.context_cut)


def _ask(orders: Sequence[tuple[Sample, Sample]], judge: LlmJudge) -> list[list[float] | str]:
    """Return by how much the reply shown first is better in each run (below 0: worse), or why it is unknown."""
    prompts = [_prompt(front, behind, judge) for front, behind in orders]
    margins: list[list[float] | str] = []
    if judge.mode == "expected":
        for chosen in judge.choose(prompts, (A, B)):
            if isinstance(chosen, str):
                margins.append(chosen)
            else:
                margins.append([a - b for a, b in chosen])
        return margins
    values = {A: 1.0, B: -1.0, TIE: 0.0}
    for written in judge.write(prompts, {"better": [A, B, TIE]}):
        if isinstance(written, str):
            margins.append(written)
        else:
            margins.append([values[word] for (word,) in written])
    return margins


def _prompt(front: Sample, behind: Sample, judge: LlmJudge) -> str:
    rubric = judge.rubric_for(front)
    rubric.check("pair", [judge.dimension])
    dialogue = _excerpt(front, behind, judge).text
    words = [A, B]
    if judge.mode == "sampled":
        words = [f'{{"better": "{word}"}}' for word in (A, B, TIE)]
    return rubric.pair(judge.dimension, dialogue, " / ".join(words))


def _excerpt(front: Sample, behind: Sample, judge: LlmJudge) -> Excerpt:
    return judge.excerpt(front, {A: front.response, B: behind.response})


def _sign(values: Sequence[float]) -> int:
    total = sum(values)
    return (total > 0) - (total < 0)
