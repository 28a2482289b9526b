"""Where the variation of scores comes from: prompts, the bot's choice of reply, or the judge.

Repeated runs give several replies to a prompt, and several scores of one reply. Score = prompt + reply + judgment, a
nested random-effects model, with variances estimated by moments:

    judge    mean square of scores within a reply
    bot      variance of mean scores of the replies to a prompt, less the judge's share
    prompts  variance of the prompts' means, less the shares of both
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from interloq.errors import InputError
from interloq.meta.versions import Unit, Version, matched

Replies = Sequence[Sequence[float]]  # replies to one prompt, and the scores of each


@dataclass(frozen=True, slots=True)
class Noise:
    """Variances of one metric's scores; None if nothing was repeated to measure it."""

    metric: str
    prompts: float
    bot: float | None  # between replies to one prompt
    judge: float | None  # between scores of one reply
    left: tuple[float, float]  # of a prompt's mean score, due to bot and judge: what averaging left
    shares: tuple[float, float] | None = None  # of bot and judge in the squared error of the difference

    @property
    def advice(self) -> str:
        """What reduces the error of the difference most."""
        bot, judge = self.shares or (0.0, 0.0)
        if bot + judge < 0.5:
            return "more prompts"
        return "more replies per prompt" if bot >= judge else "more judgments per reply"

    def in_difference(self, n: int, error: float) -> Noise:
        """The same with shares in a difference of n prompts that has this standard error."""
        bot, judge = (min(1.0, part / n / error**2) if error > 0 else 0.0 for part in self.left)
        return replace(self, shares=(bot, judge))


def noise(metric: str, prompts: Iterable[Replies]) -> Noise:
    """Variances from the scores of replies to each prompt."""
    groups = [[np.array(scores) for scores in replies] for replies in prompts]
    means = [np.array([scores.mean() for scores in replies]) for replies in groups]
    judged = sum(len(scores) - 1 for replies in groups for scores in replies)
    answered = sum(len(replies) - 1 for replies in groups)
    judge = sum(float(((s - s.mean()) ** 2).sum()) for r in groups for s in r) / judged if judged else None
    share = judge or 0.0
    bot = None
    if answered:
        between = sum(float(((m - m.mean()) ** 2).sum()) for m in means) / answered
        repeated = [1 / len(scores) for replies in groups if len(replies) > 1 for scores in replies]
        bot = max(0.0, between - share * float(np.mean(repeated)))
    left = (
        float(np.mean([(bot or 0.0) / len(replies) for replies in groups])),
        float(np.mean([share * sum(1 / len(s) for s in replies) / len(replies) ** 2 for replies in groups])),
    )
    whole = float(np.var([m.mean() for m in means], ddof=1)) if len(means) > 1 else math.nan
    return Noise(metric, max(0.0, whole - sum(left)), bot, judge, left)


def repeated(
    version: Version, repeats: Sequence[Version], metrics: Sequence[str], *, replies: Sequence[str] = ()
) -> tuple[Version, list[Noise]]:
    """A version with scores averaged over its repeats, and the variances of each metric's scores.

    Units of a repeat with the same text are the same reply, judged again; others are further replies. If texts are
    unknown, `replies` says which runs have the same replies: one name per run, that of the version first.
    """
    names = replies or [""] * (1 + len(repeats))
    runs: dict[str, list[tuple[str, Unit]]] = {unit.id: [(names[0], unit)] for unit in version.units}
    for name, repeat in zip(names[1:], repeats, strict=True):
        units = matched(version, repeat)
        if not units.pairs or any(units.alone):
            what = f"{repeat.name} is not a repeat of {version.name}: they do not have the same prompts"
            raise InputError(what, hint="let the same version answer the same prompts again")
        for own, other in units.pairs:
            runs[own.id].append((name, other))
    grouped = {id: _by_reply(units) for id, units in runs.items()}
    found = [
        noise(metric, [[[u.values[metric] for u in same] for same in replies] for replies in grouped.values()])
        for metric in metrics
    ]
    averaged = tuple(replace(unit, values=_averaged(grouped[unit.id], metrics)) for unit in version.units)
    return replace(version, units=averaged), found


def _by_reply(units: Sequence[tuple[str, Unit]]) -> list[list[Unit]]:
    """Units that judge the same reply together."""
    found: dict[tuple[str, str], list[Unit]] = {}
    for name, unit in units:
        found.setdefault((name, unit.text), []).append(unit)
    return list(found.values())


def _averaged(replies: Sequence[Sequence[Unit]], metrics: Sequence[str]) -> dict[str, float]:
    return {
        metric: float(np.mean([np.mean([unit.values[metric] for unit in same]) for same in replies]))
        for metric in metrics
    }
