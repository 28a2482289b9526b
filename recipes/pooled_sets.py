"""Agreement with people over several rated sets at once, with intervals from resampled contexts.

A coefficient is computed within each set and averaged over the sets, so that sets with different scales and difficulty
count alike. Replies to one context are never separated: whole contexts are drawn within each set, the same ones for
every row. Differences are paired: rows are compared on the replies that all of them scored.

The highest and the lowest coefficient with a single annotator exist only where ratings name their annotators (USR).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rated_sets import Floats, RatedSet
from results import Cell, Finding, Interval, Places, interval_by_unit

from interloq.statistics.correlation import by_rows, resample_coefficients
from interloq.statistics.resampling import percentile_interval

SPEARMAN, PEARSON = "spearman", "pearson"
FEWEST = 20  # ratings by an annotator in a set; fewer give no coefficient
Ends = Callable[[Sequence[float]], float]  # max or min


@dataclass(frozen=True, slots=True)
class PooledReplies:
    """Replies of all sets in a row: the set and context of each, the mean rating, and the rating by each annotator."""

    sets: tuple[str, ...]
    set_of: NDArray[np.int64]
    contexts: NDArray[np.str_]
    human: Floats
    annotators: tuple[tuple[int, str], ...]  # set and name
    by_annotator: Floats  # one row per annotator; NaN if not rated

    def __len__(self) -> int:
        return len(self.human)

    def count_contexts(self, places: Places) -> int:
        """Return how many contexts these replies answer."""
        return len(np.unique(self.contexts[places]))


def pool_replies(sets: Mapping[str, RatedSet]) -> PooledReplies:
    """Return the replies of all sets, in their order."""
    samples = [sample for own in sets.values() for sample in own.samples]
    set_of = np.repeat(np.arange(len(sets)), [len(own.samples) for own in sets.values()])
    human = np.concatenate([own.human for own in sets.values()])
    contexts = np.array([f"{name}: {context}" for name, own in sets.items() for context in own.contexts()])
    ratings: dict[tuple[int, str], Floats] = {}
    for place, sample in enumerate(samples):
        for rating in sample.ratings:
            if rating.aspect == "overall" and rating.rater and rating.value is not None:
                row = ratings.setdefault((int(set_of[place]), rating.rater), np.full(len(samples), np.nan))
                row[place] = rating.value
    by_annotator = np.array(list(ratings.values())).reshape(len(ratings), len(samples))
    return PooledReplies(tuple(sets), set_of, contexts, human, tuple(ratings), by_annotator)


def correlate(scores: Floats, ratings: Floats, coefficient: str) -> float:
    """Return the coefficient of two vectors; NaN if one is constant."""
    return float(by_rows(coefficient, scores[None], ratings[None])[0])


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient, and its value in each resample of contexts."""

    value: float
    resampled: Floats

    @property
    def interval(self) -> Interval:
        """The 95 % interval."""
        return percentile_interval(self.resampled)


def mean_agreement(
    replies: PooledReplies, scores: Floats, coefficient: str, places: Places, resamples: int
) -> Agreement:
    """Return the coefficient with the mean judgment in each set, averaged over the sets."""
    values: list[float] = []
    resampled: list[Floats] = []
    for number in np.unique(replies.set_of[places]):
        own = places[replies.set_of[places] == number]
        values.append(correlate(scores[own], replies.human[own], coefficient))
        _, cluster = np.unique(replies.contexts[own], return_inverse=True)
        drawn = resample_coefficients(
            scores[own],
            replies.human[own],
            n_bootstrap=resamples,
            seed=int(number),
            chosen={coefficient: coefficient},
            cluster=cluster,
        )
        resampled.append(drawn[coefficient])
    return Agreement(float(np.mean(values)), np.mean(resampled, axis=0))


def annotator_agreement(replies: PooledReplies, scores: Floats, coefficient: str, end: Ends, places: Places) -> float:
    """Return the highest or lowest coefficient with an annotator of each set, averaged over the sets that name them."""
    by_set: dict[int, list[float]] = {}
    for (number, _), ratings in zip(replies.annotators, replies.by_annotator, strict=True):
        rated = places[np.isfinite(ratings[places])]
        if len(rated) >= FEWEST:
            by_set.setdefault(number, []).append(correlate(scores[rated], ratings[rated], coefficient))
    return float(np.mean([end(values) for values in by_set.values()])) if by_set else float("nan")


