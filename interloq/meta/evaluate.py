"""How far metrics agree with people: every metric against the mean judgment and against single annotators.

Families of p-values that are adjusted together, for each coefficient: the tests of all metrics (is there a correlation
at all) and, apart from those, the permutation tests of all pairs of metrics (is one higher than the other).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import scipy

from interloq.errors import InputError
from interloq.meta import correlate
from interloq.meta.agree import agreement, spread
from interloq.meta.judgments import Judgments, collect
from interloq.meta.levels import Level, level
from interloq.meta.set_scores import Column, scores_of, set_columns
from interloq.meta.significance import TOLERANCE, Adjust, adjusted, enough, permutation_p, williams
from interloq.meta.table import COEFFICIENTS, By, Comparison, Estimate, MetaTable, MetricRow, SystemScore
from interloq.metrics import named
from interloq.metrics.checks import Checks
from interloq.metrics.evaluate import percentile_interval
from interloq.metrics.metric import Array
from interloq.metrics.selection import Selection
from interloq.records import Key, Known, Sample, Score, shown_key
from interloq.signature import fingerprint
from interloq.version import __version__

LEAST, LARGEST = 1e-100, 1e100  # between these a sum of squares is a number


def meta_evaluate(
    scores: Iterable[Score],
    samples: Iterable[Sample],
    *,
    aspect: str = "overall",
    role: str = "",
    by: By = "none",
    n_bootstrap: int = 1000,
    seed: int = 0,
    compare: bool = True,
    n_permutations: int | None = None,
    adjust: Adjust = "holm",
    system_score: SystemScore = "value",
    selection: Selection | None = None,
) -> MetaTable:
    """Correlations of every metric in `scores` with the ratings of `samples`, and of people with each other.

    There are 1,000 permutations per test, or 100 for each pair of metrics where these are more, unless it is said. By
    system, a system's score is the metric's value of its samples, as `interloq score` prints it, or with
    `system_score="mean"` the mean of its sample scores. `selection` leaves systems out.
    """
    _check(n_bootstrap, n_permutations, adjust)
    selection, checks = selection or Selection(), Checks()
    samples = checks.watch(selection.samples(samples))
    samples = sorted(samples, key=lambda sample: sample.key) if by == "system" else samples
    judgments = collect(samples, aspect=aspect, role=role)
    points = level(by, judgments)
    plain, stray = _columns(scores, judgments, selection)
    sets, means = set_columns(plain, list(samples)) if by == "system" and system_score == "value" else ({}, {})
    columns: dict[str, Column] = {**plain, **sets}
    rows = [_row(name, column, judgments, points, n_bootstrap, seed) for name, column in columns.items()]
    if by == "system":
        rows = [
            replace(row, system_score="mean" if row.metric in means or system_score == "mean" else "value")
            for row in rows
        ]
    pairs = list(combinations(columns, 2)) if compare else []
    exchanges = enough(len(pairs), n_permutations)
    turned = [name for name in columns if compare and named.direction(name) == "lower"]
    upwards = columns | {name: -columns[name] for name in turned}
    comparisons = [c for pair in pairs for c in _compare(pair, upwards, judgments, points, exchanges, seed)]
    human = agreement(judgments, points, n_bootstrap=n_bootstrap, seed=seed)
    facts: dict[str, object] = {"aspect": aspect, "role": role, "by": by, "judgments": judgments.fingerprint}
    if by == "system":
        facts["system-score"] = system_score
    facts |= selection.facts()
    facts |= {"scores": _fingerprint(plain), "resamples": n_bootstrap, "seed": seed, "adjust": adjust}
    if compare:
        facts["permutations"] = exchanges
    return MetaTable(
        aspect=aspect,
        by=by,
        rows=tuple(_adjust_rows(rows, adjust)),
        human=human,
        comparisons=tuple(_adjust_comparisons(comparisons, adjust)),
        counted=judgments.counted,
        signature=_signature(facts),
        notes=(
            *points.notes(),
            *_mean_notes(means),
            *map(_turned_note, turned),
            *stray,
            *_human_notes(judgments),
            *judgments.notes,
            *(note.text for note in (*selection.notes(), *checks.of_data())),
        ),
    )


def _turned_note(metric: str) -> str:
    return f"{metric}: lower is better, so comparisons turn the sign of its coefficients"


def _mean_notes(means: Mapping[str, str]) -> list[str]:
    return [
        f"{name}: a system's score is the mean of its sample scores, which need not be the value that `interloq score` "
        f"prints: {why}"
        for name, why in means.items()
    ]


def _check(n_bootstrap: int, n_permutations: int | None, adjust: str) -> None:
    for name, value in (("n_bootstrap", n_bootstrap), ("n_permutations", n_permutations or 0)):
        if value < 0:
            raise InputError(f"{name} must not be negative, got {value}")
    if adjust not in ("holm", "bh"):
        raise InputError(f"cannot adjust p-values by {adjust!r}", cure="adjust is holm or bh")


# ---- scores as columns -----------------------------------------------------------------------------------------------


def _columns(scores: Iterable[Score], judgments: Judgments, selection: Selection) -> tuple[dict[str, Array], list[str]]:
    """A score a sample for every metric, in the order of their names; and notes on scores that fit no sample."""
    place, known = {key: i for i, key in enumerate(judgments.keys)}, Known(judgments.keys)
    columns: dict[str, Array] = {}
    given: dict[str, set[int]] = {}
    stray: dict[str, list[Key]] = {}
    for score in scores:
        column = columns.setdefault(score.metric, np.full(len(place), np.nan))
        key = known.find(score.id, score.system)
        if key is None and selection.excludes(score):
            continue
        if key is None:
            stray.setdefault(score.metric, []).append(score.key)
            continue
        i = place[key]
        value = _value(score)
        seen = given.setdefault(score.metric, set())
        if i in seen and not _same(column[i], value):
            raise InputError(
                f"{score.metric} scored sample {shown_key(key)} twice: {column[i]:g} and {value:g}",
                cure="give each metric's scores once",
            )
        seen.add(i)
        column[i] = value
    _check_ids(columns, stray, judgments)
    return {name: _tamed(columns[name]) for name in sorted(columns)}, [
        _stray_note(name, keys) for name, keys in sorted(stray.items())
    ]


def _tamed(column: Array) -> Array:
    """The same order and proportions, where squares of scores would leave the range of numbers."""
    largest = float(np.nanmax(np.abs(column), initial=0.0))
    if largest == 0 or LEAST <= largest <= LARGEST:
        return column
    return np.asarray(np.ldexp(column, -math.frexp(largest)[1]))


def _value(score: Score) -> float:
    value = float("nan") if score.value is None else float(score.value)
    if math.isinf(value):
        raise InputError(
            f"{score.metric} scored sample {shown_key(score.key)} {value}", cure="leave such a sample unscored (null)"
        )
    return value


def _same(first: float, second: float) -> bool:
    return first == second or (math.isnan(first) and math.isnan(second))


def _check_ids(columns: Mapping[str, Array], stray: Mapping[str, Sequence[Key]], judgments: Judgments) -> None:
    if not columns:
        raise InputError("there are no scores", cure="make some: interloq score SAMPLES -m METRIC -o scores.jsonl")
    if stray and all(np.isnan(column).all() for column in columns.values()):
        seen, known = min(keys[0] for keys in stray.values()), judgments.keys[0]
        raise InputError(
            f"no score belongs to a sample: score 1 is of {shown_key(seen)}, sample 1 is {shown_key(known)}",
            cure="give the samples that were scored",
        )


def _stray_note(metric: str, keys: Sequence[Key]) -> str:
    return f"{metric}: scores without a sample, not used: {len(keys)}, for example {shown_key(min(keys))}"


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
    )


def _compare(
    pair: tuple[str, str],
    columns: Mapping[str, Column],
    judgments: Judgments,
    points: Level,
    n_permutations: int,
    seed: int,
) -> list[Comparison]:
    """Two metrics over the samples both scored; the one with the higher coefficient comes first."""
    first, second, people = columns[pair[0]], columns[pair[1]], judgments.mean()
    n = points.size(first, second, people)
    differences = (
        points.exchanged(first, second, people, n_permutations, seed)
        if n > 1
        else {name: np.array([np.nan]) for name in COEFFICIENTS}
    )
    tests = _williams(first, second, people, points)
    found = []
    for name in COEFFICIENTS:
        difference = float(differences[name][0])
        if abs(difference) < TOLERANCE:
            difference = 0.0
        higher, lower = pair[::-1] if difference < 0 else pair
        p = permutation_p(differences[name])
        found.append(Comparison(higher, lower, name, abs(difference), n, tests[name], p))
    return found


def _williams(first: Column, second: Column, people: Array, points: Level) -> dict[str, float | None]:
    """Two-sided, for Pearson and, on ranks, for Spearman; there is none for Kendall, nor for averages over contexts."""
    tests: dict[str, float | None] = dict.fromkeys(COEFFICIENTS)
    found = points.points(first, second, people)
    if found is None or len(found[2]) < 4:
        return tests
    r12, r13, r23 = (correlate.values(found[i], found[j]) for i, j in ((0, 2), (1, 2), (0, 1)))
    for name in ("pearson", "spearman"):
        tests[name] = williams(r12[name], r13[name], r23[name], len(found[2]))
    return tests


# ---- adjusting and signing -------------------------------------------------------------------------------------------


def _adjust_rows(rows: Sequence[MetricRow], adjust: Adjust) -> list[MetricRow]:
    better: list[dict[str, Estimate]] = [{} for _ in rows]
    for name in COEFFICIENTS:
        family = adjusted([row.with_mean[name].p for row in rows], adjust)
        for row, target, p in zip(rows, better, family, strict=True):
            target[name] = replace(row.with_mean[name], p_adjusted=p)
    return [replace(row, with_mean=target) for row, target in zip(rows, better, strict=True)]


def _adjust_comparisons(comparisons: Sequence[Comparison], adjust: Adjust) -> list[Comparison]:
    better = list(comparisons)
    for name in COEFFICIENTS:
        places = [i for i, c in enumerate(comparisons) if c.coefficient == name]
        family = adjusted([comparisons[i].permutation_p for i in places], adjust)
        for i, p in zip(places, family, strict=True):
            better[i] = replace(comparisons[i], permutation_p_adjusted=p)
    return better


def _human_notes(judgments: Judgments) -> list[str]:
    notes = []
    counted = judgments.counted
    if judgments.sizes().max() < 2:
        notes.append("no sample has two judgments: agreement between people cannot be told")
    elif not judgments.annotators:
        notes.append("no rater id comes back: no figures for single annotators, nor annotator against annotator")
    elif counted.partial_annotators:
        notes.append(
            f"{counted.partial_annotators} of {counted.annotators} annotators judged only some of the samples: "
            "their figures rest on different samples"
        )
    return notes


def _fingerprint(columns: Mapping[str, Array]) -> str:
    return fingerprint(*(part for name, column in columns.items() for part in (name, column.tobytes())))


def _signature(facts: Mapping[str, object]) -> str:
    parts = [f"{name}:{value}" for name, value in facts.items() if value != ""]
    return "|".join(["meta", *parts, f"scipy:{scipy.__version__}", f"version:{__version__}"])
