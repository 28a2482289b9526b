# SPDX-License-Identifier: Apache-2.0
"""Compare two versions of a system: means, differences with intervals, tests, slices, and people's mean rating.

Intervals are t intervals over clusters, longer where values are skewed (`interloq.statistics.clustered`): dialogues if
units are replies in dialogues, otherwise the units. If units are paired, only pairs with both scores count, and the
test randomly swaps the two versions within each cluster; otherwise it randomly reassigns clusters to the versions. The
tests of all metrics over all units are one family, the tests of slices another: each has its own permutations and is
adjusted by Holm's method, so that looking at slices never changes the result for the whole set. No p-value is below the
one that the interval implies, so a difference whose interval contains 0 is never significant.

The mean human rating of each version and the difference come from labels alone, and from labels and scores by
prediction-powered inference (`interloq.statistics.prediction_powered`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from interloq.compare.compare_options import WORST
from interloq.compare.comparison import Change, Comparison, HumanMean, Which, Worse
from interloq.compare.comparison_notes import have_same_replies, note_exploratory, write_notes
from interloq.compare.match_versions import Matched, Unit, Version, cluster_neighbours, list_unscored, match_units
from interloq.compare.slices import Masks, slices, thirds_of
from interloq.errors import InputError
from interloq.metrics.metric import Array
from interloq.metrics.metric_names import about_sets, direction, direction_note, unknown_directions
from interloq.signature import Signature, fingerprint
from interloq.statistics.clustered import Clustered, cluster_mean, difference, pooled_skewness
from interloq.statistics.correlation import is_constant
from interloq.statistics.estimate import Estimate
from interloq.statistics.prediction_powered import Powered, are_selected, prediction_powered
from interloq.statistics.rounding import RELATIVE, typical_size
from interloq.statistics.significance import (
    adjust_p_values,
    draw_swaps,
    permutation_p,
    permutations_per_test,
    reassignments,
)

EVERYTHING = ""  # the name of the slice with all units
SIDES: tuple[Which, Which] = ("old", "new")


@dataclass(frozen=True, slots=True)
class _Column:
    """Scores of one metric in one slice, with their clusters; both sides are aligned if they are paired."""

    metric: str
    slice: str
    old: Array
    new: Array
    old_clusters: Sequence[str]
    new_clusters: Sequence[str]
    assumed: bool = False  # whether clusters are runs of neighbours

    def means(self) -> tuple[Clustered, Clustered]:
        return cluster_mean(self.old, self.old_clusters), cluster_mean(self.new, self.new_clusters)

    def gap(self) -> tuple[Clustered, float]:
        """Return new minus old, and the skewness of this estimate."""
        old, new = self.means()
        gap = difference(new, old)
        if set(old.influence).isdisjoint(new.influence):
            return gap, pooled_skewness(new, old)
        return gap, gap.skewness

    def constant(self) -> float | None:
        """Return the score that all units have; None if they differ."""
        if is_constant(np.concatenate([self.old, self.new])):
            return float(self.new[0])
        return None


def compare(
    old: Version,
    new: Version,
    *,
    slice_by: Sequence[str] | None = None,
    planned: bool | None = None,
    lower_is_better: bool | None = None,
    n_permutations: int | None = None,
    seed: int = 0,
    worst: int = WORST,
) -> Comparison:
    """Compare two versions by all metrics that both have.

    `slice_by` names the fields to slice by (default: topic, language, partner and length, if units have them; none if
    empty). Slices are exploratory unless they were `planned` (default: whether `slice_by` names them).
    `lower_is_better` is the direction of metrics that do not define one themselves.
    """
    if planned is None:
        planned = slice_by is not None
    metrics = _choose_metrics(old, new)
    units = match_units(old, new)
    by_metric: dict[str, Matched] = {}
    unscored: dict[str, dict[str, int]] = {}
    for metric in metrics:
        by_metric[metric] = cluster_neighbours(units, old, new, metric)
        unscored[metric] = {"old": len(list_unscored(old, metric)), "new": len(list_unscored(new, metric))}
    columns, slice_notes = _columns(old, new, by_metric, slice_by)
    tests = _test_families(columns, n_permutations, seed, paired=bool(units.pairs))
    changes = _changes(columns, tests, lower_is_better, planned=planned)
    alone = units.alone if units.pairs else (0, 0)
    return Comparison(
        old=old.name,
        new=new.name,
        unit=new.unit,
        pairing=units.pairing,
        changes=tuple(changes),
        people=tuple(human_means(old, new, cluster_neighbours(units, old, new), metrics)),
        worse=tuple(_worse(units.pairs, changes, worst)),
        unscored=unscored,
        notes=(
            *write_notes(old, new, units, by_metric),
            *map(direction_note, unknown_directions(metrics, lower_is_better)),
            *note_exploratory(changes),
            *slice_notes,
        ),
        signature=Signature.of(
            "compare",
            {
                "metrics": ",".join(metrics),
                "old": _fingerprint(old, metrics),
                "new": _fingerprint(new, metrics),
                "paired-by": units.pairing,
                "permutations": permutations_per_test(len(metrics), n_permutations),
                "seed": seed,
            },
        ),
        unpaired=dict(zip(("old", "new"), alone, strict=True)),
        same_replies=have_same_replies(units),
    )


def _choose_metrics(old: Version, new: Version) -> list[str]:
    """Return the metrics of single replies that scored both versions; refuse versions that share none."""
    both = [metric for metric in old.metrics if metric in new.metrics]
    comparable = [metric for metric in both if not about_sets(metric)]
    if comparable:
        return comparable
    hint = "score both with the same metrics"
    if both:
        what = f"both versions have scores of {', '.join(both)} only, which scores sets of replies, not single ones"
        raise InputError(what, hint=hint)
    known = f"{', '.join(old.metrics) or 'none'} and {', '.join(new.metrics) or 'none'}"
    raise InputError(f"no metric scored both versions: {known}", hint=hint)


# ---- scores by slice -------------------------------------------------------------------------------------------------


def _columns(
    old: Version, new: Version, by_metric: Mapping[str, Matched], slice_by: Sequence[str] | None
) -> tuple[list[_Column], list[str]]:
    """Return scores by metric and slice, and notes on slices; `by_metric` has the same pairs for all metrics."""
    thirds = thirds_of([*old.units, *new.units])
    pairs = next(iter(by_metric.values())).pairs
    if pairs:
        old_units, new_units = zip(*pairs, strict=True)
        old_masks, notes = slices(old_units, slice_by, thirds)
        new_masks = old_masks
    else:
        old_units, new_units = old.units, new.units
        old_masks, notes = slices(old_units, slice_by, thirds)
        new_masks, _ = slices(new_units, slice_by, thirds)
    names = [EVERYTHING, *(name for name in old_masks if name in new_masks)]
    columns = []
    for metric, units in by_metric.items():
        clusters = (units.old_clusters, units.new_clusters)
        if pairs:
            clusters = (units.pair_clusters, units.pair_clusters)
        for name in names:
            old_scores = _scores(old_units, metric, old_masks, name)
            new_scores = _scores(new_units, metric, new_masks, name)
            old_known, new_known = ~np.isnan(old_scores), ~np.isnan(new_scores)
            if pairs:  # both scores of a pair must be known
                old_known = new_known = old_known & new_known
            if old_known.any() and new_known.any():
                column = _Column(
                    metric,
                    name,
                    old_scores[old_known],
                    new_scores[new_known],
                    list(compress(clusters[0], old_known)),
                    list(compress(clusters[1], new_known)),
                    assumed=units.assumed,
                )
                columns.append(column)
    if not columns:
        raise InputError("no unit of both versions has a score", hint="see why: interloq score SAMPLES -m METRIC")
    return columns, notes


def _scores(units: Sequence[Unit], metric: str, masks: Masks, name: str) -> Array:
    """Return the scores of the units of a slice; NaN for all others."""
    values = np.array([unit.values.get(metric, math.nan) for unit in units])
    if name == EVERYTHING:
        return values
    return np.where(masks[name], values, np.nan)


# ---- tests -----------------------------------------------------------------------------------------------------------


def _test_families(
    columns: Sequence[_Column], n_permutations: int | None, seed: int, *, paired: bool
) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    """Return p-value and adjusted p-value of each metric and slice; whole sets are one family, slices another."""
    whole_sets = [column for column in columns if not column.slice]
    sliced = [column for column in columns if column.slice]
    p_values_of: dict[tuple[str, str], tuple[float | None, float | None]] = {}
    for family in (whole_sets, sliced):
        if not family:
            continue
        p_values = _test_family(family, permutations_per_test(len(family), n_permutations), seed, paired=paired)
        for column, p, p_adjusted in zip(family, p_values, adjust_p_values(p_values), strict=True):
            p_values_of[column.metric, column.slice] = p, p_adjusted
    return p_values_of


def _test_family(columns: Sequence[_Column], n_permutations: int, seed: int, *, paired: bool) -> list[float | None]:
    """Return the p-value of each column; None if there are no permutations or fewer than three clusters."""
    if not n_permutations:
        return [None] * len(columns)
    permute = _swap if paired else _reassign
    differences = np.concatenate(list(permute(columns, n_permutations, seed)))
    p_values: list[float | None] = []
    for column, drawn_differences in zip(columns, differences.T, strict=True):
        p = permutation_p(drawn_differences, size=typical_size(column.old, column.new))
        if p is None or len({*column.old_clusters, *column.new_clusters}) < 3:
            p_values.append(None)
        else:
            p_values.append(_at_least(p, column))
    return p_values


def _at_least(p: float, column: _Column) -> float:
    """Return the larger of the p-value and the interval's: an interval that contains 0 is never significant."""
    gap, skewness = column.gap()
    if not gap.error > RELATIVE * typical_size(column.old, column.new):  # nothing varies, so the interval shows nothing
        return p
    return max(p, gap.skewed_p(skewness))


