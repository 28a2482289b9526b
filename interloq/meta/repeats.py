# SPDX-License-Identifier: Apache-2.0
"""Where the variation of scores comes from: prompts, the bot's choice of reply, or the judge.

Repeated runs give several replies to a prompt, and several scores of one reply. Score = prompt + reply + judgment, a
nested random-effects model, with variances estimated by moments:

    judge    mean square of the scores of one reply
    bot      variance between runs of the bot on one prompt, less the judge's share; equal replies count as such
    prompts  variance of the prompts' means, less the shares of both
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.meta.versions import Unit, Version, matched
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
        return "more replies per prompt" if bot >= judge else "more judgments per reply"

    def in_difference(self, n: int, error: float) -> Noise:
        """The same with shares in a difference of n prompts that has this standard error."""
        parts = zip(self.left, (self.bot, self.judge), strict=True)
        bot, judge = (
            math.nan if known is None else min(1.0, part / n / error**2) if error > 0 else 0.0 for part, known in parts
        )
        return replace(self, shares=(bot, judge))


def noise(metric: str, scores: Array, replies: Sequence[Sequence[str]]) -> Noise:
    """Variances from scores, one row per prompt and one column per run; `replies` are what was said, in the same shape.

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
    whole = float(means.mean(axis=1).var(ddof=1)) if len(means) > 1 else math.nan
    return Noise(metric, max(0.0, whole - sum(left)), bot, judge, left)


def _judge(scores: Array, texts: NDArray[Any]) -> float | None:
    """Mean square of the scores of one reply; None if no reply was judged twice."""
    squares, freedom = 0.0, 0
    for row, said in zip(scores, texts, strict=True):
        for text in set(said):
            same = row[said == text]
            squares += float(((same - same.mean()) ** 2).sum())
            freedom += len(same) - 1
    return squares / freedom if freedom else None


def _bot_runs(replies: Sequence[Sequence[str]]) -> NDArray[np.intp]:
    """Number of the bot's run that each column judges."""
    columns = list(zip(*replies, strict=True))
    place = {column: i for i, column in enumerate(dict.fromkeys(columns))}
    return np.array([place[column] for column in columns], dtype=np.intp)


def repeated(
    version: Version, repeats: Sequence[Version], metrics: Sequence[str], *, replies: Sequence[str] = ()
) -> tuple[Version, list[Noise]]:
    """A version with scores averaged over its repeats, and the variances of each metric's scores.

    Units with the same text are the same reply. If texts are unknown, `replies` says which runs have the same replies:
    one name per run, that of the version first.
    """
    runs: dict[str, list[Unit]] = {unit.id: [unit] for unit in version.units}
    for repeat in repeats:
        units = matched(version, repeat)
        if not units.pairs or any(units.alone):
            what = f"{repeat.name} is not a repeat of {version.name}: they do not have the same prompts"
            raise InputError(what, hint="let the same version answer the same prompts again")
        for own, other in units.pairs:
            runs[own.id].append(other)
    said = [list(replies) or [unit.text for unit in units] for units in runs.values()]
    scores = {m: np.array([[unit.values[m] for unit in units] for units in runs.values()]) for m in metrics}
    bot_runs = _bot_runs(said)
    sizes = np.bincount(bot_runs)
    means = {m: scores[m] @ (1 / sizes[bot_runs] / len(sizes)) for m in metrics}  # equal weights for the bot's runs
    averaged = tuple(
        replace(unit, values={m: float(means[m][i]) for m in metrics}) for i, unit in enumerate(version.units)
    )
    return replace(version, units=averaged), [noise(m, scores[m], said) for m in metrics]
