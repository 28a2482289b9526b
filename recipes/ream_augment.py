"""References of Gupta's queries chosen in many ways, and how well metrics then agree with people.

Every way gives each query some references (an arm), several times if chance is involved: a figure is the mean over
these draws. Intervals come from resampling queries, the same ones for all arms, so that differences are paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rated_sets import Floats
from ream_sets import GOLD, LOGS, PEOPLE, SCARCE, Sourced

from interloq import Reference, Sample
from interloq.registry import create
from interloq.reliability.augment import Request, augment
from interloq.reliability.labels import QueryScores, score_replies
from interloq.reliability.model import Reliability
from interloq.statistics.correlation import kendall_rows, pearson_rows, spearman_rows
from interloq.statistics.resampling import percentile_interval

Arm = list[tuple[str, ...]]  # references of each query
Estimate = tuple[float, float, float]  # with its interval
Models = Sequence[tuple[Reliability, NDArray[np.int64]]]  # each with the queries that it never saw
LIMIT, DRAWS = 10, 3
FIRST = 5  # references that the paper's random arm shares with the chosen ones


# ---- arms ------------------------------------------------------------------------------------------------------------


def chosen(models: Models, queries: Sequence[Sourced], start: Arm, candidates: Arm, seed: int) -> Arm:
    """Start with some references, and add candidates that raise the prediction, to ten references in all."""
    found: list[tuple[str, ...]] = [()] * len(queries)
    for model, numbers in models:
        requests = [
            Request(queries[i].query.turns, tuple(map(Reference, start[i])), tuple(map(Reference, candidates[i])))
            for i in numbers
        ]
        for i, one in zip(numbers, augment(model, requests, limit=LIMIT, seed=seed), strict=True):
            found[i] = (*start[i], *(reference.text for reference in one.kept))
    return found


def half_random(own: Arm, candidates: Arm, seed: int) -> Arm:
    """The paper's random arm: the first five chosen references, then random candidates."""
    return at_random([texts[:FIRST] for texts in own], candidates, seed)


def at_random(start: Arm, candidates: Arm, seed: int) -> Arm:
    """Random candidates in addition, to ten references in all."""
    rng = np.random.default_rng(seed)
    found = []
    for own, others in zip(start, candidates, strict=True):
        left = [text for text in others if text not in own]
        order = rng.permutation(len(left))[: max(0, LIMIT - len(own))]
        found.append((*own, *(left[i] for i in order)))
    return found


def first_ones(start: Arm, candidates: Arm) -> Arm:
    """The candidates that come first in addition, to ten references in all."""
    pairs = zip(start, candidates, strict=True)
    return [tuple(dict.fromkeys((*own, *others)))[: max(LIMIT, len(own))] for own, others in pairs]


def union(*arms: Arm) -> Arm:
    """All references of several arms."""
    return [tuple(dict.fromkeys(chain.from_iterable(texts))) for texts in zip(*arms, strict=True)]


def by_rater(queries: Sequence[Sourced], rater: str) -> Arm:
    """Candidates from logs, those with the highest weights first."""
    samples = []
    for i, sourced in enumerate(queries):
        candidates = [Reference(text, source="retrieved:logs") for text in sourced.texts[LOGS]]
        references = [Reference(sourced.texts[GOLD][0]), *candidates]
        samples.append(Sample(str(i), sourced.query.turns, "-", references))
    arm = []
    for sample in create(rater, kind="rater").rate(samples):
        best_first = sorted(sample.references[1:], key=lambda reference: -reference.weight)
        arm.append(tuple(reference.text for reference in best_first))
    return arm


def source(queries: Sequence[Sourced], *names: str) -> Arm:
    """All references of some sources."""
    return union(*([one.texts[name] for one in queries] for name in names))


def arms(queries: Sequence[Sourced], models: Mapping[str, Models], rater: str) -> dict[str, list[Arm]]:
    """All ways to choose references, each with its draws; `models` are networks by what they were trained on."""
    gold, people, logs = (source(queries, name) for name in (GOLD, PEOPLE, LOGS))
    found = {
        GOLD: [gold],
        PEOPLE: [people],
        SCARCE: [source(queries, SCARCE)],
        f"{PEOPLE} and {SCARCE}": [source(queries, PEOPLE, SCARCE)],
    }
    rated = by_rater(queries, rater)
    for name, start in ((GOLD, gold), (PEOPLE, people)):
        found[f"{name} + logs: random"] = [at_random(start, logs, seed) for seed in range(DRAWS)]
        found[f"{name} + logs: nearest"] = [first_ones(start, logs)]
        found[f"{name} + logs: rater"] = [first_ones(start, rated)]
        found |= _chosen_arms(f"{name} + logs", models, queries, start, logs)
    others = []
    for texts, golds in zip(source(queries, SCARCE), gold, strict=True):
        others.append(tuple(text for text in texts if text not in golds))
    found[f"{GOLD} + {SCARCE}: random"] = [at_random(gold, others, seed) for seed in range(DRAWS)]
    return found | _chosen_arms(f"{GOLD} + {SCARCE}", models, queries, gold, others)


