# SPDX-License-Identifier: Apache-2.0
"""Labels of REAM# (Gao et al., 2021): how reliable sets of references are, measured with people's ratings.

c(q, R) = correlation over the replies to query q of metric(reply, R) with people's mean rating

Every reply is scored against every single reference once. The score with a set of references is the maximum or the mean
of these numbers, so no set is ever scored again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.data.progress import Step
from interloq.errors import InputError
from interloq.metrics.metric import Array, Metric, Reduction, as_metric
from interloq.records import Reference, Sample
from interloq.registry import facts, name_of, names
from interloq.reliability.settings import PER_SIZE, SIZES
from interloq.reliability.settings import Coefficient as Coefficient
from interloq.retrieve.leaks import normalise_text
from interloq.signature import LIBRARIES, VERSION, fingerprint, signature
from interloq.statistics.correlation import BY_ROW, is_constant

Members = NDArray[np.int32]  # one row of reference numbers per set, padded with NONE
NONE = -1
FEWEST_REPLIES = 3  # two replies always correlate perfectly
REPLIES = 512  # scored together: bounds memory, and the time between two reports of progress

FEW_REPLIES = f"fewer than {FEWEST_REPLIES} replies with a rating and a score"
CONSTANT_RATINGS = "constant ratings"
FEW_REFERENCES = "fewer references than the smallest set"
CONSTANT_SCORES = "constant scores"
UNSCORED = "a reply without a score"


@dataclass(frozen=True, slots=True)
class RatedQuery:
    """An utterance with its replies, their mean ratings (NaN: unrated) and distinct references."""

    turns: tuple[str, ...]
    replies: tuple[str, ...]
    ratings: Array
    references: tuple[str, ...]

    @property
    def id(self) -> str:
        """Return a short hash of the turns."""
        return fingerprint(*self.turns)

    @property
    def has_text(self) -> bool:
        """Return whether a turn has text."""
        return has_text(self.turns)

    @property
    def copies(self) -> NDArray[np.bool_]:
        """Return whether each reply equals one of the references, up to case and punctuation."""
        references = set(map(normalise_text, self.references))
        return np.array([normalise_text(reply) in references for reply in self.replies], dtype=bool)

    @property
    def samples(self) -> list[Sample]:
        """Return the replies as samples with all references; none without references."""
        if not self.references:
            return []
        references = tuple(map(Reference, self.references))
        return [Sample("", self.turns, reply, references) for reply in self.replies]


@dataclass(frozen=True, slots=True)
class QueryScores:
    """A query with the scores of its replies [replies, references] by one metric; NaN: unscored."""

    query: RatedQuery
    scores: Array
    over: Reduction


@dataclass(frozen=True, slots=True)
class Labels:
    """Sets of references with their labels. Set i has references `members[i]` of query `query[i]`."""

    query: NDArray[np.int64]
    members: Members
    values: Array  # NaN: undefined
    skipped: Mapping[str, int]  # queries without any set, by reason
    undefined: Mapping[str, int]  # sets whose label is NaN, by reason

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Return the number of references of each set."""
        return np.asarray((self.members != NONE).sum(axis=1))


def group_queries(samples: Iterable[Sample], *, aspect: str = "overall") -> list[RatedQuery]:
    """Join samples with the same context into queries, in an order that does not depend on the order of the samples.

    A query has the references of all its samples: distinct texts, without empty ones. Samples without a context are
    joined only if their ids are equal.
    """
    samples_by_query: dict[tuple[tuple[str, ...], str], list[Sample]] = {}
    for sample in samples:
        turns = tuple(turn.text for turn in sample.context)
        id = "" if turns else sample.id
        samples_by_query.setdefault((turns, id), []).append(sample)
    queries = []
    for (turns, _), joined in sorted(samples_by_query.items()):
        replies, ratings, texts = [], [], []
        for sample in sorted(joined, key=lambda sample: (*sample.key, sample.response)):
            replies.append(sample.response)
            values = [rating.value for rating in sample.ratings if rating.aspect == aspect and rating.value is not None]
            ratings.append(math.fsum(values) / len(values) if values else math.nan)
            texts += [reference.text for reference in sample.references]
        queries.append(RatedQuery(turns, tuple(replies), np.array(ratings), distinct_texts(texts)))
    return queries


def has_text(turns: Iterable[str]) -> bool:
    """Return whether a turn of a query has text; otherwise, nothing can be predicted."""
    return any(turn.strip() for turn in turns)


