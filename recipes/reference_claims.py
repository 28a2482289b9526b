"""Claims that one row agrees with people better than another, and choices that never see the tested set.

A claim is judged by the difference of two Spearman correlations over the replies that both rows scored, and by its
interval over contexts: replies to one context are resampled together. The difference on all sets is the mean of their
differences, with contexts resampled within each set. The verdict is that of results.py. Intervals are not adjusted for
the number of claims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rated_sets import Floats, RatedSet
from results import Finding

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
PAPER, RATED, UNRATED, EXTENDED, FIVE, EIGHT = (
    VARIANTS[0],
    Variant(None, True, False),
    Variant(None, False, False),
    Variant(None, False, True),
    Variant(5, False, False),
    Variant(8, False, True),
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding of the papers: the first row is above the second."""

    text: str
    higher: str
    lower: str
    items: tuple[str, ...] = ()  # rows of docs/papers.md that it measures
    published: float | None = None  # the same difference in the paper
    decides: bool = False  # whether it decides these rows


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim on one set: the difference of two Spearman correlations, and what its interval says."""

    claim: Claim
    set: str
    difference: float
    ci: tuple[float, float]
    contexts: int

    @property
    def text(self) -> str:
        """What the interval says, by the rule of results.py."""
        return self.finding("", "").verdict

    def finding(self, item: str, data: str, *, decides: bool = False) -> Finding:
        """What it says about a row of docs/papers.md."""
        defined = not np.isnan([self.difference, *self.ci]).any()
        return Finding(
            item=item,
            way=f"{self.claim.text}: {self.claim.higher} − {self.claim.lower}",
            value=self.difference if defined else None,
            ci=self.ci if defined else None,
            units=self.contexts,
            unit="contexts",
            data=data,
            published=self.claim.published,
            decides=decides,
        )


def verdicts(
    claim: Claim, sets: Mapping[str, RatedSet], scores: Mapping[str, Mapping[str, Floats]], resamples: int
) -> list[Verdict]:
    """The verdict on each set, and on the mean of their differences."""
    found = [_difference(claim, scores[name], own, resamples, seed) for seed, (name, own) in enumerate(sets.items())]
    differences, spreads, contexts = zip(*found, strict=True)
    mean = float(np.mean(differences)), np.mean(spreads, axis=0), sum(contexts)
    return [_verdict(claim, name, *each) for name, each in zip([*sets, MEAN], [*found, mean], strict=True)]


def _difference(
    claim: Claim, scores: Mapping[str, Floats], own: RatedSet, resamples: int, seed: int
) -> tuple[float, Floats, int]:
    """Difference of the correlations over the replies that both rows scored, in each resample, and the contexts."""
    places = complete_rows(scores[claim.higher], scores[claim.lower], own.human)
    higher, lower = (scores[row][places] for row in (claim.higher, claim.lower))
    human, cluster = own.human[places], context_numbers(own)[places]
    spread = resampled_spearman(higher, human, cluster, resamples, seed)
    spread = spread - resampled_spearman(lower, human, cluster, resamples, seed)
    return spearman(higher, human) - spearman(lower, human), spread, len(np.unique(cluster))


def context_numbers(own: RatedSet) -> NDArray[np.int64]:
    """The number of each item's context."""
    numbers: NDArray[np.int64] = np.unique(own.contexts(), return_inverse=True)[1]
    return numbers


def resampled_spearman(scores: Floats, human: Floats, cluster: NDArray[np.int64], resamples: int, seed: int) -> Floats:
    """The correlation in each resample of contexts: the same ones for every row of a set."""
    _, cluster = np.unique(cluster, return_inverse=True)
    found = resample_coefficients(scores, human, n_bootstrap=resamples, seed=seed, chosen=SPEARMAN, cluster=cluster)
    return found["spearman"]


def _verdict(claim: Claim, name: str, difference: float, spread: Floats, contexts: int) -> Verdict:
    return Verdict(claim, name, difference, percentile_interval(spread), contexts)


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
