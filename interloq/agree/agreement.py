# SPDX-License-Identifier: Apache-2.0
"""How well metrics agree with people: every metric against the mean judgment and against single annotators.

p-values are adjusted in two families per coefficient: the tests of all metrics (is there a correlation at all), and the
permutation tests of all pairs of metrics (is one higher than the other).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import scipy

from interloq.agree.by_user import split_notes, user_splits
from interloq.agree.human_agreement import agreement, spread
from interloq.agree.judgments import Judgments, collect
from interloq.agree.levels import Level, Samples, level
from interloq.agree.score_columns import Column, columns_fingerprint, score_columns, scores_of, set_columns
from interloq.agree.score_slope import slope_on_judgments
from interloq.agree.system_agreement import FEWEST
from interloq.agree.table import By, MetaTable, MetricComparison, MetricRow, SystemScore
from interloq.data.records.raters import Normalise
from interloq.errors import InputError, count
from interloq.metrics import metric_names
from interloq.metrics.metric import Array
from interloq.records import Sample, Score
from interloq.reliability.weak_references import Predictions
from interloq.score.checks import Checks
from interloq.score.selection import SampleFilter
from interloq.signature import Signature, fingerprint
from interloq.statistics import correlation
from interloq.statistics.correlation import Coefficients, Correlation, check_coefficients, signature_part
from interloq.statistics.estimate import COEFFICIENTS, Estimate
from interloq.statistics.resampling import percentile_interval
from interloq.statistics.rounding import RELATIVE
from interloq.statistics.significance import Adjust, adjust_p_values, permutation_p, permutations_per_test, williams

FEWEST_TO_ORDER = 3  # systems: of two, any metric has the correlation 1 or -1


def meta_evaluate(
    scores: Iterable[Score],
    samples: Iterable[Sample],
    *,
    aspect: str = "overall",
    role: str = "",
    by: By = "none",
    coefficients: Coefficients | Iterable[str | Correlation] = COEFFICIENTS,
    n_bootstrap: int = 1000,
    seed: int = 0,
    compare: bool = True,
    n_permutations: int | None = None,
    adjust: Adjust = "holm",
    system_score: SystemScore = "value",
    lower_is_better: bool | None = None,
    normalise: Normalise = "",
    selection: SampleFilter | None = None,
) -> MetaTable:
    """Correlate every metric in `scores` with the ratings of `samples`, and people with each other.

    By default there are 1,000 permutations per test, or 100 per pair of metrics if that is more. `system_score` is a
    system's score with `by="system"`: the metric's value over its samples, as `interloq score` prints it, or their mean
    score. `coefficients` are names, functions, or a mapping such as `{"mine": corr}`; see statistics/correlation.py.
    With `by="none"`, rows of three or more systems have the correlation over systems too: the two levels differ.
    If people in the dialogues rated the samples, correlations are split into parts between and within users.
    `lower_is_better` is the direction of metrics that do not define one; metrics of unknown direction are not compared.
    `normalise` puts the ratings of each rater on a common scale: `z` or `rank`, see `interloq.data.records.raters`.
    Predicted reliabilities among the scores are not correlated; notes count samples whose references are too weak.
    """
    check_counts(n_bootstrap, n_permutations)
    if adjust not in ("holm", "bh"):
        raise InputError(f"cannot adjust p-values by {adjust!r}", hint="adjust is holm or bh")
    selection, checks, predictions = selection or SampleFilter(), Checks(), Predictions()
    samples = checks.watch(selection.samples(samples))
    if by == "system":  # values of sets are computed from samples in the order of the judgments
        samples = sorted(samples, key=lambda sample: sample.key)
    judgments = collect(samples, aspect=aspect, role=role, normalise=normalise)
    points = level(by, judgments, check_coefficients(coefficients))
    plain, stray = score_columns(predictions.without(scores), judgments, selection)
    columns, means = _system_columns(plain, samples, system_score) if by == "system" else (dict(plain), None)
    rows = _rows(columns, means, judgments, points, n_bootstrap, seed, lower_is_better)
    if by == "none" and len(judgments.rated_systems()) >= FEWEST_TO_ORDER:
        over = level("system", judgments, points.coefficients)
        for i, (row, column) in enumerate(zip(rows, columns.values(), strict=True)):
            rows[i] = replace(row, over_systems=_estimates(column, judgments.mean(), over, n_bootstrap, seed))
    splits = user_splits(plain, judgments, points.coefficients, n_bootstrap, seed) if by in ("none", "user") else ()
    upwards, direction_notes = _turn_upwards(columns, lower_is_better) if compare else ({}, [])
    permutations = permutations_per_test(math.comb(len(upwards), 2), n_permutations)
    comparisons: list[MetricComparison] = []
    for pair in combinations(upwards, 2):
        comparisons += _compare(pair, upwards, judgments, points, permutations, seed)
    notes = [*split_notes(splits, judgments), *points.notes(), *_mean_notes(means or {}), *direction_notes]
    facts = {"aspect": aspect, "role": role, "by": by, "resamples": n_bootstrap, "seed": seed, "adjust": adjust}
    facts |= {"system-score": system_score if by == "system" else "", "permutations": permutations if compare else ""}
    facts |= {"normalise": normalise, "lower-is-better": "" if lower_is_better is None else lower_is_better}
    data_notes = [note.text for note in (*selection.notes(), *checks.of_data())]
    return MetaTable(
        aspect=aspect,
        by=by,
        rows=tuple(_adjust_rows(rows, points.coefficients, adjust)),
        human=agreement(judgments, points, n_bootstrap=n_bootstrap, seed=seed),
        comparisons=tuple(_adjust_comparisons(comparisons, points.coefficients, adjust)),
        counted=judgments.counted,
        signature=_signature({**facts, **selection.facts()}, plain, judgments, points, bool(splits)),
        notes=(*notes, *stray, *_human_notes(judgments), *predictions.notes(judgments.keys), *data_notes),
        users=splits,
    )


def _signature(
    facts: Mapping[str, object], columns: Mapping[str, Array], judgments: Judgments, points: Level, split: bool
) -> Signature:
    """Return the signature of a table: its settings, judgments and scores; the users if it is split by user."""
    inputs = {"judgments": judgments.fingerprint, "scores": columns_fingerprint(columns)}
    inputs |= {"users": fingerprint(*judgments.users) if split else ""}
    inputs |= {"coefficients": signature_part(points.coefficients), "scipy": scipy.__version__}
    return Signature.of("meta", {**facts, **inputs})


def _turn_upwards(columns: Mapping[str, Column], lower_is_better: bool | None) -> tuple[dict[str, Column], list[str]]:
    """Return the comparable columns, signed so that higher is better, and notes on inverted and excluded metrics."""
    unknown: list[str] = []
    if len(columns) > 1:
        unknown = metric_names.unknown_directions(columns, lower_is_better)
    upwards: dict[str, Column] = {}
    notes = []
    for name, column in columns.items():
        if name in unknown:
            continue
        upwards[name] = column
        if metric_names.direction(name, lower_is_better) == "lower":
            upwards[name] = -column
            notes.append(f"{name}: lower is better, so comparisons invert the sign of its coefficients")
    notes += [f"not compared with other metrics: {metric_names.direction_note(name)}" for name in unknown]
    return upwards, notes


def _system_columns(
    plain: Mapping[str, Array], samples: Iterable[Sample], system_score: SystemScore
) -> tuple[dict[str, Column], dict[str, str]]:
    """Return columns for systems' scores, and the metrics that use means of sample scores, with the reason."""
    if system_score == "mean":
        return dict(plain), dict.fromkeys(plain, "")
    sets, means = set_columns(plain, list(samples))
    return {**plain, **sets}, means