def _swap(columns: Sequence[_Column], n_permutations: int, seed: int) -> Iterator[Array]:
    """Yield differences of all columns, one row per permutation, with the versions swapped in random clusters."""
    place = _number_clusters(columns)
    sums = np.stack([_sums(c.new - c.old, c.new_clusters, place) for c in columns], axis=1)
    sizes = np.array([len(c.new) for c in columns])
    for swapped in draw_swaps(len(place), n_permutations, seed):
        yield np.asarray((1 - 2 * swapped) @ sums / sizes)


def _reassign(columns: Sequence[_Column], n_permutations: int, seed: int) -> Iterator[Array]:
    """Yield differences of all columns, one row per permutation, with clusters reassigned to the versions."""
    place = _number_clusters(columns)
    old: set[str] = set()
    sums, sizes = np.zeros((len(place), len(columns))), np.zeros((len(place), len(columns)))
    for i, column in enumerate(columns):
        old.update(column.old_clusters)
        for values, clusters in ((column.old, column.old_clusters), (column.new, column.new_clusters)):
            sums[:, i] += _sums(values, clusters, place)
            sizes[:, i] += _sums(np.ones(len(values)), clusters, place)
    for first in reassignments(len(place), len(old), n_permutations, seed):
        with np.errstate(invalid="ignore", divide="ignore"):
            yield np.asarray((1 - first) @ sums / ((1 - first) @ sizes) - first @ sums / (first @ sizes))


