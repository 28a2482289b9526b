"""Mean human rating of two versions of a system, and the difference, from labels and scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from interloq.meta.comparison import HumanMean, Which
from interloq.meta.few_labels import prediction_powered
from interloq.meta.versions import Matched, Version
from interloq.statistics.clustered import Clustered, difference


def human_means(old: Version, new: Version, units: Matched, metrics: Sequence[str]) -> Iterator[HumanMean]:
    """Mean human rating of each version and the difference: from labels alone, then with each metric's scores."""
    if not any(not math.isnan(unit.rating) for version in (old, new) for unit in version.units):
        return
    sides = ((old, units.old_clusters), (new, units.new_clusters))
    for metric in metrics:
        powered = [
            prediction_powered(
                np.array([unit.rating for unit in version.units]),
                np.array([unit.values.get(metric, math.nan) for unit in version.units]),
                clusters,
            )
            for version, clusters in sides
        ]
        scored = [sum(not math.isnan(unit.values.get(metric, math.nan)) for unit in v.units) for v, _ in sides]
        if metric == metrics[0]:
            alone = powered[0].labels_alone, powered[1].labels_alone
            yield from _human(alone, "", (alone[0].n, alone[1].n), (0, 0), (None, None))
        if powered[0].powered and powered[1].powered:
            labels = powered[0].labels_alone.n, powered[1].labels_alone.n
            both = powered[0].powered, powered[1].powered
            yield from _human(both, metric, labels, (scored[0], scored[1]), (powered[0].weight, powered[1].weight))


def _human(
    means: tuple[Clustered, Clustered],
    metric: str,
    labels: tuple[int, int],
    scored: tuple[int, int],
    weights: tuple[float | None, float | None],
) -> Iterator[HumanMean]:
    names: tuple[Which, Which] = "old", "new"
    for which, mean, n, known, weight in zip(names, means, labels, scored, weights, strict=True):
        if n:
            yield HumanMean(which, metric, mean.value, mean.ci, n, known, weight)
    if all(labels):
        gap = difference(means[1], means[0])
        yield HumanMean("difference", metric, gap.value, gap.ci, sum(labels), sum(scored), detectable=gap.detectable)