def _mean_notes(means: Mapping[str, str]) -> Iterator[str]:
    """Yield notes on metrics that use means although these were not requested."""
    for name, why in means.items():
        if why:
            yield (
                f"{name}: a system's score is the mean of its sample scores, which may differ from the value that "
                f"`interloq score` prints: {why}"
            )


def check_counts(n_bootstrap: int, n_permutations: int | None) -> None:
    """Refuse negative numbers of resamples and permutations."""
    for name, value in (("n_bootstrap", n_bootstrap), ("n_permutations", n_permutations or 0)):
        if value < 0:
            raise InputError(f"{name} must not be negative, got {value}")


def _rows(
    columns: Mapping[str, Column],
    means: Mapping[str, str] | None,
    judgments: Judgments,
    points: Level,
    n_bootstrap: int,
    seed: int,
    lower_is_better: bool | None,
) -> list[MetricRow]:
    """Return one row per metric; `means` names the metrics whose system scores are means; None without systems."""
    rows = []
    for name, column in columns.items():
        row = _row(name, column, judgments, points, n_bootstrap, seed)
        row = replace(row, direction=metric_names.direction(name, lower_is_better))
        if means is not None:
            row = replace(row, system_score="mean" if name in means else "value")
        rows.append(row)
    return rows


def _row(name: str, scores: Column, judgments: Judgments, points: Level, n_bootstrap: int, seed: int) -> MetricRow:
    people = judgments.mean()
    return MetricRow(
        metric=name,
        with_mean=_estimates(scores, people, points, n_bootstrap, seed),
        with_annotators=spread(points.values(scores, judgments.of(i)) for i in range(len(judgments.annotators))),
        unscored=int((np.isnan(scores_of(scores)) & ~np.isnan(people)).sum()),
        slope=slope_on_judgments(scores_of(scores), judgments),
    )