def _number_clusters(columns: Sequence[_Column]) -> dict[str, int]:
    """Number the clusters, starting with the old version."""
    old: set[str] = set()
    new: set[str] = set()
    for column in columns:
        old.update(column.old_clusters)
        new.update(column.new_clusters)
    names = dict.fromkeys([*sorted(old), *sorted(new)])
    return dict(zip(names, range(len(names)), strict=True))


def _sums(values: Array, clusters: Sequence[str], place: dict[str, int]) -> NDArray[np.float64]:
    where = np.array([place[cluster] for cluster in clusters], dtype=np.intp)
    return np.asarray(np.bincount(where, values, len(place)), dtype=np.float64)


# ---- results ---------------------------------------------------------------------------------------------------------


def _changes(
    columns: Sequence[_Column],
    tests: Mapping[tuple[str, str], tuple[float | None, float | None]],
    lower_is_better: bool | None,
    *,
    planned: bool,
) -> list[Change]:
    changes = []
    for column in columns:
        p, p_adjusted = tests[column.metric, column.slice]
        old, new = column.means()
        gap, skewness = column.gap()
        change = Change(
            metric=column.metric,
            direction=direction(column.metric, lower_is_better),
            slice=column.slice,
            old=Estimate(old.value, old.n, old.ci),
            new=Estimate(new.value, new.n, new.ci),
            difference=gap.value,
            ci=gap.skewed_ci(skewness),
            p=p,
            p_adjusted=p_adjusted,
            detectable=gap.detectable,
            clusters=len(gap.influence),
            error=gap.error,
            freedom=gap.freedom,
            constant=column.constant(),
            exploratory=bool(column.slice) and not planned,
            assumed=column.assumed,
        )
        changes.append(change)
    return changes


