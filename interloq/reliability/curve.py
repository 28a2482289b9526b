# SPDX-License-Identifier: Apache-2.0
"""Correlation of a metric with people as own or foreign references are added (Gao et al., 2021, Figure 1).

Each query's references are shuffled several times and added one after another. In the noisy arm, only the first few are
the query's own; all others are references of other queries. Every point of a level has the same queries and replies, so
that only the references differ: a query without a correlation at one point is left out of the mean at all points.
Values are means over the shuffles, and intervals come from resampling queries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, product, repeat
from typing import Any, Literal

import numpy as np
from scipy import stats

from interloq.data.progress import Step
from interloq.errors import InputError, count
from interloq.metrics.metric import Array, FittedMetric, as_metric
from interloq.records import Sample
from interloq.registry import spec
from interloq.reliability.labels import (
    FEWEST_REPLIES,
    NONE,
    Coefficient,
    Members,
    RatedQuery,
    score_replies,
    subset_scores,
)
from interloq.reliability.reliability_options import CurveOptions
from interloq.signature import fingerprint
from interloq.statistics.correlation import BY_ROW
from interloq.statistics.resampling import bootstrap_counts, percentile_interval

Level = Literal["query", "all"]
DEFAULTS = CurveOptions()
UNRATED = "no reply with a rating and a score"
FEW_REFERENCES = "fewer references than the largest set"
MOST_SIGNS = 200  # points up to which Kendall's matrix of signs is faster than sorting


@dataclass(frozen=True, slots=True)
class AgreementPoint:
    """Correlation with sets of one size: the mean over queries, or over all replies together."""

    level: Level
    references: int
    foreign: int  # references of other queries among them
    value: float
    ci: tuple[float, float]
    gain: float  # over the first point of the curve; the noisy arm's first point is its last with own references only
    gain_ci: tuple[float, float]
    queries: int  # in the value; the same at every point of a level


@dataclass(frozen=True, slots=True)
class AgreementCurve:
    """Points of both arms at both levels, with counts."""

    metric: str
    coefficient: Coefficient
    points: Sequence[AgreementPoint]
    queries: int
    replies: int
    skipped: Mapping[str, int]  # queries, by reason
    distrusted: int = 0  # references of weight 0 or below, which count like the others
    undefined: int = 0  # queries that have no correlation of their own at some point, so count only over all replies
    copies: int = 0  # rated replies that equal a reference of their query
    without_copies: bool = False  # whether they were excluded

    def arm(self, level: Level, *, noisy: bool) -> list[AgreementPoint]:
        """Return the points of one line of a plot; the noisy arm starts with own references."""
        clean: list[AgreementPoint] = []
        foreign: list[AgreementPoint] = []
        for point in self.points:
            if point.level == level:
                (foreign if point.foreign else clean).append(point)
        if not noisy:
            return clean
        first = min((point.references - point.foreign for point in foreign), default=0)
        return [point for point in clean if point.references <= first] + foreign

    def notes(self) -> list[str]:
        """Return what a reader of the points must know."""
        notes = []
        if self.distrusted:
            references = count(self.distrusted, "reference")
            notes.append(f"{references} of weight 0 or below counted in full, because the curve ignores weights")
        if self.undefined:
            queries = count(self.undefined, "query has", "queries have")
            notes.append(
                f"{queries} no own correlation at some number of references (constant ratings or scores, or fewer than "
                f"{FEWEST_REPLIES} replies), so only the correlation over all replies includes them"
            )
        if self.copies and self.without_copies:
            notes.append(f"{count(self.copies, 'reply', 'replies')} excluded that equal a reference of their query")
        elif self.copies:
            replies = count(self.copies, "rated reply equals", "rated replies equal")
            notes.append(
                f"{replies} a reference of the same query; with more references, their scores rise for that alone "
                "(--without-copies excludes them)"
            )
        return notes


def curve(
    queries: Sequence[RatedQuery], metric: Any, options: CurveOptions = DEFAULTS, *, step: Step = lambda _: None
) -> AgreementCurve:
    """Compute both arms of the curve; `metric` is a metric or its spec.

    Queries with fewer references than the largest size are skipped. A metric that does not combine single references
    scores every set again. `step` is called with the number of replies just scored.
    """
    sizes, own, seed = sorted(set(options.sizes)), options.own, options.seed
    metric = as_metric(metric)
    steps = [(size, 0) for size in sizes]
    steps += [(size, size - own) for size in sizes if size > own]
    enough, copies = [], 0
    for query in queries:
        if len(query.references) >= sizes[-1]:
            copies += int((query.copies & ~np.isnan(query.ratings)).sum())
            enough.append(_remove_copies(query) if options.without_copies else query)
    noisy = _add_foreign(enough, max(0, sizes[-1] - own), seed)
    sets = []
    for query, noisy_query in zip(enough, noisy, strict=True):
        sets.append(_draw_sets(query, noisy_query, steps, options.draws, seed))
    scored, replies = [], 0
    for query, scores in zip(noisy, _score_sets(noisy, metric, sets, step), strict=True):
        rated = ~np.isnan(query.ratings) & ~np.isnan(scores).any(axis=0)
        if rated.any():
            scored.append(_ScoredQuery(query.ratings[rated], scores[:, rated]))
            replies += int(rated.sum())
    skipped = +Counter({FEW_REFERENCES: len(queries) - len(enough), UNRATED: len(enough) - len(scored)})  # no zeros
    if not scored:
        raise InputError(
            f"no query has {sizes[-1]} references and a rated reply", hint="give smaller sizes or more references"
        )
    by_query = _by_query(scored, len(steps), options)
    over_all = _over_all(scored, len(steps), options)
    points = [*_points("query", steps, by_query), *_points("all", steps, over_all)]
    return AgreementCurve(
        spec(metric),
        options.coefficient,
        points,
        len(scored),
        replies,
        dict(skipped),
        undefined=len(scored) - points[0].queries,
        copies=copies,
        without_copies=options.without_copies,
    )


def _remove_copies(query: RatedQuery) -> RatedQuery:
    others = ~query.copies
    replies = tuple(compress(query.replies, others))
    return replace(query, replies=replies, ratings=query.ratings[others])


def _add_foreign(queries: Sequence[RatedQuery], number: int, seed: int) -> list[RatedQuery]:
    """Return queries with this many references of other queries added."""
    if not number:
        return list(queries)
    texts = set(chain.from_iterable(query.references for query in queries))
    noisy = []
    for query in queries:
        others = sorted(texts.difference(query.references))
        if len(others) < number:
            raise InputError(
                f"{len(others)} references of other queries, but {number} are added as noise",
                hint="give more queries or smaller sizes",
            )
        rng = np.random.default_rng(int(fingerprint(str(seed), "foreign", query.id), 16))
        foreign = [others[i] for i in rng.choice(len(others), number, replace=False)]
        noisy.append(replace(query, references=(*query.references, *foreign)))
    return noisy


def _draw_sets(
    query: RatedQuery, noisy: RatedQuery, steps: Sequence[tuple[int, int]], draws: int, seed: int
) -> Members:
    """Return sets [steps · draws, width]: the first references of each shuffle, then foreign ones."""
    rng = np.random.default_rng(int(fingerprint(str(seed), "curve", query.id), 16))
    own, every = len(query.references), len(noisy.references)
    orders = [(rng.permutation(own), own + rng.permutation(every - own)) for _ in range(draws)]
    width = max(size for size, _ in steps)
    rows = []
    for (size, foreign), (own_order, foreign_order) in product(steps, orders):
        members = [*own_order[: size - foreign], *foreign_order[:foreign]]
        rows.append(members + [NONE] * (width - size))
    return np.array(rows, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class _ScoredQuery:
    """Replies of one query that have a rating and are scored with every set."""

    ratings: Array
    scores: Array  # [steps · draws, replies]


def _score_sets(queries: Sequence[RatedQuery], metric: Any, sets: Sequence[Members], step: Step) -> list[Array]:
    """Return the scores [sets, replies] of each query."""
    if metric.over_references is None:
        return list(_score_again(queries, metric, sets, step))
    scores = []
    for query, members in zip(score_replies(queries, metric, step=step), sets, strict=True):
        scores.append(subset_scores(query.scores, members, query.over))
    return scores


def _score_again(queries: Sequence[RatedQuery], metric: Any, sets: Sequence[Members], step: Step) -> Iterator[Array]:
    """Yield scores by a metric that does not combine single references."""
    if isinstance(metric, FittedMetric):
        metric = metric.fit(list(chain.from_iterable(query.samples for query in queries)))
    for query, members in zip(queries, sets, strict=True):
        samples: list[Sample] = []
        for row in members:
            texts = tuple(query.references[i] for i in row if i != NONE)
            samples += replace(query, references=texts).samples
        yield np.asarray(metric.value(metric.stats(samples)), dtype=np.float64).reshape(len(members), -1)
        step(len(query.replies))


@dataclass(frozen=True, slots=True)
class _Spread:
    """Correlation at one step, in each resample of the queries, and the number of queries with a value."""

    value: float
    resampled: Array
    queries: int


def _by_query(scored: Sequence[_ScoredQuery], steps: int, options: CurveOptions) -> list[_Spread]:
    """Return the mean of each query's correlation, over the queries that have one at every step."""
    # [queries, steps, draws]
    correlations = np.array([_labels(query, options.coefficient).reshape(steps, -1) for query in scored])
    known = ~np.isnan(correlations)
    number = known.sum(axis=2)
    means = np.where(number > 0, np.where(known, correlations, 0.0).sum(axis=2) / np.maximum(number, 1), np.nan)
    means = means[~np.isnan(means).any(axis=1)]  # a gain must not come from other queries
    if not len(means):
        return [_Spread(float("nan"), np.full(options.n_bootstrap, np.nan), 0)] * steps
    blocks = [counts @ means / len(means) for counts in bootstrap_counts(len(means), options.n_bootstrap, options.seed)]
    resampled = np.concatenate([np.zeros((0, steps)), *blocks])
    values = means.mean(axis=0).tolist()
    return list(map(_Spread, values, resampled.T, repeat(len(means))))


