# SPDX-License-Identifier: Apache-2.0
"""Play round by round, and stop when all adjacent systems in the ranking are separated or the budget ends.

A round is one dialogue of every target with every partner, from one opening. A system's score in a round is the mean
over its dialogues there, so the differences d_1 … d_n of two systems over n rounds are comparable draws, and

    mean(d) ± t(1 − α'/2; n − 1) · sd(d) / √n

contains their true difference with probability 1 − α'. Looking repeatedly until an interval excludes 0 would eventually
succeed even without any difference. So the looks are planned in advance, after a growing number of rounds, and α is
divided evenly over all looks and all pairs of systems: α' = α / (looks · pairs). By Bonferroni's inequality, the
probability that any two systems are ever separated in the wrong order, or although they are equal, is at most α, no
matter how the looks depend on each other. The price is a few more dialogues than one look at the right time would need.

Nothing is separated before a sign test could separate it (2^(1−n) > α'), because t intervals of few rounds depend on
normally distributed differences. A round in which a system has no score is skipped in its comparisons, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from interloq.agree.dialogue_scores import DialogueScore, dialogue_scores, downwards, means
from interloq.errors import InputError
from interloq.metrics.metric import Array, Metric
from interloq.play.play_options import PlayOptions
from interloq.play.run import Hear, Plan, playing
from interloq.play.schedule import BotMatch
from interloq.rank.running_ranking import check_metric, score_dialogues
from interloq.records import Dialogue, Score
from interloq.registry import title
from interloq.signature import Signature, signature

ALPHA = 0.05
FIRST = 8  # rounds before the first look
GROWTH = 1.3  # factor between the rounds of two looks: few looks, and at most 30 % played unnecessarily


def _check(*checks: tuple[bool, str]) -> None:
    for fine, message in checks:
        if not fine:
            raise InputError(message)


@dataclass(frozen=True, slots=True)
class Rule:
    """When two systems are separated, and when to look."""

    alpha: float = ALPHA
    first: int = FIRST
    growth: float = GROWTH
    margin: float = 0.0  # differences within it do not matter
    lower_is_better: bool | None = None  # None: set by the metric

    def __post_init__(self) -> None:
        _check(
            (0 < self.alpha < 1, f"alpha must be between 0 and 1, got {self.alpha}"),
            (self.first >= 2, f"the first look needs at least two rounds, got {self.first}"),
            (self.growth > 1, f"growth must be above 1, got {self.growth}"),
            (self.margin >= 0, f"margin must not be negative, got {self.margin}"),
        )


RULE = Rule()


@dataclass(frozen=True, slots=True)
class SystemGap:
    """Two adjacent systems in the ranking, the better first."""

    better: str
    worse: str
    difference: float  # of scores, better minus worse
    interval: tuple[float, float]
    rounds: int  # in which both have a score
    apart: bool
    alike: bool = False  # the interval is within the margin


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the ranking after some rounds."""

    rounds: int
    dialogues: int
    order: tuple[str, ...]
    gaps: tuple[SystemGap, ...]

    @property
    def settled(self) -> bool:
        """Return whether all adjacent systems are separated or alike."""
        return bool(self.gaps) and all(gap.apart or gap.alike for gap in self.gaps)


@dataclass(frozen=True, slots=True)
class Settled:
    """Result of playing; the last look is the final ranking."""

    settled: bool
    rounds: int
    dialogues: int
    unscored: int  # dialogues without a score
    looks: tuple[Look, ...]
    level: float  # α': the error allowed for one pair at one look
    budget: int  # maximum number of rounds

    @property
    def order(self) -> tuple[str, ...]:
        """Return the systems at the last look, best first."""
        return self.looks[-1].order if self.looks else ()

    @property
    def not_apart(self) -> tuple[SystemGap, ...]:
        """Return adjacent systems that the last look did not separate."""
        if not self.looks:
            return ()
        return tuple(gap for gap in self.looks[-1].gaps if not gap.apart)


def settle(
    play_round: Callable[[int], Sequence[Dialogue]],
    score: Callable[[Sequence[Dialogue]], Iterable[Score]],
    rule: Rule = RULE,
    *,
    budget: int,
    systems: int,
    on_look: Callable[[Look], None] | None = None,
) -> Settled:
    """Play at most `budget` rounds, score each, and stop as soon as the order is settled."""

    def rounds() -> Iterator[list[DialogueScore]]:
        for number in range(budget):
            dialogues = play_round(number)
            yield dialogue_scores(score(dialogues), dialogues)

    return watch(rounds(), rule, budget=budget, systems=systems, on_look=on_look)


def watch(
    rounds: Iterable[Sequence[DialogueScore]],
    rule: Rule = RULE,
    *,
    budget: int,
    systems: int,
    on_look: Callable[[Look], None] | None = None,
) -> Settled:
    """Watch rounds that are already scored; only as many are taken as needed."""
    planned, level = plan_looks(budget, systems, rule)
    columns: list[dict[str, float]] = []
    looks: list[Look] = []
    dialogues = unscored = 0
    for rows in rounds:
        columns.append(means(rows))
        dialogues += len({row.dialogue for row in rows})
        unscored += sum(math.isnan(row.value) for row in rows)
        if len(columns) in planned:
            sign = -1.0 if downwards(rows, rule.lower_is_better) else 1.0
            looks.append(_look(columns, dialogues, level, rule.margin, sign))
            if on_look:
                on_look(looks[-1])
            if looks[-1].settled or len(columns) == budget:
                break
    ended = bool(looks) and looks[-1].settled
    return Settled(ended, len(columns), dialogues, unscored, tuple(looks), level, budget)


