# SPDX-License-Identifier: Apache-2.0
"""Choose a metric by its agreement with people on a few dozen rated samples.

Metrics and blends of them are sorted by Spearman's ρ with the mean judgment. Blends are tested on contexts that their
weights were not learned from, and so is the choice itself (nested cross-validation, cross_validation.py). Candidates
are compared in pairs by permutation tests that swap the scores of whole contexts; p-values are adjusted (Holm) over all
pairs, because the best one is chosen on the same samples. Intervals are from resamples of contexts.

How many rated samples would tell two candidates apart follows from the standard error s of their difference d over n
samples: n · ((z + 0.84) s / d)², for a power of 80 % in a two-sided test at 5 % divided by the number of pairs, which
gives z.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from interloq.agree.agreement import check_counts
from interloq.agree.human_agreement import ceiling, split_half
from interloq.agree.judgments import MOST_UNSCORED, Judgments
from interloq.agree.levels import Samples, level
from interloq.agree.score_columns import columns_fingerprint
from interloq.choose.choice import ALPHA, FAR, Candidate, Choice, Kind
from interloq.choose.cross_validation import BLENDS, Learner, RatedScores, best, candidates, chooser, score_held_out
from interloq.errors import InputError, count
from interloq.metrics.combined.blend import Blend
from interloq.metrics.metric import Array, Metric
from interloq.registry import spec
from interloq.score.default_metrics import FEWEST_RATED
from interloq.signature import Signature
from interloq.statistics import correlation, significance
from interloq.statistics.correlation import complete_rows, is_constant
from interloq.statistics.estimate import Estimate
from interloq.statistics.resampling import percentile_interval

SPEARMAN = {"spearman": "spearman"}
FEWEST_CONTEXTS, FEWEST_SYSTEMS = 5, 3
POWER = 0.84  # normal quantile of 80 %


@dataclass(frozen=True, slots=True)
class Column:
    """Scores of one metric: higher is better after multiplication by `sign`; a baseline has no better or worse."""

    scores: Array  # NaN if unscored
    metric: Metric | None  # None for a number that no metric computes
    sign: float = 1.0
    is_baseline: bool = False


def choose(
    columns: Mapping[str, Column],
    judgments: Judgments,
    *,
    blend: bool = True,
    n_bootstrap: int = 1000,
    n_permutations: int | None = None,
    seed: int = 0,
    unit: str = "sample",
) -> Choice:
    """Sort metrics and blends of them by agreement with people, and choose the best."""
    check_counts(n_bootstrap, n_permutations)
    people = judgments.mean()
    used, excluded = _usable(columns, people)
    rows = complete_rows(people, *(column.scores for column in used.values()))
    metrics = {name: column for name, column in used.items() if not column.is_baseline}
    scores = np.array([column.sign * significance.z_scores(column.scores[rows]) for column in metrics.values()])
    contexts = np.unique(judgments.clusters()[rows], return_inverse=True)[1]
    rated = RatedScores(scores.reshape(len(metrics), len(rows)).T, people[rows], contexts)
    _check(rated, metrics, excluded)
    learners = candidates(list(metrics), blend=blend)
    chosen = best(learners, rated, seed)
    compared = _Compared.of(learners, used, rated, rows, n_bootstrap, seed).test_pairs(n_permutations)
    expected = compared.estimate(score_held_out(chooser(learners, seed), rated, seed))
    compared_candidates = [_candidate(name, chosen, compared, judgments) for name in compared.scores]
    best_possible = None
    if judgments.sizes().max() > 1:
        best_possible = ceiling(split_half(judgments, Samples(SPEARMAN), seed=seed)["spearman"])
    facts = {"aspect": judgments.aspect, "judgments": judgments.fingerprint, "resamples": n_bootstrap, "seed": seed}
    facts |= {"scores": columns_fingerprint({name: column.scores for name, column in columns.items()}), "blend": blend}
    facts |= {"permutations": n_permutations or ""}
    return Choice(
        aspect=judgments.aspect,
        rows=tuple(sorted(compared_candidates, key=lambda row: -np.nan_to_num(row.agreement.value, nan=-2.0))),
        chosen=chosen,
        spec=_spec(chosen, learners[chosen](rated), metrics, rows),
        expected=expected,
        ceiling=best_possible,
        samples=len(rows),
        contexts=len(np.unique(rated.contexts)),
        systems=len({judgments.systems[i] for i in rows} - {""}),
        signature=Signature.of("choose", facts),
        unit=unit,
        excluded=excluded,
        notes=tuple(_notes(judgments, rows, unit)),
    )


def _usable(columns: Mapping[str, Column], people: Array) -> tuple[dict[str, Column], dict[str, str]]:
    """Return the columns that can be compared, and why the others cannot."""
    usable: dict[str, Column] = {}
    excluded: dict[str, str] = {}
    rated = ~np.isnan(people)
    for name, column in columns.items():
        scores = column.scores[rated]
        missing = int(np.isnan(scores).sum())
        if missing > MOST_UNSCORED * len(scores):
            excluded[name] = f"it scored only {len(scores) - missing} of {len(scores)}"
        elif is_constant(scores[~np.isnan(scores)]):
            excluded[name] = "all its scores are equal"
        else:
            usable[name] = column
    return usable, excluded


def _check(rated: RatedScores, metrics: Mapping[str, Column], excluded: Mapping[str, str]) -> None:
    if not metrics:
        why = "; ".join(f"{name}: {reason}" for name, reason in excluded.items()) or "none is given"
        raise InputError(f"no metric to choose from: {why}", hint="name others with -m")
    n, contexts = len(rated.people), len(np.unique(rated.contexts))
    if n < FEWEST_RATED or contexts < FEWEST_CONTEXTS:
        raise InputError(
            f"{count(n, 'rated item')} in {count(contexts, 'context')} scored by all metrics are too few to choose by",
            hint=f"rate at least {FEWEST_RATED}, in at least {FEWEST_CONTEXTS} contexts",
        )
    if is_constant(rated.people):
        raise InputError("all mean judgments are equal", hint="rate samples of different quality")


def _notes(judgments: Judgments, rows: NDArray[np.intp], unit: str) -> list[str]:
    notes = list(judgments.notes)
    unused = judgments.counted.rated - len(rows)
    if unused:
        notes.insert(0, f"{count(unused, 'rated ' + unit)} not used: not scored by all metrics")
    return notes


# ---- comparisons -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Compared:
    """Scores of all candidates and baselines over the same samples, higher is better, with resampled agreement."""

    scores: Mapping[str, Array]
    kinds: Mapping[str, Kind]
    resampled: Mapping[str, Array]
    rated: RatedScores
    rows: NDArray[np.intp]
    n_bootstrap: int
    seed: int
    p_values: Mapping[frozenset[str], float | None]

    @classmethod
    def of(
        cls,
        learners: Mapping[str, Learner],
        columns: Mapping[str, Column],
        rated: RatedScores,
        rows: NDArray[np.intp],
        n_bootstrap: int,
        seed: int,
    ) -> _Compared:
        """Return held-out scores of the candidates, and the baselines with the sign that agrees with people."""
        scores: dict[str, Array] = {}
        kinds: dict[str, Kind] = {}
        for name, learn in learners.items():
            scores[name] = score_held_out(learn, rated, seed)
            kinds[name] = "blend" if name in BLENDS else "metric"
        for name, column in columns.items():
            if column.is_baseline:
                scores[name] = column.scores[rows]
                kinds[name] = "baseline"
                if not _spearman(scores[name], rated.people) >= 0:
                    scores[name] = -scores[name]
        empty = cls(scores, kinds, {}, rated, rows, n_bootstrap, seed, {})
        return replace(empty, resampled={name: empty.draws(column) for name, column in scores.items()})

    def draws(self, scores: Array) -> Array:
        """Return the agreement in each resample of contexts; the resamples are the same for all scores."""
        if not self.n_bootstrap:
            return np.zeros(0)
        return correlation.resample_coefficients(
            scores,
            self.rated.people,
            n_bootstrap=self.n_bootstrap,
            seed=self.seed,
            chosen=SPEARMAN,
            cluster=self.rated.contexts,
        )["spearman"]

    def estimate(self, scores: Array) -> Estimate:
        """Return the agreement with its interval."""
        ci = percentile_interval(self.draws(scores)) if self.n_bootstrap else None
        return Estimate(_spearman(scores, self.rated.people), len(scores), ci)

    def margin(self, name: str, other: str) -> Estimate:
        """Return how much higher the agreement of the first is than the agreement of the second."""
        value = _spearman(self.scores[name], self.rated.people) - _spearman(self.scores[other], self.rated.people)
        drawn = self.resampled[name] - self.resampled[other]
        return Estimate(value, len(self.rated.people), percentile_interval(drawn) if len(drawn) else None)

    def estimate_needed(self, name: str, other: str) -> int | None:
        """Return how many samples would tell the two apart; None if unknown or above FAR times the present number."""
        difference, n = abs(self.margin(name, other).value), len(self.rated.people)
        drawn = self.resampled[name] - self.resampled[other]
        if not len(drawn) or not difference > 0:
            return None
        quantile = float(stats.norm.isf(ALPHA / 2 / max(1, math.comb(len(self.scores), 2)))) + POWER
        needed = n * (quantile * float(np.nanstd(drawn)) / difference) ** 2
        return math.ceil(needed) if needed <= FAR * n else None

    def test_pairs(self, n_permutations: int | None) -> _Compared:
        """Return a copy with the adjusted p-values of all pairs, baselines included."""
        pairs = list(combinations(self.scores, 2))
        n = significance.permutations_per_test(len(pairs), n_permutations)
        adjusted_p = significance.adjust_p_values([self._p(*pair, n) for pair in pairs])
        return replace(self, p_values=dict(zip(map(frozenset, pairs), adjusted_p, strict=True)))

    def _p(self, first: str, second: str, n_permutations: int) -> float | None:
        contexts = self.rated.contexts
        a, b = self.scores[first], self.scores[second]
        parts = []
        for swapped in significance.swaps(int(contexts.max()) + 1, n_permutations, self.seed):
            swapped_samples = swapped[:, contexts]
            parts.append(significance.differences("spearman", a, b, self.rated.people, swapped_samples))
        return significance.permutation_p(np.concatenate(parts))


def _spearman(x: Array, y: Array) -> float:
    return correlation.values(x, y, chosen=SPEARMAN)["spearman"]


def _candidate(name: str, chosen: str, compared: _Compared, judgments: Judgments) -> Candidate:
    kind, p = compared.kinds[name], compared.p_values.get(frozenset((name, chosen)))
    over = {}
    for other, other_kind in compared.kinds.items():
        if other_kind == "baseline" != kind:
            over[other] = compared.margin(name, other)
    return Candidate(
        name=name,
        kind=kind,
        agreement=compared.estimate(compared.scores[name]),
        over=over,
        by_system=_by_system(compared.scores[name], compared.rows, judgments),
        p=p,
        needed=compared.estimate_needed(chosen, name) if p is not None and p > ALPHA else None,
    )


def _by_system(scores: Array, rows: NDArray[np.intp], judgments: Judgments) -> Estimate | None:
    """Return the agreement of the systems' mean scores with their mean judgments."""
    if len({judgments.systems[i] for i in rows} - {""}) < FEWEST_SYSTEMS:
        return None
    column = np.full(len(judgments.keys), np.nan)
    column[rows] = scores
    return level("system", judgments, SPEARMAN).estimates(column, judgments.mean())["spearman"]


# ---- the chosen metric -----------------------------------------------------------------------------------------------


def _spec(chosen: str, weights: Array, metrics: Mapping[str, Column], rows: NDArray[np.intp]) -> str:
    """Return the chosen metric; a blend includes its weights, and means and standard deviations on these samples."""
    if chosen in metrics:
        return spec(metrics[chosen].metric)
    parts, signed_weights, means, scales = [], [], [], []
    for weight, column in zip(weights, metrics.values(), strict=True):
        if column.metric:
            parts.append(column.metric)
        scores = column.scores[rows]
        signed_weights.append(_round(weight * column.sign))
        means.append(_round(scores.mean()))
        scales.append(_round(scores.std()))
    return spec(Blend(tuple(parts), weights=tuple(signed_weights), means=tuple(means), scales=tuple(scales)))


def _round(value: float) -> float:
    """Round to six significant digits: enough for scores, and short enough to read."""
    return float(f"{value:.6g}")