def _estimates(scores: Column, people: Array, points: Level, n_bootstrap: int, seed: int) -> dict[str, Estimate]:
    """Return the coefficients at a level, with intervals."""
    estimates = points.estimates(scores, people)
    if n_bootstrap and not any(math.isnan(e.value) for e in estimates.values()):
        for coefficient, values in points.resample(scores, people, n_bootstrap, seed).items():
            if len(values):
                estimates[coefficient] = replace(estimates[coefficient], ci=percentile_interval(values))
    return estimates


def _compare(
    pair: tuple[str, str],
    columns: Mapping[str, Column],
    judgments: Judgments,
    points: Level,
    n_permutations: int,
    seed: int,
) -> list[MetricComparison]:
    """Compare two metrics over the samples both scored; the one with the higher coefficient comes first."""
    first, second, people = columns[pair[0]], columns[pair[1]], judgments.mean()
    n = points.size(first, second, people)
    differences = dict.fromkeys(points.coefficients, np.array([np.nan]))
    if n > 1:
        differences = points.exchange(first, second, people, n_permutations, seed)
    tests = _williams(first, second, people, points)
    comparisons = []
    for name in points.coefficients:
        difference = float(differences[name][0])
        if abs(difference) < RELATIVE:
            difference = 0.0
        higher, lower = pair[::-1] if difference < 0 else pair
        p = permutation_p(differences[name])
        comparisons.append(MetricComparison(higher, lower, name, abs(difference), n, tests[name], p))
    return comparisons


def _williams(first: Column, second: Column, people: Array, points: Level) -> dict[str, float | None]:
    """Return two-sided p-values for Pearson and, on ranks, Spearman; None for other ones, averages and dialogues."""
    tests: dict[str, float | None] = dict.fromkeys(points.coefficients)
    common = points.points(first, second, people)
    in_dialogues = isinstance(points, Samples) and points.clusters is not None
    if common is None or len(common[2]) < FEWEST or in_dialogues:
        return tests
    a, b, judged = common
    correlate = partial(correlation.values, chosen=points.coefficients)
    with_first, with_second, of_metrics = correlate(a, judged), correlate(b, judged), correlate(a, b)
    for name, coefficient in points.coefficients.items():
        if coefficient in ("pearson", "spearman"):
            tests[name] = williams(with_first[name], with_second[name], of_metrics[name], len(judged))
    return tests


def _adjust_rows(rows: Sequence[MetricRow], names: Iterable[str], adjust: Adjust) -> list[MetricRow]:
    adjusted_rows = list(rows)
    for name in names:
        family = adjust_p_values([row.with_mean[name].p for row in rows], adjust)
        for i, p in enumerate(family):
            estimates = dict(adjusted_rows[i].with_mean)
            estimates[name] = replace(estimates[name], p_adjusted=p)
            adjusted_rows[i] = replace(adjusted_rows[i], with_mean=estimates)
    return adjusted_rows


def _adjust_comparisons(
    comparisons: Sequence[MetricComparison], names: Iterable[str], adjust: Adjust
) -> list[MetricComparison]:
    adjusted_comparisons = list(comparisons)
    for name in names:
        places = [i for i, c in enumerate(comparisons) if c.coefficient == name]
        family = adjust_p_values([comparisons[i].permutation_p for i in places], adjust)
        for i, p in zip(places, family, strict=True):
            adjusted_comparisons[i] = replace(comparisons[i], permutation_p_adjusted=p)
    return adjusted_comparisons


def _human_notes(judgments: Judgments) -> list[str]:
    notes = []
    counted = judgments.counted
    if judgments.sizes().max() < 2:
        notes.append("no sample has two judgments: agreement between people is unknown")
    elif not judgments.annotators:
        notes.append("no rater id is on two samples: no figures for single annotators or pairs of annotators")
    elif counted.partial_annotators:
        notes.append(
            f"{counted.partial_annotators} of {count(counted.annotators, 'annotator')} judged only some samples: "
            "their figures are based on different samples"
        )
    return [*notes, *judgments.notes]