def _worse(pairs: Sequence[tuple[Unit, Unit]], changes: Sequence[Change], worst: int) -> Iterator[Worse]:
    """Yield pairs with the largest losses by the first metric that has a direction, the largest first."""
    directed = [change for change in changes if change.direction != "neither"]
    if not directed:
        return
    metric, lower = directed[0].metric, directed[0].direction == "lower"
    losses = []
    for old, new in pairs:
        gain = new.values.get(metric, math.nan) - old.values.get(metric, math.nan)
        if lower:
            gain = -gain
        if gain < 0:
            losses.append((gain, new.id, old, new))
    losses.sort(key=lambda loss: loss[:2])
    for _, _, old, new in losses[:worst]:
        yield Worse(new.id, metric, old.values[metric], new.values[metric], new.prompt, old.text, new.text)


def _fingerprint(version: Version, metrics: Sequence[str]) -> str:
    """Return a fingerprint of all that a comparison depends on, including dialogues, which intervals are over."""
    units = []
    for unit in version.units:
        values = [unit.values.get(metric, math.nan) for metric in metrics]
        parts = [unit.id, repr(values), repr(unit.rating)]
        if unit.dialogue:
            parts.append(unit.dialogue)
        units.append("\0".join(parts))
    return fingerprint(*sorted(units))


# ---- people's mean rating --------------------------------------------------------------------------------------------


def human_means(old: Version, new: Version, units: Matched, metrics: Sequence[str]) -> Iterator[HumanMean]:
    """Yield the mean rating of each version and the difference: by labels alone, then with the scores of metrics."""
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
    """Yield estimates that use scores; in the difference, a fully rated version counts by its labels alone."""
    old, new = both
    labels = (old.labels_alone.n, new.labels_alone.n)
    for which, estimate, rated, n in zip(SIDES, both, labels, scored, strict=True):
        if estimate.powered:
            yield HumanMean(which, metric, estimate.powered.value, estimate.powered.ci, rated, n, estimate.weight)
    if all(labels) and (old.powered or new.powered):
        gap = difference(new.powered or new.labels_alone, old.powered or old.labels_alone)
        yield _difference(metric, gap, labels, scored)


def _difference(metric: str, gap: Clustered, labels: Sequence[int], scored: Sequence[int]) -> HumanMean:
    mean = HumanMean("difference", metric, gap.value, gap.ci, sum(labels), sum(scored))
    return replace(mean, detectable=gap.detectable, error=gap.error, freedom=gap.freedom)
