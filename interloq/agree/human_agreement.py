# SPDX-License-Identifier: Apache-2.0
"""How well people agree with each other: the standard to compare metrics with.

Pairs of annotators over the samples both judged; each annotator against the mean of the others; one random half of the
judgments against the other half, averaged over many splits; and Krippendorff's α.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.sparse import coo_array

from interloq.agree.judgments import Judgments, means
from interloq.agree.levels import Level
from interloq.agree.table import HumanRow, Spread
from interloq.errors import count
from interloq.metrics.metric import Array
from interloq.statistics.alpha import alphas
from interloq.statistics.estimate import Estimate

SPLITS = 100
LINEAR = ("pearson", "spearman")  # coefficients that Spearman–Brown applies to


def agreement(judgments: Judgments, level: Level, *, n_bootstrap: int, seed: int) -> HumanRow | None:
    """Return the human row, or None if no sample was judged twice."""
    if judgments.sizes().max() < 2:
        return None
    interval, ordinal = alphas(judgments.value, judgments.sample, n_bootstrap=n_bootstrap, seed=seed)
    halves = split_half(judgments, level, seed=seed)
    annotators = range(len(judgments.annotators))
    with_others = [level.values(judgments.of(i), judgments.without(i)) for i in annotators]
    return HumanRow(
        pairwise=spread(level.values(*pair) for pair in _pairs(judgments)),
        with_others=spread(with_others),
        split_half=halves,
        alpha=interval,
        alpha_ordinal=ordinal,
        ceiling={name: ceiling(halves[name]) for name, kind in level.coefficients.items() if kind in LINEAR},
    )


def ceiling(halves: Estimate) -> Estimate:
    """Return √reliability of the mean judgment: what a metric without any error of its own is expected to reach.

    The reliability is Spearman–Brown's, 2r / (1 + r) from the correlation r of the halves.
    """
    if not halves.value > 0:
        return Estimate(float("nan"), halves.n, note="the halves of the judgments do not agree")
    return Estimate(float(np.sqrt(2 * halves.value / (1 + halves.value))), halves.n)


def spread(coefficients: Iterable[dict[str, float]]) -> dict[str, Spread]:
    """Return best, worst and mean of each coefficient over annotators; coefficients without any value are omitted."""
    rows = list(coefficients)
    spreads = {}
    for name in rows[0] if rows else ():
        values = np.array([row[name] for row in rows if not np.isnan(row[name])])
        if len(values):
            spreads[name] = Spread(float(values.max()), float(values.min()), float(values.mean()), len(values))
    return spreads


def _pairs(judgments: Judgments) -> Iterator[tuple[Array, Array]]:
    """Yield judgments of each pair of annotators who have at least three samples in common."""
    named = judgments.annotator >= 0
    where = judgments.annotator[named], judgments.sample[named]
    shape = len(judgments.annotators), len(judgments.keys)
    judged = coo_array((np.ones(len(where[0])), where), shape=shape).tocsr()
    common = (judged @ judged.T).tocoo()
    for i, j, n in sorted(zip(common.row.tolist(), common.col.tolist(), common.data.tolist(), strict=True)):
        if i < j and n > 2:
            yield judgments.of(i), judgments.of(j)


def split_half(judgments: Judgments, level: Level, *, seed: int) -> dict[str, Estimate]:
    """Return the mean over random splits; for Pearson, the note adds the Spearman–Brown reliability."""
    splits = list(_halves(judgments, seed))
    rows, size = [level.values(*halves) for halves in splits], level.size(*splits[0])
    result = {}
    for name, coefficient in level.coefficients.items():
        values = np.array([row[name] for row in rows if not np.isnan(row[name])])
        if not len(values):
            result[name] = Estimate(float("nan"), size, note="halves are constant or too small")
            continue
        mean = float(values.mean())
        note = f"mean of {count(len(values), 'random split')} of {_split_unit(judgments)}"
        if coefficient == "pearson" and mean > 0:
            note += f"; reliability of all judgments (Spearman–Brown): {2 * mean / (1 + mean):.3f}"
        result[name] = Estimate(mean, size, note=note)
    return result


def _halves(judgments: Judgments, seed: int) -> Iterator[tuple[Array, Array]]:
    """Yield mean judgments of the two halves, the smaller half first; NaN for samples with a single judgment."""
    rng = np.random.default_rng(seed)
    sizes, n = judgments.sizes(), len(judgments.keys)
    place = np.arange(len(judgments.sample)) - (np.cumsum(sizes) - sizes)[judgments.sample]
    first = place < (sizes // 2)[judgments.sample]
    people = _split_unit(judgments) == "annotators"
    for _ in range(SPLITS):
        key = rng.random(len(judgments.annotators))[judgments.annotator] if people else rng.random(len(first))
        order = np.lexsort((key, judgments.sample))  # judgments stay with their sample, in random order
        sample, value = judgments.sample, judgments.value[order]
        yield means(sample[first], value[first], n), means(sample[~first], value[~first], n)


def _split_unit(judgments: Judgments) -> str:
    """Return what is split: the annotators if all judged all samples, otherwise the judgments of each sample."""
    is_complete = len(judgments.value) == len(judgments.annotators) * judgments.counted.rated
    if is_complete and (judgments.annotator >= 0).all():
        return "annotators"
    return "each sample's judgments"