def _labels(query: _ScoredQuery, coefficient: Coefficient) -> Array:
    if len(query.ratings) < FEWEST_REPLIES:
        return np.full(len(query.scores), np.nan)
    return BY_ROW[coefficient](query.scores, np.broadcast_to(query.ratings, query.scores.shape))


def _over_all(scored: Sequence[_ScoredQuery], steps: int, options: CurveOptions) -> list[_Spread]:
    """Return the correlation over the replies of all queries together, as a mean over shuffles."""
    ratings = np.concatenate([query.ratings for query in scored])
    scores = np.concatenate([query.scores for query in scored], axis=1).reshape(steps, -1, len(ratings))
    ends = np.cumsum([len(query.ratings) for query in scored])
    places = np.split(np.arange(len(ratings)), ends[:-1])
    correlate = _choose_correlation(options.coefficient, len(ratings))
    resampled = np.empty((options.n_bootstrap, steps))
    rng = np.random.default_rng(options.seed)
    for b in range(options.n_bootstrap):
        drawn = np.concatenate([places[i] for i in rng.integers(len(scored), size=len(scored))])
        for i in range(steps):
            resampled[b, i] = _mean_correlation(correlate, scores[i][:, drawn], ratings[drawn])
    spreads = []
    for i in range(steps):
        value = _mean_correlation(correlate, scores[i], ratings)
        spreads.append(_Spread(value, resampled[:, i], len(scored)))
    return spreads


