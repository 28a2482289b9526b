# SPDX-License-Identifier: Apache-2.0
"""Compare two versions of a system: means, differences with intervals, tests, slices, and people's mean rating.

Intervals are t intervals over clusters, longer where values are skewed (`interloq.statistics.clustered`): dialogues if
units are replies in dialogues, otherwise the units. If units are paired, only pairs with both scores count, and the
test randomly swaps the two versions within each cluster; otherwise it randomly reassigns clusters to the versions. The
tests of all metrics over all units are one family, those of slices another: each has its own permutations and is
adjusted by Holm's method, so that looking at slices never changes what is said of the whole. No p-value is below that
of the interval, so that no difference is shown whose interval contains 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.meta.compare_options import WORST
from interloq.meta.comparison import Change, Comparison, Worse
from interloq.meta.comparison_notes import notes, same_replies
from interloq.meta.human_means import human_means
from interloq.meta.neighbours import with_neighbours
from interloq.meta.significance import adjusted, permutation_p, permutations_per_test, reassignments, swapped_units
from interloq.meta.slices import Masks, slices, thirds_of
from interloq.meta.table import Estimate
from interloq.meta.versions import Matched, Unit, Version, matched, unscored
from interloq.metrics.metric import Array
from interloq.metrics.metric_names import about_sets, direction, direction_note, unknown_directions
from interloq.signature import Signature, fingerprint
from interloq.statistics.clustered import Clustered, cluster_mean, difference, pooled_skewness
from interloq.statistics.correlation import constant
from interloq.statistics.rounding import RELATIVE, typical_size

EVERYTHING = ""  # the name of the slice with all units


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
        """New minus old, and the skewness of this estimate."""
        old, new = self.means()
        gap = difference(new, old)
        shared = not set(old.influence).isdisjoint(new.influence)
        return gap, gap.skewness if shared else pooled_skewness(new, old)

    def constant(self) -> float | None:
        """The score that all units have; None if they differ."""
        return float(self.new[0]) if constant(np.concatenate([self.old, self.new])) else None


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
    metrics = _metrics(old, new)
    units = matched(old, new)
    by_metric = {metric: with_neighbours(units, old, new, metric) for metric in metrics}
    columns, slice_notes = _columns(old, new, by_metric, slice_by)
    tests = _tested(columns, n_permutations, seed, paired=bool(units.pairs))
    changes = _changes(columns, tests, lower_is_better, planned=slice_by is not None if planned is None else planned)
    leading = next((c for c in changes if c.direction != "neither"), None)
    return Comparison(
        old=old.name,
        new=new.name,
        unit=new.unit,
        pairing=units.pairing,
        changes=tuple(changes),
        people=tuple(human_means(old, new, with_neighbours(units, old, new), metrics)),
        worse=tuple(_worse(units.pairs, leading, worst)) if leading else (),
        unscored={m: {"old": len(list(unscored(old, m))), "new": len(list(unscored(new, m)))} for m in metrics},
        notes=(
            *notes(old, new, units, by_metric),
            *map(direction_note, unknown_directions(metrics, lower_is_better)),
            *_exploratory_note(changes),
            *slice_notes,
        ),
        signature=_signature((old, new), metrics, units, permutations_per_test(len(metrics), n_permutations), seed),
        unpaired=dict(zip(("old", "new"), units.alone if units.pairs else (0, 0), strict=True)),
        same_replies=same_replies(units),
    )


def _metrics(old: Version, new: Version) -> list[str]:
    both = [metric for metric in old.metrics if metric in new.metrics]
    found = [metric for metric in both if not about_sets(metric)]
    if not found:
        what = f"both versions have scores of {', '.join(both)} only, which scores sets of replies, not single ones"
        known = f"{', '.join(old.metrics) or 'none'} and {', '.join(new.metrics) or 'none'}"
        raise InputError(
            what if both else f"no metric scored both versions: {known}", hint="score both with the same metrics"
        )
    return found


# ---- scores by slice -------------------------------------------------------------------------------------------------


def _columns(
    old: Version, new: Version, by_metric: Mapping[str, Matched], slice_by: Sequence[str] | None
) -> tuple[list[_Column], list[str]]:
    """Scores by metric and slice; `by_metric` has the same pairs for all metrics, in clusters of their own."""
    thirds = thirds_of([*old.units, *new.units])
    pairs = next(iter(by_metric.values())).pairs
    first, second = zip(*pairs, strict=True) if pairs else (old.units, new.units)
    masks, notes = slices(first, slice_by, thirds)
    others = masks if pairs else slices(second, slice_by, thirds)[0]
    shared = [EVERYTHING, *(name for name in masks if name in others)]
    columns = []
    for metric, units in by_metric.items():
        clusters = (units.pair_clusters,) * 2 if pairs else (units.old_clusters, units.new_clusters)
        for name in shared:
            sides = _values(first, metric, masks, name), _values(second, metric, others, name)
            column = replace(_column(metric, name, sides, clusters, paired=bool(pairs)), assumed=units.assumed)
            if len(column.old) and len(column.new):
                columns.append(column)
    if not columns:
        raise InputError("no unit of both versions has a score", hint="see why: interloq score SAMPLES -m METRIC")
    return columns, notes


def _values(units: Sequence[Unit], metric: str, masks: Masks, name: str) -> Array:
    """Scores of the units of a slice; NaN for all others."""
    values = np.array([unit.values.get(metric, math.nan) for unit in units])
    return values if name == EVERYTHING else np.where(masks[name], values, np.nan)


def _column(
    metric: str, name: str, sides: tuple[Array, Array], clusters: tuple[Sequence[str], Sequence[str]], *, paired: bool
) -> _Column:
    known = [~np.isnan(values) for values in sides]
    if paired:
        known = [known[0] & known[1]] * 2
    kept = [[cluster for cluster, k in zip(c, own, strict=True) if k] for c, own in zip(clusters, known, strict=True)]
    return _Column(metric, name, sides[0][known[0]], sides[1][known[1]], kept[0], kept[1])


# ---- tests -----------------------------------------------------------------------------------------------------------


def _tested(
    columns: Sequence[_Column], n_permutations: int | None, seed: int, *, paired: bool
) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    """p-value and adjusted p-value of each metric and slice; whole sets are one family, slices another."""
    whole, sliced = ([column for column in columns if bool(column.slice) == kind] for kind in (False, True))
    found = {}
    for family in filter(None, (whole, sliced)):
        p_values = _tests(family, permutations_per_test(len(family), n_permutations), seed, paired=paired)
        for column, p, p_adjusted in zip(family, p_values, adjusted(p_values), strict=True):
            found[column.metric, column.slice] = p, p_adjusted
    return found


def _tests(columns: Sequence[_Column], n_permutations: int, seed: int, *, paired: bool) -> list[float | None]:
    """p-value of each column; None if there are no permutations or fewer than three clusters."""
    if not n_permutations:
        return [None] * len(columns)
    drawn = _swapped if paired else _reassigned
    differences = np.concatenate(list(drawn(columns, n_permutations, seed)))
    found = []
    for column, drawn_differences in zip(columns, differences.T, strict=True):
        p = permutation_p(drawn_differences, size=typical_size(column.old, column.new))
        if len({*column.old_clusters, *column.new_clusters}) < 3:
            p = None
        found.append(p if p is None else _at_least(p, column))
    return found


def _at_least(p: float, column: _Column) -> float:
    """The p-value, or that of the interval if it is larger: no difference is shown whose interval contains 0."""
    gap, skewness = column.gap()
    if not gap.error > RELATIVE * typical_size(column.old, column.new):  # nothing varies, so the interval shows nothing
        return p
    return max(p, gap.skewed_p(skewness))


def _swapped(columns: Sequence[_Column], n_permutations: int, seed: int) -> Iterator[Array]:
    """Differences of all columns, one row per permutation, with the versions swapped in random clusters."""
    place = _places(columns)
    sums = np.stack([_sums(c.new - c.old, c.new_clusters, place) for c in columns], axis=1)
    sizes = np.array([len(c.new) for c in columns])
    for swapped in swapped_units(len(place), n_permutations, seed):
        yield np.asarray((1 - 2 * swapped) @ sums / sizes)


def _reassigned(columns: Sequence[_Column], n_permutations: int, seed: int) -> Iterator[Array]:
    """Differences of all columns, one row per permutation, with clusters reassigned to the versions."""
    place = _places(columns)
    old = {cluster for c in columns for cluster in c.old_clusters}
    sums, sizes = np.zeros((len(place), len(columns))), np.zeros((len(place), len(columns)))
    for i, c in enumerate(columns):
        for values, clusters in ((c.old, c.old_clusters), (c.new, c.new_clusters)):
            sums[:, i] += _sums(values, clusters, place)
            sizes[:, i] += _sums(np.ones(len(values)), clusters, place)
    for first in reassignments(len(place), len(old), n_permutations, seed):
        with np.errstate(invalid="ignore", divide="ignore"):
            yield np.asarray((1 - first) @ sums / ((1 - first) @ sizes) - first @ sums / (first @ sizes))


def _places(columns: Sequence[_Column]) -> dict[str, int]:
    """Number of each cluster, those of the old version first."""
    old = sorted({cluster for c in columns for cluster in c.old_clusters})
    new = sorted({cluster for c in columns for cluster in c.new_clusters})
    return {cluster: i for i, cluster in enumerate(dict.fromkeys([*old, *new]))}


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
    found = []
    for column in columns:
        p, p_adjusted = tests[column.metric, column.slice]
        old, new = column.means()
        gap, skewness = column.gap()
        found.append(
            Change(
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
        )
    return found


def _exploratory_note(changes: Sequence[Change]) -> list[str]:
    if not any(change.exploratory for change in changes):
        return []
    what = "slices were not named in advance, so what they show is exploratory: confirm it on new data"
    return [f"{what}, or name fields with --slice before you look"]


def _worse(pairs: Sequence[tuple[Unit, Unit]], change: Change, worst: int) -> Iterator[Worse]:
    """Pairs with the largest losses by one metric, the largest first."""
    sign, metric = 1 if change.direction == "higher" else -1, change.metric
    lost = [(sign * (new.values.get(metric, math.nan) - old.values.get(metric, math.nan)), old, new)
            for old, new in pairs]  # fmt: skip
    for _, old, new in sorted((found for found in lost if found[0] < 0), key=lambda f: (f[0], f[2].id))[:worst]:
        yield Worse(new.id, metric, old.values[metric], new.values[metric], new.prompt, old.text, new.text)


def _describe_unit(unit: Unit, metrics: Sequence[str]) -> str:
    """Return what of a unit decides a comparison; its dialogue does, because intervals are of dialogues."""
    values = [unit.values.get(metric, math.nan) for metric in metrics]
    return "\0".join([unit.id, repr(values), repr(unit.rating), *([unit.dialogue] if unit.dialogue else [])])


def _signature(
    versions: tuple[Version, Version], metrics: Sequence[str], units: Matched, permutations: int, seed: int
) -> Signature:
    prints = [fingerprint(*sorted(_describe_unit(unit, metrics) for unit in version.units)) for version in versions]
    facts = {"metrics": ",".join(metrics), "old": prints[0], "new": prints[1], "paired-by": units.pairing}
    return Signature.of("compare", {**facts, "permutations": permutations, "seed": seed})
