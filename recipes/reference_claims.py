"""Verdicts on claims that one row agrees with people better than another, and choices that never see the tested set.

A claim holds on a set if the 95 % interval of the difference of the two Spearman correlations, over bootstrap resamples
that both rows share, is above 0. It does not hold if the interval is below 0, and is undecided otherwise. Intervals
are not adjusted for the number of claims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
from rated_sets import Floats, RatedSet

from interloq.statistics.correlation import complete_rows, resample_coefficients, values
from interloq.statistics.resampling import percentile_interval

MEAN = "mean"  # of all sets
SPEARMAN = {"spearman": "spearman"}


@dataclass(frozen=True, slots=True)
class Variant:
    """How retrieved references are used: the fields of `vbleu` and `vbertscore`."""

    best: int | None
    weigh: bool
    parrot: bool

    def __str__(self) -> str:
        kept = "all" if self.best is None else f"best {self.best}"
        return f"{kept}{' weighted' if self.weigh else ''}{', parrot' if self.parrot else ''}"


# the papers' first: of variants that are equally good, the first is chosen
VARIANTS = tuple(Variant(*fields) for fields in product((None, 3, 5, 8), (True, False), (True, False)))
PAPER, RATED, UNRATED, FIVE, EIGHT = (
    VARIANTS[0],
    Variant(None, True, False),
    Variant(None, False, False),
    Variant(5, False, False),
    Variant(8, False, True),
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding of the papers: the first row is above the second."""

    text: str
    higher: str
    lower: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim on one set: the difference of two Spearman correlations, and what its interval says."""

    claim: Claim
    set: str
    difference: float
    ci: tuple[float, float]
    text: str


def verdicts(
    claim: Claim, sets: Mapping[str, RatedSet], scores: Mapping[str, Mapping[str, Floats]], resamples: int
) -> list[Verdict]:
    """The verdict on each set, and on the mean of their differences."""
    found = [
        _difference(claim, scores[name], own.human, resamples, seed) for seed, (name, own) in enumerate(sets.items())
    ]
    values, spreads = zip(*found, strict=True)
    mean = float(np.mean(values)), np.mean(spreads, axis=0)
    return [_verdict(claim, name, *each) for name, each in zip([*sets, MEAN], [*found, mean], strict=True)]


def _difference(
    claim: Claim, scores: Mapping[str, Floats], human: Floats, resamples: int, seed: int
) -> tuple[float, Floats]:
    """Difference of the correlations, over the samples that both rows scored, and in each resample."""
    places = complete_rows(scores[claim.higher], scores[claim.lower], human)
    columns = [scores[row][places] for row in (claim.higher, claim.lower)]
    higher, lower = (spearman(column, human[places]) for column in columns)
    spread = [
        resample_coefficients(column, human[places], n_bootstrap=resamples, seed=seed, chosen=SPEARMAN)["spearman"]
        for column in columns
    ]
    return higher - lower, spread[0] - spread[1]


def _verdict(claim: Claim, name: str, difference: float, spread: Floats) -> Verdict:
    low, high = percentile_interval(spread)
    text = "undecided"
    if low > 0:
        text = "holds"
    elif high < 0:
        text = "does not hold"
    return Verdict(claim, name, difference, (low, high), text)


def spearman(scores: Floats, human: Floats) -> float:
    """Over the samples that are scored; NaN if undefined."""
    places = complete_rows(scores, human)
    return values(scores[places], human[places], chosen=SPEARMAN)["spearman"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The variant with the highest mean correlation on the other sets, and its correlation on the tested one."""

    metric: str
    set: str
    variant: Variant
    value: float
    papers: float  # all references, weighted, with the parrot
    highest: float  # of all variants on the tested set


def choices(metric: str, sets: Mapping[str, RatedSet], scores: Mapping[str, Mapping[str, Floats]]) -> list[Choice]:
    """What leave-one-set-out chooses for each tested set."""
    by_set = {
        name: {v: spearman(scores[name][f"{metric}, {v}"], own.human) for v in VARIANTS} for name, own in sets.items()
    }
    found = []
    for tested, own in by_set.items():
        others = [other for name, other in by_set.items() if name != tested]
        best = max(VARIANTS, key=lambda variant: float(np.mean([other[variant] for other in others])))
        found.append(Choice(metric, tested, best, own[best], own[PAPER], max(own.values())))
    return found


def agreed(found: Sequence[Choice]) -> dict[str, Any]:
    """Fields with the same value in the choice for every tested set: only these may become defaults."""
    first, *rest = (asdict(choice.variant) for choice in found)
    return {field: value for field, value in first.items() if all(other[field] == value for other in rest)}
