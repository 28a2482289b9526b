"""How much of a label is noise: a label is a correlation over few replies, and other replies would give another one.

Two answers. (1) If every query had the same true correlation, labels would still differ; their variance is simulated
with as many normally distributed replies. What the labels vary more than that is what a model can learn about queries,
and the simulated variance is the squared error that remains with perfect knowledge. (2) With enough replies per query,
labels from two halves of the replies are correlated over queries, and with Spearman and Brown's formula for all of
them; the same for differences between two sets of references of one query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from rated_sets import Floats

from interloq.reliability.labels import NONE, QueryScores, compute_labels
from interloq.statistics.correlation import pearson_rows
from interloq.statistics.resampling import percentile_interval

SIMULATED = 20_000
SPLITS = 20
FEWEST_TO_SPLIT = 8  # replies, so that each half has 4 or more


@dataclass(frozen=True, slots=True)
class LabelNoise:
    """Labels of one set per query, with all references, and what other replies would change."""

    queries: int
    replies: float  # mean per query
    mean: float
    variance: float
    by_chance: float  # variance if all queries had the same true correlation
    learnable: float  # share of the variance above that, at least 0
    learnable_ci: tuple[float, float]
    halves: float | None  # split-half reliability of labels, stepped up; None: too few replies
    halves_ci: tuple[float, float] | None
    differences: float | None  # the same for differences between two sets of a query
    differences_ci: tuple[float, float] | None


def label_noise(scored: Sequence[QueryScores], resamples: int, seed: int = 0) -> LabelNoise:
    """Noise of the labels with all references of each query."""
    found = np.array(
        [compute_labels(one, np.arange(len(one.query.references), dtype=np.int32)[None])[0] for one in scored]
    )
    known = [one for one, label in zip(scored, found, strict=True) if not np.isnan(label)]
    labels = found[~np.isnan(found)]
    replies = [len(one.query.replies) for one in known]
    chance = chance_variance(labels, round(np.mean(replies)), seed)
    rng = np.random.default_rng(seed)
    drawn = labels[rng.integers(len(labels), size=(resamples, len(labels)))]
    shares = 1 - np.array([chance_variance(row, round(np.mean(replies)), seed) for row in drawn]) / drawn.var(axis=1)
    halves = _halves(known, seed) if min(replies) >= FEWEST_TO_SPLIT else None
    kinds = range(2)
    stepped = [(None, None) if halves is None else _stepped(halves[:, :, i], resamples, rng) for i in kinds]
    return LabelNoise(
        len(labels), float(np.mean(replies)), float(labels.mean()), float(labels.var()), chance,
        max(0.0, float(1 - chance / labels.var())), percentile_interval(np.maximum(shares, 0)),
        *stepped[0], *stepped[1],
    )  # fmt: skip


def chance_variance(labels: Floats, replies: int, seed: int = 0) -> float:
    """Variance of correlations over normal samples of this size whose mean is that of the labels."""
    means, variances = _table(replies, seed)
    return float(np.interp(labels.mean(), means, variances))


_TABLES: dict[tuple[int, int], tuple[Floats, Floats]] = {}


def _table(replies: int, seed: int) -> tuple[Floats, Floats]:
    """Mean and variance of simulated correlations for true correlations from −.95 to .95."""
    if (replies, seed) not in _TABLES:
        x, e = np.random.default_rng(seed).standard_normal((2, SIMULATED, replies))
        true = np.linspace(-0.95, 0.95, 39)
        found = [pearson_rows(x, r * x + np.sqrt(1 - r * r) * e) for r in true]
        _TABLES[replies, seed] = np.array([f.mean() for f in found]), np.array([f.var() for f in found])
    return _TABLES[replies, seed]


def _halves(scored: Sequence[QueryScores], seed: int) -> Floats:
    """Labels of both halves of the replies [queries, splits, 2 kinds, 2 halves]; each half has its share of ratings.

    The kinds are the label with all references, and the difference between the labels of two single references.
    """
    rng = np.random.default_rng(seed)
    return np.array([[_split(one, rng) for _ in range(SPLITS)] for one in scored])


def _split(one: QueryScores, rng: np.random.Generator) -> Floats:
    order = np.lexsort([rng.random(len(one.query.ratings)), one.query.ratings])
    n = len(one.query.references)
    sets = np.full((3, n), NONE, dtype=np.int32)
    sets[0], sets[1:, 0] = np.arange(n), rng.permutation(n)[:2]
    found = []
    for half in (order[::2], order[1::2]):
        query = replace(one.query, replies=tuple(one.query.replies[i] for i in half), ratings=one.query.ratings[half])
        every, first, second = compute_labels(replace(one, query=query, scores=one.scores[half]), sets)
        found.append((every, first - second))
    return np.array(found).T


def _stepped(halves: Floats, resamples: int, rng: np.random.Generator) -> tuple[float, tuple[float, float]]:
    """Reliability of the mean of both halves from their correlation over queries, mean over splits."""
    every = np.arange(len(halves))
    spread = [_spearman_brown(halves[rng.integers(len(halves), size=len(halves))]) for _ in range(min(resamples, 200))]
    return _spearman_brown(halves[every]), percentile_interval(np.array(spread))


def _spearman_brown(halves: Floats) -> float:
    found = []
    for split in np.moveaxis(halves, 1, 0):
        there = ~np.isnan(split).any(axis=1)
        r = float(np.corrcoef(split[there].T)[0, 1])
        found.append(2 * r / (1 + r))
    return float(np.mean(found))