def distinct_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct texts in sorted order, without outer white space and without empty ones."""
    return tuple(sorted({text.strip() for text in texts} - {""}))


def score_replies(queries: Sequence[RatedQuery], metric: Any, *, step: Step = lambda _: None) -> list[QueryScores]:
    """Score every reply against every reference of its query; `metric` is a metric or its spec.

    `step` is called with the number of replies just scored.
    """
    metric = as_metric(metric)
    over = check_reduction(metric)
    samples = chain.from_iterable(query.samples for query in queries)
    parts = [np.zeros(0)]
    for batch in batched(samples, REPLIES):
        parts.append(metric.by_reference(batch))
        step(len(batch))
    flat, start, scored = np.concatenate(parts), 0, []
    for query in queries:
        shape = len(query.replies), len(query.references)
        end = start + shape[0] * shape[1]
        scored.append(QueryScores(query, flat[start:end].reshape(shape), over))
        start = end
    return scored


def check_reduction(metric: Metric) -> Reduction:
    """Return how a metric combines references; refuse a metric whose score is not a maximum or mean."""
    over = metric.over_references
    if over is None:
        raise InputError(
            f"{name_of(metric)} with these settings is not a maximum or mean over single references",
            hint=f"use one of {', '.join(list_usable_metrics())}",
        )
    return over


def list_usable_metrics() -> list[str]:
    """Return the names of metrics that combine single references, some of them only with certain settings."""
    return [name for name in names("metric") if facts(name, kind="metric")["compares_references"]]


def subset_scores(scores: Array, members: Members, over: Reduction) -> Array:
    """Return scores [sets, replies] with each set, from `scores` [replies, references]; NaN: unscored."""
    padded = np.concatenate([scores, np.full((len(scores), 1), np.nan)], axis=1)  # the column that NONE reads
    taken = padded.T[members]  # [sets, members, replies]
    if over == "max":
        return np.asarray(np.fmax.reduce(taken, axis=1))
    known = (~np.isnan(taken)).sum(axis=1)
    total = np.where(np.isnan(taken), 0.0, taken).sum(axis=1)
    return np.where(known > 0, total / np.maximum(known, 1), np.nan)


def draw_labels(
    queries: Sequence[QueryScores],
    *,
    sizes: Sequence[int] = SIZES,
    per_size: int = PER_SIZE,
    coefficient: Coefficient = "pearson",
    seed: int = 0,
) -> Labels:
    """Draw different sets of each size for each query, and compute their labels.

    If a query has fewer than `per_size` sets of a size, all of them are used; a query's sets do not depend on the other
    queries.
    """
    if not sizes or min(sizes) < 1 or per_size < 1:
        raise InputError(f"sizes and sets per size must be at least 1, got {tuple(sizes)} and {per_size}")
    width, skipped, undefined = max(sizes), Counter[str](), Counter[str]()
    numbers, members, values = [], [np.zeros((0, width), dtype=np.int32)], [np.zeros(0)]
    for i, scored in enumerate(queries):
        if reason := _unusable(scored, min(sizes)):
            skipped[reason] += 1
            continue
        drawn = draw_sets(len(scored.query.references), sizes, per_size, f"{seed} {scored.query.id}")
        set_values = compute_labels(scored, drawn, coefficient)
        rated_scores, unlabelled = scored.scores[_find_rated_replies(scored)], drawn[np.isnan(set_values)]
        missing = np.isnan(subset_scores(rated_scores, unlabelled, scored.over)).any(axis=1)
        undefined += Counter({UNSCORED: int(missing.sum()), CONSTANT_SCORES: int((~missing).sum())})
        numbers += [i] * len(drawn)
        members.append(drawn)
        values.append(set_values)
    query = np.array(numbers, dtype=np.int64)
    return Labels(query, np.concatenate(members), np.concatenate(values), skipped, undefined)


def compute_labels(scored: QueryScores, members: Members, coefficient: Coefficient = "pearson") -> Array:
    """Return the labels of some sets of one query; NaN if undefined."""
    rated = _find_rated_replies(scored)
    if rated.sum() < FEWEST_REPLIES:
        return np.full(len(members), np.nan)
    scores = subset_scores(scored.scores[rated], members, scored.over)
    return BY_ROW[coefficient](scores, np.broadcast_to(scored.query.ratings[rated], scores.shape))


def compute_labels_without(scored: QueryScores, members: Members, coefficient: Coefficient = "pearson") -> Array:
    """Return the labels [sets, members] of each set without one of its references; NaN: undefined, or padding."""
    sets, width = members.shape
    smaller = np.repeat(members[:, None], width, axis=1)
    smaller[:, range(width), range(width)] = NONE
    smaller_labels = compute_labels(scored, smaller.reshape(-1, width), coefficient).reshape(sets, width)
    return np.where(members == NONE, np.nan, smaller_labels)


def draw_sets(references: int, sizes: Sequence[int], per_size: int, seed: str) -> Members:
    """Draw different sets of each size that is not above the number of references, each in ascending order."""
    rng = np.random.default_rng(int(fingerprint(seed), 16))
    drawn, width = [], max(sizes)
    for size in dict.fromkeys(sizes):
        if size <= references:
            drawn += [row + (NONE,) * (width - size) for row in _draw(references, size, per_size, rng)]
    return np.array(drawn, dtype=np.int32).reshape(-1, width)


def _draw(references: int, size: int, wanted: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    if math.comb(references, size) <= 2 * wanted:
        every = list(combinations(range(references), size))
        return [every[i] for i in sorted(rng.permutation(len(every))[:wanted])]
    distinct: dict[tuple[int, ...], None] = {}
    while len(distinct) < wanted:
        order = rng.random((wanted, references)).argpartition(size - 1, axis=1)[:, :size]
        distinct |= dict.fromkeys(map(tuple, np.sort(order, axis=1).tolist()))
    return list(distinct)[:wanted]


def _find_rated_replies(scored: QueryScores) -> NDArray[np.bool_]:
    """Return which replies have a rating and a score against at least one reference."""
    return np.asarray(~np.isnan(scored.query.ratings) & ~np.isnan(scored.scores).all(axis=1))


def _unusable(scored: QueryScores, smallest: int) -> str:
    """Return why no set of a query has a label, or an empty string."""
    if len(scored.query.references) < smallest:
        return FEW_REFERENCES
    rated = _find_rated_replies(scored)
    if rated.sum() < FEWEST_REPLIES:
        return FEW_REPLIES
    if is_constant(scored.query.ratings[rated]):
        return CONSTANT_RATINGS
    return ""


def metric_id(metric: Any) -> str:
    """Return what identifies a metric: its fields and models, without their locations and package versions."""
    return str(signature(metric).without(VERSION, *LIBRARIES))