def _chosen_arms(
    name: str, models: Mapping[str, Models], queries: Sequence[Sourced], start: Arm, candidates: Arm
) -> dict[str, list[Arm]]:
    """Chosen by each network, the paper's random arm of the first one, and unions.

    The paper's Mix is of two networks, trained on one set for one metric each; the other is of all networks.
    """
    seeds = range(DRAWS)
    own = {label: [chosen(m, queries, start, candidates, s) for s in seeds] for label, m in models.items()}
    found = {f"{name}: {label}": some for label, some in own.items()}
    first = next(iter(own), None)
    if first is not None:
        found[f"{name}: half of {first}, half random"] = [half_random(own[first][s], candidates, s) for s in seeds]
        for trained_on in dict.fromkeys(label.partition(", ")[2] for label in models):
            two = [some for label, some in own.items() if label.endswith(trained_on)]
            found[f"{name}: Mix, {trained_on}"] = [union(*(some[s] for some in two)) for s in seeds]
        found[f"{name}: Mix of {len(own)}"] = [union(*(some[s] for some in own.values())) for s in seeds]
    return found


# ---- scores ----------------------------------------------------------------------------------------------------------


class ArmScores:
    """Scores of all replies [queries · replies] with the references of an arm, by one metric."""

    def __init__(self, queries: Sequence[Sourced], metric: str) -> None:
        self.queries, self.metric = queries, create(metric, kind="metric")
        combines = getattr(self.metric, "over_references", None) is not None
        self.matrices: list[QueryScores] = (
            score_replies([one.query for one in queries], self.metric) if combines else []
        )

    def __call__(self, arm: Arm) -> Floats:
        if not self.matrices:
            return self._scored(arm)
        columns = (one.columns(texts) for one, texts in zip(self.queries, arm, strict=True))
        return np.concatenate([m.scores[:, own].max(axis=1) for m, own in zip(self.matrices, columns, strict=True)])

    def _scored(self, arm: Arm) -> Floats:
        samples = [
            Sample("", one.query.turns, reply, tuple(map(Reference, texts)))
            for one, texts in zip(self.queries, arm, strict=True)
            for reply in one.query.replies
        ]
        return np.asarray(self.metric.value(self.metric.stats(samples)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of a metric with people for one arm: coefficients over all replies, and means over queries."""

    metric: str
    arm: str
    references: float  # mean per query
    figures: Mapping[str, float]
    ci: Mapping[str, tuple[float, float]]
    resampled: Mapping[str, Floats]
    by_query: Floats  # Pearson of each query, NaN if it has none


SPEARMAN, BY_QUERY = "spearman", "pearson per query"
_OVER_ALL: Mapping[str, Callable[[Any, Any], Any]] = {
    SPEARMAN: spearman_rows, "pearson": pearson_rows, "kendall": kendall_rows
}  # fmt: skip


def agreements(
    queries: Sequence[Sourced], given: Mapping[str, list[Arm]], metrics: Mapping[str, str], resamples: int
) -> list[Agreement]:
    """Every metric with every arm."""
    ratings = np.array([one.query.ratings for one in queries])
    drawn = _draw_queries(len(queries), resamples)
    used = union(*(arm for draws in given.values() for arm in draws))
    queries = [replace(one, query=replace(one.query, references=own)) for one, own in zip(queries, used, strict=True)]
    found = []
    for metric, spec in metrics.items():
        scorer = ArmScores(queries, spec)
        for name, draws in given.items():
            scores = np.array([scorer(arm).reshape(ratings.shape) for arm in draws])
            size = float(np.mean([len(texts) for arm in draws for texts in arm]))
            found.append(_agreement(metric, name, size, scores, ratings, drawn))
    return found


def _draw_queries(queries: int, resamples: int) -> NDArray[np.int64]:
    """The resamples, the same ones for all arms."""
    return np.random.default_rng(0).integers(queries, size=(resamples, queries))


def _agreement(
    metric: str, arm: str, size: float, scores: Floats, ratings: Floats, drawn: NDArray[np.int64]
) -> Agreement:
    flat = scores.reshape(len(scores), -1)
    figures = {n: float(f(flat, np.broadcast_to(ratings.ravel(), flat.shape)).mean()) for n, f in _OVER_ALL.items()}
    by_query = {
        f"{n} per query": np.array([_OVER_ALL[n](some, ratings) for some in scores]) for n in ("pearson", "kendall")
    }
    means = {name: np.nanmean(values, axis=0) for name, values in by_query.items()}  # over draws
    resampled = {name: np.nanmean(values[drawn], axis=1) for name, values in means.items()}
    resampled[SPEARMAN] = np.array([_spearman(scores[:, some], ratings[some]) for some in drawn])
    figures |= {name: float(np.nanmean(values)) for name, values in means.items()}
    ci = {name: percentile_interval(values) for name, values in resampled.items()}
    return Agreement(metric, arm, size, figures, ci, resampled, means[BY_QUERY])


def _spearman(scores: Floats, ratings: Floats) -> float:
    flat = scores.reshape(len(scores), -1)
    return float(spearman_rows(flat, np.broadcast_to(ratings.ravel(), flat.shape)).mean())


@dataclass(frozen=True, slots=True)
class Growth:
    """Agreement of a metric with people as references are added, one point per number of references."""

    metric: str
    way: str
    queries: int  # that have a correlation at every point of every way
    points: list[Estimate]
    gains: list[Estimate]  # over the first point


@dataclass(frozen=True, slots=True)
class Grown:
    """References added one by one: each way by number, all ways at the end, and differences there."""

    ways: list[Growth]
    ends: list[Agreement]
    differences: list[Comparison]


RANDOM, START, MIX, ALL = "random", "one reference", "Mix", "all"


def growth(
    queries: Sequence[Sourced], start: Arm, candidates: Arm, models: Mapping[str, Models], metrics: Mapping[str, str],
    resamples: int,
) -> Grown:  # fmt: skip
    """Agreement by the number of references, from one reference to ten, for each way to add candidates.

    A query with fewer chosen references keeps those it has, and a query without a correlation at some point is left out
    at all points: a gain must not come from other queries. Mix is the union of what all networks chose.
    """
    ways = {RANDOM: [at_random(start, candidates, seed) for seed in range(DRAWS)]}
    for label, model in models.items():
        own = [chosen(model, queries, start, candidates, seed) for seed in range(DRAWS)]
        ways[label] = own
        ways[f"{label}, half random"] = [half_random(arm, candidates, seed) for seed, arm in enumerate(own)]
    given = {f"{way}/{n}": [_first(arm, n) for arm in arms] for way, arms in ways.items() for n in range(1, LIMIT + 1)}
    ends = {START: [start]} | {way: given[f"{way}/{LIMIT}"] for way in ways}
    ends[MIX] = [union(*(ways[label][seed] for label in models)) for seed in range(DRAWS)]
    ends[ALL] = [union(start, candidates)]
    found = agreements(queries, given | ends, metrics, resamples)
    place = {(one.metric, one.arm): one for one in found}
    grown = []
    for metric in metrics:
        known = ~np.isnan([place[metric, arm].by_query for arm in given]).any(axis=0)
        for way in ways:
            values = [place[metric, f"{way}/{n}"].by_query[known] for n in range(1, LIMIT + 1)]
            points = [_mean(own, resamples) for own in values]
            gains = [_mean(own - values[0], resamples) for own in values]
            grown.append(Growth(metric, way, int(known.sum()), points, gains))
    pairs = [(label, other) for label in models for other in (RANDOM, START, ALL, MIX)]
    pairs += [(label, other) for label in models for other in models if label != other]
    last = [one for one in found if one.arm in ends]
    return Grown(grown, last, compared(last, pairs))


def _first(arm: Arm, n: int) -> Arm:
    return [texts[:n] for texts in arm]


def _mean(values: Floats, resamples: int) -> Estimate:
    """The mean over queries, leaving out NaN, with its interval."""
    known = values[~np.isnan(values)]
    if not len(known):
        return math.nan, math.nan, math.nan
    return float(known.mean()), *percentile_interval(known[_draw_queries(len(known), resamples)].mean(axis=1))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference between two arms by one metric, with its interval."""

    metric: str
    higher: str
    lower: str
    coefficient: str
    difference: float
    ci: tuple[float, float]
    queries: int


def compared(found: Sequence[Agreement], pairs: Sequence[tuple[str, str]]) -> list[Comparison]:
    """Differences of pairs of arms, paired by query: per query, over the queries with a correlation in both arms."""
    place = {(one.metric, one.arm): one for one in found}
    rows = []
    for metric in dict.fromkeys(one.metric for one in found):
        for higher, lower in pairs:
            a, b = place[metric, higher], place[metric, lower]
            spread = percentile_interval(a.resampled[SPEARMAN] - b.resampled[SPEARMAN])
            difference = a.figures[SPEARMAN] - b.figures[SPEARMAN]
            rows.append(Comparison(metric, higher, lower, SPEARMAN, difference, spread, len(a.by_query)))
            by_query = a.by_query - b.by_query
            difference, *ends = _mean(by_query, len(a.resampled[SPEARMAN]))
            known = int((~np.isnan(by_query)).sum())
            rows.append(Comparison(metric, higher, lower, BY_QUERY, difference, (ends[0], ends[1]), known))
    return rows
