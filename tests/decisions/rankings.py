"""Simulated rankings of systems whose true means are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.random import Generator

from interloq.agree.dialogue_scores import DialogueScore
from interloq.rank.human_preferences import rank_preferences
from interloq.rank.rank import rank
from interloq.records import Preference
from tests.decisions.worlds import Noise, draw_noise

EQUAL, APART = (0.0,) * 10, tuple(0.3 * i for i in range(10))


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a ranking said: range of each system, and pairs whose difference is significant after adjustment."""

    ranges: Sequence[tuple[int, int] | None]
    covered: Sequence[bool]  # whether each interval of a difference contains the true one


@dataclass(frozen=True, slots=True)
class Contest:
    """One setting: true means of systems, and how they are ranked."""

    name: str
    means: Sequence[float]
    rank: Callable[[Generator, Sequence[float], int], Ranked]

    def true_ranks(self) -> list[int]:
        """Ranks by the true means; equal ones share the better rank."""
        return [1 + sum(other > mean for other in self.means) for mean in self.means]


def row(system: int, unit: str, value: float, *, partner: str = "p", dialogue: str = "") -> DialogueScore:
    """One scored dialogue."""
    dialogue = dialogue or f"{system}~{unit}"
    return DialogueScore(dialogue, f"s{system}", partner, float(value), unit, content=dialogue)


def on_occasions(
    rng: Generator, means: Sequence[float], n: int, kind: Noise | str, paired: bool
) -> list[DialogueScore]:
    """One dialogue of each system on each of n occasions, shared or not."""
    effect, rows = rng.normal(size=n), []
    for system, mean in enumerate(means):
        noise = draw_noise(rng, n, "normal" if kind == "binary" else kind)  # type: ignore[arg-type]
        values = mean + noise + (effect if paired else rng.normal(size=n))
        for i, value in enumerate(values):
            found = float(value > 0) if kind == "binary" else value
            rows.append(row(system, f"o{i}" if paired else f"{system} o{i}", found))
    return rows


def with_partners(rng: Generator, means: Sequence[float], partners: int, dialogues: int) -> list[DialogueScore]:
    """Dialogues with partners that suit some systems better than others."""
    rows = []
    for system, mean in enumerate(means):
        for p in range(partners):
            values = mean + rng.normal() + rng.normal(size=dialogues)
            rows += [row(system, f"{p} {i}", value, partner=f"p{p}") for i, value in enumerate(values)]
    return rows


def between_systems(rng: Generator, means: Sequence[float], dialogues: int) -> list[DialogueScore]:
    """Dialogues of each pair of systems; both sides are scored, and both are better in a good dialogue."""
    rows = []
    for first, second in combinations(range(len(means)), 2):
        for i in range(dialogues):
            mood, name = rng.normal(), f"{first}-{second}-{i}"
            for own, other in ((first, second), (second, first)):
                value = means[own] + mood + rng.normal()
                rows.append(row(own, f"{own} {name}", value, partner=f"s{other}", dialogue=name))
    return rows


def ranked_scores(
    rng: Generator, means: Sequence[float], seed: int, *, draw: Callable[..., list[DialogueScore]], **options: Any
) -> Ranked:
    """Rank by scores."""
    result = rank(draw(rng, means), n_bootstrap=0, seed=seed, **options)
    ranges = {standing.system: standing.rank_range for standing in result.standings}
    covered = []
    for d in result.differences:
        truth = means[int(d.first[1:])] - means[int(d.second[1:])]
        covered.append(d.ci is None or d.ci[0] <= truth <= d.ci[1])
    return Ranked([ranges[f"s{i}"] for i in range(len(means))], covered)


def ranked_preferences(rng: Generator, means: Sequence[float], seed: int, *, items: int) -> Ranked:
    """Rank by people's preferences between two replies to an item."""
    preferences = []
    for i in range(items):
        first, second = rng.choice(len(means), 2, replace=False)
        better = rng.random() < 1 / (1 + np.exp(means[second] - means[first]))
        pair = f"s{first}", f"s{second}"
        preferences.append(Preference(str(i), pair, pair[0 if better else 1]))
    (result,) = rank_preferences(preferences, n_bootstrap=0, seed=seed)
    ranges = {one.system: one.rank_range for one in result.systems}
    return Ranked([ranges[f"s{i}"] for i in range(len(means))], [])


def by_scores(draw: Callable[..., list[DialogueScore]], **options: Any) -> Any:
    """How a contest ranks by scores."""
    return partial(ranked_scores, draw=draw, **options)


def occasions(n: int, kind: str = "normal", *, paired: bool = True) -> Any:
    """How a contest draws one dialogue per system and occasion."""
    return partial(on_occasions, n=n, kind=kind, paired=paired)


CONTESTS = (
    Contest("10 equal systems, 30 occasions", EQUAL, by_scores(occasions(30))),
    Contest("10 systems, 30 occasions", APART, by_scores(occasions(30))),
    Contest("10 equal systems, 12 occasions, scores of 0 or 1", EQUAL, by_scores(occasions(12, "binary"))),
    Contest("10 equal systems, 30 occasions, heavy tails", EQUAL, by_scores(occasions(30, "heavy"))),
    Contest("10 equal systems, 30 dialogues each", EQUAL, by_scores(occasions(30, paired=False))),
    Contest("10 equal systems, 30 dialogues each, skewed", EQUAL, by_scores(occasions(30, "skewed", paired=False))),
    Contest("10 systems, 30 dialogues each", APART, by_scores(occasions(30, paired=False))),
    Contest("5 equal systems with each other, 6 dialogues per pair", EQUAL[:5],
            by_scores(partial(between_systems, dialogues=6))),
    Contest("5 equal systems, 12 partners of 5 dialogues, by partner", EQUAL[:5],
            by_scores(partial(with_partners, partners=12, dialogues=5), by="partner")),
    Contest("6 equal systems, 30 occasions, Bradley–Terry", EQUAL[:6],
            by_scores(occasions(30), method="bradley-terry")),
    Contest("6 equal systems, 150 preferences", EQUAL[:6], partial(ranked_preferences, items=150)),
    Contest("6 systems, 150 preferences", APART[:6], partial(ranked_preferences, items=150)),
)  # fmt: skip
