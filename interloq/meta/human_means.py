# SPDX-License-Identifier: Apache-2.0
"""Mean human rating of two versions of a system, and the difference, from labels and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from interloq.meta.comparison import HumanMean, Which
from interloq.meta.few_labels import Powered, are_selected, prediction_powered
from interloq.meta.versions import Matched, Version
from interloq.statistics.clustered import Clustered, difference

SIDES: tuple[Which, Which] = ("old", "new")


def human_means(old: Version, new: Version, units: Matched, metrics: Sequence[str]) -> Iterator[HumanMean]:
    """Mean human rating of each version and the difference: from labels alone, then with each metric's scores."""
    sides = ((old, units.old_clusters), (new, units.new_clusters))
    found = {metric: [_powered(version, metric, clusters) for version, clusters in sides] for metric in metrics}
    yield from _labels_alone(found[metrics[0]])
    for metric, both in found.items():
        scored = [int((~np.isnan(version.scores(metric))).sum()) for version, _ in sides]
        selected = any(are_selected(version.ratings(), version.scores(metric)) for version, _ in sides)
        yield from (
            replace(mean, selected=selected and mean.which == "difference")
            for mean in _with_scores(metric, both, scored)
        )


def _powered(version: Version, metric: str, clusters: Sequence[str]) -> Powered:
    return prediction_powered(version.ratings(), version.scores(metric), clusters)


def _labels_alone(both: Sequence[Powered]) -> Iterator[HumanMean]:
    means = [one.labels_alone for one in both]
    for which, mean in zip(SIDES, means, strict=True):
        if mean.n:
            yield HumanMean(which, "", mean.value, mean.ci, mean.n, 0)
    if all(mean.n for mean in means):
        yield _difference("", difference(means[1], means[0]), (means[0].n, means[1].n), (0, 0))


def _with_scores(metric: str, both: Sequence[Powered], scored: Sequence[int]) -> Iterator[HumanMean]:
    """Estimates that use scores; in the difference, a version of which all units are rated counts by its labels."""
    labels = [one.labels_alone.n for one in both]
    for which, one, rated, n in zip(SIDES, both, labels, scored, strict=True):
        if one.powered:
            yield HumanMean(which, metric, one.powered.value, one.powered.ci, rated, n, one.weight)
    if all(labels) and any(one.powered for one in both):
        means = [one.powered or one.labels_alone for one in both]
        yield _difference(metric, difference(means[1], means[0]), labels, scored)


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