def _choose_correlation(coefficient: Coefficient, points: int) -> Callable[[Array, Array], Array]:
    """Return a function for the correlation of each row; Kendall's τ of many points is computed by sorting."""
    if coefficient != "kendall" or points <= MOST_SIGNS:
        return BY_ROW[coefficient]
    return lambda x, y: np.array([stats.kendalltau(*row).statistic for row in zip(x, y, strict=True)])


def _mean_correlation(correlate: Callable[[Array, Array], Array], scores: Array, ratings: Array) -> float:
    if len(ratings) < FEWEST_REPLIES:
        return float("nan")
    correlations = correlate(scores, np.broadcast_to(ratings, scores.shape))
    known = correlations[~np.isnan(correlations)]
    if not len(known):
        return float("nan")
    return float(known.mean())


def _points(level: Level, steps: Sequence[tuple[int, int]], spreads: Sequence[_Spread]) -> Iterator[AgreementPoint]:
    """Yield points with gains over the first point of their arm; both resample the same queries."""
    clean = [(size, spread) for (size, foreign), spread in zip(steps, spreads, strict=True) if not foreign]
    for (size, foreign), spread in zip(steps, spreads, strict=True):
        base = clean[0][1]
        if foreign:
            for clean_size, clean_spread in clean:
                if clean_size <= size - foreign:
                    base = clean_spread
        yield AgreementPoint(
            level,
            size,
            foreign,
            spread.value,
            percentile_interval(spread.resampled),
            spread.value - base.value,
            percentile_interval(spread.resampled - base.resampled),
            spread.queries,
        )
