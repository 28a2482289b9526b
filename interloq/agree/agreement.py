# SPDX-License-Identifier: Apache-2.0
"""How well metrics agree with people: every metric against the mean judgment and against single annotators.

p-values are adjusted in two families per coefficient: the tests of all metrics (is there a correlation at all), and the
permutation tests of all pairs of metrics (is one higher than the other).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

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
from interloq.statistics.significance import Adjust, adjusted, permutation_p, permutations_per_test, williams


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
    """Correlations of every metric in `scores` with the ratings of `samples`, and of people with each other.

    By default there are 1,000 permutations per test, or 100 per pair of metrics if that is more. `system_score` is a
    system's score with `by="system"`: the metric's value over its samples, as `interloq score` prints it, or their mean
    score. `coefficients` are names, functions, or a mapping such as `{"mine": corr}`; see statistics/correlation.py.
    If people in the dialogues rated the samples, correlations are split into parts between and within users.
    `lower_is_better` is the direction of metrics that do not define one themselves; a metric of unknown direction is
    not compared with others.
    `normalise` puts the ratings of each rater on a common scale: `z` or `rank`, see `interloq.data.records.raters`.
    Predicted reliabilities among the scores are not correlated; notes count samples whose references are too weak.
    """
    _check(n_bootstrap, n_permutations, adjust)
    selection, checks, predictions = selection or SampleFilter(), Checks(), Predictions()
    samples = _in_order(checks.watch(selection.samples(samples)), by)
    judgments = collect(samples, aspect=aspect, role=role, normalise=normalise)
    points = level(by, judgments, check_coefficients(coefficients))
    plain, stray = score_columns(predictions.without(scores), judgments, selection)
    columns, means = _of_systems(plain, samples, system_score) if by == "system" else (dict(plain), {})
    rows = _rows(columns, means if by == "system" else None, judgments, points, n_bootstrap, seed)
    rows = [replace(row, direction=metric_names.direction(row.metric, lower_is_better)) for row in rows]
    splits = user_splits(plain, judgments, points.coefficients, n_bootstrap, seed) if by in ("none", "user") else ()
    unknown = metric_names.unknown_directions(columns, lower_is_better) if compare and len(columns) > 1 else []
    compared = {name: column for name, column in columns.items() if name not in unknown}
    permutations = permutations_per_test(math.comb(len(compared), 2) if compare else 0, n_permutations)
    falling = [name for name in compared if metric_names.direction(name, lower_is_better) == "lower"]
    comparisons = _compare_all(compared, falling, judgments, points, permutations, seed) if compare else []
    direction_notes = [*(map(_inverted_note, falling) if compare else ()), *map(_unknown_note, unknown)]
    notes = [*split_notes(splits, judgments), *points.notes(), *_mean_notes(means), *direction_notes, *stray]
    facts = {"aspect": aspect, "role": role, "by": by, "resamples": n_bootstrap, "seed": seed, "adjust": adjust}
    facts |= {"system-score": system_score if by == "system" else "", "permutations": permutations if compare else ""}
    facts |= {"normalise": normalise, "lower-is-better": "" if lower_is_better is None else lower_is_better}
    return MetaTable(
        aspect=aspect,
        by=by,
        rows=tuple(_adjust_rows(rows, points.coefficients, adjust)),
        human=agreement(judgments, points, n_bootstrap=n_bootstrap, seed=seed),
        comparisons=tuple(_adjust_comparisons(comparisons, points.coefficients, adjust)),
        counted=judgments.counted,
        signature=_signature({**facts, **selection.facts()}, plain, judgments, points, bool(splits)),
        notes=(*notes, *_human_notes(judgments), *predictions.notes(judgments.keys), *_data_notes(selection, checks)),
        users=splits,
    )


def _in_order(samples: Iterable[Sample], by: By) -> Iterable[Sample]:
    """Samples by system are listed in the order of the judgments, since values of sets are computed from them."""
    return sorted(samples, key=lambda sample: sample.key) if by == "system" else samples


def _signature(
    facts: Mapping[str, object], columns: Mapping[str, Array], judgments: Judgments, points: Level, split: bool
) -> Signature:
    """Signature of a table: its settings, judgments and scores; the users if correlations are split by user."""
    inputs = {"judgments": judgments.fingerprint, "scores": columns_fingerprint(columns)}
    inputs |= {"users": fingerprint(*judgments.users) if split else ""}
    inputs |= {"coefficients": signature_part(points.coefficients), "scipy": scipy.__version__}
    return Signature.of("meta", {**facts, **inputs})


def _data_notes(selection: SampleFilter, checks: Checks) -> list[str]:
    return [note.text for note in (*selection.notes(), *checks.of_data())]


def _inverted_note(metric: str) -> str:
    return f"{metric}: lower is better, so comparisons invert the sign of its coefficients"


def _unknown_note(metric: str) -> str:
    return f"not compared with other metrics: {metric_names.direction_note(metric)}"


def _of_systems(
    plain: Mapping[str, Array], samples: Iterable[Sample], system_score: SystemScore
) -> tuple[dict[str, Column], dict[str, str]]:
    """Columns for systems' scores, and the metrics that use means of sample scores, with the reason."""
    if system_score == "mean":
        return dict(plain), dict.fromkeys(plain, "")
    sets, means = set_columns(plain, list(samples))
    return {**plain, **sets}, means


