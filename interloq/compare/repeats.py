# SPDX-License-Identifier: Apache-2.0
"""Where the variation of scores comes from: prompts, the bot's choice of reply, or the judge.

Repeated runs give several replies to a prompt, and several scores of one reply. Score = prompt + reply + judgment, a
nested random-effects model, with variances estimated by moments:

    judge    mean square of the scores of one reply
    bot      variance between runs of the bot on one prompt, less the judge's share; equal replies count as equal
    prompts  variance of the prompts' means, less the shares of both
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.compare.match_versions import Unit, Version, match_units
from interloq.errors import InputError
from interloq.statistics.clustered import Array


@dataclass(frozen=True, slots=True)
class Noise:
    """Variances of one metric's scores; None if nothing was repeated to measure it."""

    metric: str
    prompts: float
    bot: float | None  # between replies to one prompt
    judge: float | None  # between scores of one reply
    left: tuple[float, float]  # of a prompt's mean score, due to bot and judge: what averaging left
    shares: tuple[float, float] | None = None  # of bot and judge in the squared error of the difference; NaN: unknown

    @property
    def advice(self) -> str:
        """What reduces the error of the difference most."""
        bot, judge = np.nan_to_num(self.shares or (0.0, 0.0))
        if bot + judge < 0.5:
            return "more prompts"
        if bot >= judge:
            return "more replies per prompt"
        return "more judgments per reply"

    def in_difference(self, n: int, error: float) -> Noise:
        """Return a copy with each variance's share in a difference over n prompts that has this standard error."""
        bot_left, judge_left = self.left
        return replace(self, shares=(_share(self.bot, bot_left / n, error), _share(self.judge, judge_left / n, error)))


def noise(metric: str, scores: Array, replies: Sequence[Sequence[str]]) -> Noise:
    """Return variances from scores, one row per prompt and one column per run; `replies` have the same shape.

    Runs with the same replies to all prompts are one run of the bot, judged repeatedly.
    """
    runs = _bot_runs(replies)
    sizes = np.bincount(runs)
    means = np.stack([scores[:, runs == i].mean(axis=1) for i in range(len(sizes))], axis=1)
    judge = _judge(scores, np.array(replies, dtype=object))
    share, bot = judge or 0.0, None
    if len(sizes) > 1:
        bot = max(0.0, float(means.var(axis=1, ddof=1).mean()) - share * float((1 / sizes).mean()))
    left = (bot or 0.0) / len(sizes), share * float((1 / sizes).sum()) / len(sizes) ** 2
    whole = math.nan
    if len(means) > 1:
        whole = float(means.mean(axis=1).var(ddof=1))
    return Noise(metric, max(0.0, whole - sum(left)), bot, judge, left)


def _share(measured: float | None, variance: float, error: float) -> float:
    """Return the share of a variance in a squared error; NaN if nothing was repeated to measure it."""
    if measured is None:
        return math.nan
    if not error > 0:
        return 0.0
    return min(1.0, variance / error**2)


def _judge(scores: Array, texts: NDArray[Any]) -> float | None:
    """Return the mean square of the scores of one reply; None if no reply was judged twice."""
    squares, freedom = 0.0, 0
    for row, replies in zip(scores, texts, strict=True):
        for reply in set(replies):
            same = row[replies == reply]
            squares += float(((same - same.mean()) ** 2).sum())
            freedom += len(same) - 1
    if not freedom:
        return None
    return squares / freedom


def _bot_runs(replies: Sequence[Sequence[str]]) -> NDArray[np.intp]:
    """Return the number of the bot's run that each column judges."""
    run_of: dict[tuple[str, ...], int] = {}
    runs = [run_of.setdefault(column, len(run_of)) for column in zip(*replies, strict=True)]
    return np.array(runs, dtype=np.intp)


def average_repeats(
    version: Version, repeats: Sequence[Version], metrics: Sequence[str], *, replies: Sequence[str] = ()
) -> tuple[Version, list[Noise]]:
    """Return a version with scores averaged over its repeats, and the variances of each metric's scores.

    Units with the same text are the same reply. If texts are unknown, `replies` says which runs have the same replies:
    one name per run, the version's own first.
    """
    runs: dict[str, list[Unit]] = {unit.id: [unit] for unit in version.units}
    for repeat in repeats:
        units = match_units(version, repeat)
        if not units.pairs or any(units.alone):
            what = f"{repeat.name} is not a repeat of {version.name}: they do not have the same prompts"
            raise InputError(what, hint="let the same version answer the same prompts again")
        for first, again in units.pairs:
            runs[first.id].append(again)
    texts = []
    for same_prompt in runs.values():
        own_texts = [unit.text for unit in same_prompt]
        texts.append(list(replies) or own_texts)
    bot_runs = _bot_runs(texts)
    sizes = np.bincount(bot_runs)
    weights = 1 / sizes[bot_runs] / len(sizes)  # equal weights for the bot's runs
    noises = []
    averaged: list[dict[str, float]] = [{} for _ in version.units]
    for metric in metrics:
        scores = np.empty((len(runs), 1 + len(repeats)))
        for row, same_prompt in enumerate(runs.values()):
            scores[row] = [unit.values[metric] for unit in same_prompt]
        for values, mean in zip(averaged, (scores @ weights).tolist(), strict=True):
            values[metric] = mean
        noises.append(noise(metric, scores, texts))
    units_averaged = [replace(unit, values=values) for unit, values in zip(version.units, averaged, strict=True)]
    return replace(version, units=tuple(units_averaged)), noises