def human_agreement(replies: PooledReplies, coefficient: str, end: Ends) -> float:
    """Return the highest or lowest coefficient of two annotators of a set, averaged over the sets that name them."""
    by_set: dict[int, list[float]] = {}
    for i, (number, _) in enumerate(replies.annotators):
        for j, (other, _) in enumerate(replies.annotators[:i]):
            both = np.flatnonzero(np.isfinite(replies.by_annotator[i]) & np.isfinite(replies.by_annotator[j]))
            if number == other and len(both) >= FEWEST:
                first, second = replies.by_annotator[i, both], replies.by_annotator[j, both]
                by_set.setdefault(number, []).append(correlate(first, second, coefficient))
    return float(np.mean([end(values) for values in by_set.values()])) if by_set else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A claim that one row agrees with people better than another, or than the best of several others."""

    item: str
    way: str
    higher: str
    lower: tuple[str, ...]
    coefficient: str = SPEARMAN
    end: Ends | None = None  # max or min: compare the highest or lowest coefficient with an annotator
    published: float | None = None
    threshold: float = 0.0
    decides: bool = False
    note: str = ""


def measure(
    claim: Difference, replies: PooledReplies, rows: Mapping[str, Floats], data: str, resamples: int
) -> Finding:
    """Return the finding on a claim: the paired difference, over the replies that all its rows scored."""
    compared = [rows[name] for name in (claim.higher, *claim.lower)]
    usable = np.isfinite(compared).all(axis=0)
    if claim.end is None:
        kept = np.flatnonzero(usable)
        value, ci = _difference_of_means(claim, replies, compared, kept, resamples)
    else:
        data = ", ".join(dict.fromkeys(replies.sets[number] for number, _ in replies.annotators))
        kept = np.flatnonzero(usable & np.isfinite(replies.by_annotator).any(axis=0))
        value, ci = _difference_of_ends(claim, claim.end, replies, compared, kept, resamples)
    is_defined = bool(np.isfinite([value, *ci]).all())  # not if a row or an annotator is constant
    return Finding(
        item=claim.item,
        way=claim.way,
        value=value if is_defined else None,
        ci=ci if is_defined else None,
        units=replies.count_contexts(kept),
        unit="contexts",
        data=data,
        published=claim.published,
        threshold=claim.threshold,
        decides=claim.decides,
        note=claim.note,
    )


def _difference_of_means(
    claim: Difference, replies: PooledReplies, compared: Sequence[Floats], kept: Places, resamples: int
) -> tuple[float, Interval]:
    found = [mean_agreement(replies, scores, claim.coefficient, kept, resamples) for scores in compared]
    highest = np.max([agreement.resampled for agreement in found[1:]], axis=0)
    value = found[0].value - max(agreement.value for agreement in found[1:])
    return value, percentile_interval(found[0].resampled - highest)


def _difference_of_ends(
    claim: Difference, end: Ends, replies: PooledReplies, compared: Sequence[Floats], kept: Places, resamples: int
) -> tuple[float, Interval]:
    def difference(drawn: Places) -> float:
        found = [annotator_agreement(replies, scores, claim.coefficient, end, kept[drawn]) for scores in compared]
        return found[0] - max(found[1:])

    value, ci, _ = interval_by_unit(replies.contexts[kept].tolist(), difference, resamples=resamples)
    return value, ci


def agreement_with_interval(
    replies: PooledReplies, scores: Floats, coefficient: str, resamples: int
) -> tuple[float, Interval]:
    """Return the mean agreement of one row over the replies that it scored, with its interval."""
    found = mean_agreement(replies, scores, coefficient, np.flatnonzero(np.isfinite(scores)), resamples)
    return found.value, found.interval


def agreement_cell(
    replies: PooledReplies, scores: Floats, coefficient: str, published: float | None, resamples: int
) -> Cell:
    """Return the mean agreement of one row next to a published figure."""
    value, ci = agreement_with_interval(replies, scores, coefficient, resamples)
    return make_cell(published, value, ci)


def make_cell(published: float | None, ours: float, ci: Interval | None = None) -> Cell:
    """Return a cell of a published table; without our figure if it is undefined."""
    if not np.isfinite([ours, *(ci or ())]).all():
        return Cell(published=published)
    return Cell(published=published, ours=ours, ci=ci)
