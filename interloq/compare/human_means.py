# SPDX-License-Identifier: Apache-2.0
"""Mean human rating of two versions of a system, and the difference, from labels and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from interloq.compare.comparison import HumanMean, Which
from interloq.compare.versions import Matched, Version
from interloq.statistics.clustered import Clustered, difference
from interloq.statistics.prediction_powered import Powered, are_selected, prediction_powered

SIDES: tuple[Which, Which] = ("old", "new")


def human_means(old: Version, new: Version, units: Matched, metrics: Sequence[str]) -> Iterator[HumanMean]:
    """Yield mean human rating of each version and the difference: from labels alone, then with each metric's scores."""
    for i, metric in enumerate(metrics):
        both, scored, selected = [], [], False
        for version, clusters in ((old, units.old_clusters), (new, units.new_clusters)):
            ratings, scores = version.ratings(), version.scores(metric)
            both.append(prediction_powered(ratings, scores, clusters))
            scored.append(int((~np.isnan(scores)).sum()))
            selected = selected or are_selected(ratings, scores)
        if i == 0:
            yield from _labels_alone(both)
        for mean in _with_scores(metric, both, scored):
            yield replace(mean, selected=selected and mean.which == "difference")


def _labels_alone(both: Sequence[Powered]) -> Iterator[HumanMean]:
    old, new = both[0].labels_alone, both[1].labels_alone
    for which, mean in zip(SIDES, (old, new), strict=True):
        if mean.n:
            yield HumanMean(which, "", mean.value, mean.ci, mean.n, 0)
    if old.n and new.n:
        yield _difference("", difference(new, old), (old.n, new.n), (0, 0))


def _with_scores(metric: str, both: Sequence[Powered], scored: Sequence[int]) -> Iterator[HumanMean]:
    """Yield estimates that use scores; in the difference, a version with all units rated counts by its labels."""
    old, new = both
    labels = (old.labels_alone.n, new.labels_alone.n)
    for which, estimate, rated, n in zip(SIDES, both, labels, scored, strict=True):
        if estimate.powered:
            yield HumanMean(which, metric, estimate.powered.value, estimate.powered.ci, rated, n, estimate.weight)
    if all(labels) and (old.powered or new.powered):
        gap = difference(new.powered or new.labels_alone, old.powered or old.labels_alone)
        yield _difference(metric, gap, labels, scored)


def _difference(metric: str, gap: Clustered, labels: Sequence[int], scored: Sequence[int]) -> HumanMean:
    return HumanMean(
        "difference",
        metric,
        gap.value,
        gap.ci,
        sum(labels),
        sum(scored),
        detectable=gap.detectable,
        error=gap.error,
        freedom=gap.freedom,
    )