def plan_looks(budget: int, systems: int, rule: Rule = RULE) -> tuple[list[int], float]:
    """Return the rounds after which to look, the last at the end; and the error level of each pair at each look."""
    _check(
        (budget >= 2, f"the budget must be at least two rounds, got {budget}"),
        (systems >= 2, f"at least two systems are needed, got {systems}"),
    )
    pairs = systems * (systems - 1) // 2
    looks = [min(rule.first, budget)]
    while looks[-1] < budget:
        looks.append(min(budget, max(looks[-1] + 1, round(looks[-1] * rule.growth))))
    level = rule.alpha / (len(looks) * pairs)
    useful = [n for n in looks if 2.0 ** (1 - n) <= level]  # earlier looks could not separate anything
    looks = useful or [budget]
    return looks, rule.alpha / (len(looks) * pairs)


def _look(columns: Sequence[dict[str, float]], dialogues: int, level: float, margin: float, sign: float) -> Look:
    means_of: dict[str, Array] = {}
    for name in sorted(set().union(*columns)):
        by_round = np.array([column.get(name, math.nan) for column in columns])
        if not np.isnan(by_round).all():
            means_of[name] = by_round
    order = sorted(means_of, key=lambda name: (-sign * float(np.nanmean(means_of[name])), name))
    gaps = []
    for better, worse in pairwise(order):
        differences = means_of[better] - means_of[worse]
        known = differences[~np.isnan(differences)]
        low, high = t_interval(known, level)
        centre = float(known.mean()) if len(known) else math.nan
        apart = 2.0 ** (1 - len(known)) <= level and (sign * low > 0 and sign * high > 0)
        alike = margin > 0 and -margin <= low and high <= margin
        gaps.append(SystemGap(better, worse, centre, (low, high), len(known), apart, alike))
    return Look(len(columns), dialogues, tuple(order), tuple(gaps))


def t_interval(differences: Array, level: float) -> tuple[float, float]:
    """Return the confidence interval of the mean difference with error `level`; infinite for under two values."""
    from scipy import stats

    if len(differences) < 2:
        return (-math.inf, math.inf)
    half = stats.t.ppf(1 - level / 2, len(differences) - 1) * differences.std(ddof=1) / math.sqrt(len(differences))
    return (float(differences.mean() - half), float(differences.mean() + half))


# ---- playing ---------------------------------------------------------------------------------------------------------


def rounds_of(matches: Iterable[BotMatch]) -> list[list[BotMatch]]:
    """Return matches in balanced rounds: the n-th match of every target with every partner is in round n.

    Rounds that do not have every pair are omitted.
    """
    by_pair: dict[tuple[str, str], list[BotMatch]] = {}
    for match in matches:
        by_pair.setdefault((match.target, match.partner), []).append(match)
    return [list(round) for round in zip(*by_pair.values(), strict=False)]


@dataclass(frozen=True, slots=True)
class Played:
    """Result of playing until the ranking was settled, with the scores and the metric."""

    settled: Settled
    scores: tuple[Score, ...]  # of every judged utterance
    metric: str
    signature: Signature  # of the metric, with the partner set's hash


def play_until_settled(
    plan: Plan,
    output: str | Path,
    metric: Metric,
    rule: Rule = RULE,
    options: PlayOptions | None = None,
    *,
    on_look: Callable[[Look], None] | None = None,
) -> Played:
    """Play the plan round by round and write it to `output`; the plan's matches are the budget.

    All rounds between two looks are played together, in full batches. An interrupted run resumes.
    """
    check_metric(metric, rule.lower_is_better)
    rounds = rounds_of(plan.matches)
    systems = len({match.target for match in plan.matches})
    planned, _ = plan_looks(len(rounds), systems, rule)
    scores: list[Score] = []
    with playing(plan, output, options or PlayOptions()) as play_matches:
        scored_rounds = _score_rounds(play_matches, plan, planned, metric, scores)
        settled = watch(scored_rounds, rule, budget=len(rounds), systems=systems, on_look=on_look)
    if not settled.settled and settled.rounds < len(rounds):
        what = f"no target said anything in the dialogues after round {settled.rounds}"
        raise InputError(what, hint="see the failures in the dialogues", where=str(output))
    signed = signature(metric, partners=plan.run.get("partners", ""))
    return Played(settled, tuple(scores), title(metric), signed)


def _score_rounds(
    play_matches: Callable[[Sequence[BotMatch], Hear], None],
    plan: Plan,
    looks: Sequence[int],
    metric: Metric,
    scores: list[Score],
) -> Iterator[list[DialogueScore]]:
    """Yield the scores of each round, played together between two looks; end when no target says anything."""
    rounds = rounds_of(plan.matches)
    order = {match.id: place for place, match in enumerate(plan.matches)}
    for start, stop in pairwise([0, *looks]):
        dialogues: list[Dialogue] = []
        play_matches(list(chain.from_iterable(rounds[start:stop])), dialogues.append)
        # their order of arrival depends on what was played before
        dialogues.sort(key=lambda dialogue: order[dialogue.id])
        fresh = score_dialogues(metric, dialogues)
        if not fresh:
            return
        scores.extend(fresh)
        by_id: dict[str, list[DialogueScore]] = {}
        for row in dialogue_scores(fresh, dialogues):
            by_id.setdefault(row.dialogue, []).append(row)
        for round in rounds[start:stop]:
            yield list(chain.from_iterable(by_id.get(match.id, []) for match in round))


def facts(settled: Settled) -> dict[str, Any]:
    """Return the result for JSON."""
    return {**asdict(settled), "order": settled.order, "not_apart": [asdict(gap) for gap in settled.not_apart]}