def _rows(
    columns: Mapping[str, Column],
    means: Mapping[str, str] | None,
    judgments: Judgments,
    points: Level,
    n_bootstrap: int,
    seed: int,
) -> list[MetricRow]:
    """One row per metric; `means` are the metrics for which a system's score is a mean, None if not by system."""
    rows = [_row(name, column, judgments, points, n_bootstrap, seed) for name, column in columns.items()]
    if means is None:
        return rows
    return [replace(row, system_score="mean" if row.metric in means else "value") for row in rows]


def _mean_notes(means: Mapping[str, str]) -> list[str]:
    """Notes on metrics that use means although these were not requested."""
    return [
        f"{name}: a system's score is the mean of its sample scores, which may differ from the value that "
        f"`interloq score` prints: {why}"
        for name, why in means.items()
        if why
    ]


def check_counts(n_bootstrap: int, n_permutations: int | None) -> None:
    """Refuse negative numbers of resamples and permutations."""
    for name, value in (("n_bootstrap", n_bootstrap), ("n_permutations", n_permutations or 0)):
        if value < 0:
            raise InputError(f"{name} must not be negative, got {value}")


def _check(n_bootstrap: int, n_permutations: int | None, adjust: str) -> None:
    check_counts(n_bootstrap, n_permutations)
    if adjust not in ("holm", "bh"):
        raise InputError(f"cannot adjust p-values by {adjust!r}", hint="adjust is holm or bh")


# ---- one metric, two metrics -----------------------------------------------------------------------------------------


def _row(name: str, scores: Column, judgments: Judgments, points: Level, n_bootstrap: int, seed: int) -> MetricRow:
    people = judgments.mean()
    estimates = points.estimates(scores, people)
    if n_bootstrap and not any(math.isnan(e.value) for e in estimates.values()):
        resampled = points.resampled(scores, people, n_bootstrap, seed)
        estimates = {
            k: replace(e, ci=percentile_interval(resampled[k])) if len(resampled[k]) else e
            for k, e in estimates.items()
        }
    return MetricRow(
        metric=name,
        with_mean=estimates,
        with_annotators=spread(points.values(scores, judgments.of(i)) for i in range(len(judgments.annotators))),
        unscored=int((np.isnan(scores_of(scores)) & ~np.isnan(people)).sum()),
        slope=slope_on_judgments(scores_of(scores), judgments),
    )


def _compare_all(
    columns: Mapping[str, Column],
    falling: Iterable[str],
    judgments: Judgments,
    points: Level,
    n_permutations: int,
    seed: int,
) -> list[MetricComparison]:
    """Compare all pairs of metrics; scores of `falling` metrics, for which lower is better, change their sign."""
    upwards = {**columns, **{name: -columns[name] for name in falling}}
    found = [_compare(pair, upwards, judgments, points, n_permutations, seed) for pair in combinations(upwards, 2)]
    return list(chain(*found))


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
    differences = (
        points.exchanged(first, second, people, n_permutations, seed)
        if n > 1
        else {name: np.array([np.nan]) for name in points.coefficients}
    )
    tests = _williams(first, second, people, points)
    found = []
    for name in points.coefficients:
        difference = float(differences[name][0])
        if abs(difference) < RELATIVE:
            difference = 0.0
        higher, lower = pair[::-1] if difference < 0 else pair
        p = permutation_p(differences[name])
        found.append(MetricComparison(higher, lower, name, abs(difference), n, tests[name], p))
    return found


def _williams(first: Column, second: Column, people: Array, points: Level) -> dict[str, float | None]:
    """Two-sided p-values for Pearson and, on ranks, Spearman; None for others, averages and samples in dialogues."""
    tests: dict[str, float | None] = dict.fromkeys(points.coefficients)
    found = points.points(first, second, people)
    in_dialogues = isinstance(points, Samples) and points.clusters is not None
    if found is None or len(found[2]) < FEWEST or in_dialogues:
        return tests
    r12, r13, r23 = (
        correlation.values(found[i], found[j], chosen=points.coefficients) for i, j in ((0, 2), (1, 2), (0, 1))
    )
    for name, one in points.coefficients.items():
        if one in ("pearson", "spearman"):
            tests[name] = williams(r12[name], r13[name], r23[name], len(found[2]))
    return tests


# ---- adjusted p-values, notes, fingerprint ---------------------------------------------------------------------------


def _adjust_rows(rows: Sequence[MetricRow], names: Iterable[str], adjust: Adjust) -> list[MetricRow]:
    estimates: list[dict[str, Estimate]] = [{} for _ in rows]
    for name in names:
        family = adjusted([row.with_mean[name].p for row in rows], adjust)
        for row, target, p in zip(rows, estimates, family, strict=True):
            target[name] = replace(row.with_mean[name], p_adjusted=p)
    return [replace(row, with_mean=target) for row, target in zip(rows, estimates, strict=True)]


def _adjust_comparisons(
    comparisons: Sequence[MetricComparison], names: Iterable[str], adjust: Adjust
) -> list[MetricComparison]:
    found = list(comparisons)
    for name in names:
        places = [i for i, c in enumerate(comparisons) if c.coefficient == name]
        family = adjusted([comparisons[i].permutation_p for i in places], adjust)
        for i, p in zip(places, family, strict=True):
            found[i] = replace(comparisons[i], permutation_p_adjusted=p)
    return found


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
