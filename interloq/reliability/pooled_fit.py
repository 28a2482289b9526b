# SPDX-License-Identifier: Apache-2.0
"""A pooled model of reliability: ridge regression from features of a set of references, over all queries.

f(q, R) = w · φ(q, R),   w = (Σ_q v_q X_qᵀ X_q / n_q + λ Σ_q v_q)⁻¹ Σ_q v_q X_qᵀ c_q / n_q,   v_q = 1 / (τ² + s_q²)

φ are the standardised features in `rules.py`, c the labels of single references and of larger sets (`labels.py`). A
label over few replies is mostly noise, s² = (1 − c̄²)² / (replies − 1), with c̄ the mean of all labels. So each query
counts by how much its labels say (τ² is the variance between queries beyond the noise), and the few weights are learned
from all queries together. λ is chosen by the error on held-out queries. There are weights for queries and references
alone, and weights for queries whose replies are known, though not rated.

Each fold of the queries is held out once and compared there with naive predictions and with rules. If one of them is
better than the model, it is used in place of the model, and `warning` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interloq.data.batched import batched
from interloq.models.encoder import Encoder
from interloq.reliability.labels import FEWEST_REPLIES, QueryScores, compute_labels, draw_sets
from interloq.reliability.model import Prediction
from interloq.reliability.pooled_settings import PooledSettings
from interloq.reliability.rules import (
    AGREEMENT,
    FEATURES,
    RANDOM,
    REPLY_RULES,
    RULES,
    TEXT,
    Floats,
    Pool,
    Sets,
    describe_texts,
    order_by_rule,
)
from interloq.statistics.resampling import bootstrap_counts, percentile_interval

POOLED, MEAN, SIZE = "pooled", "mean", "size"
STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # λ
CHOSEN = (1, 3, 5)  # sizes at which choices are compared
DRAWS, RESAMPLES = 20, 1000
LEAST_BETWEEN = 0.01  # variance between queries: its estimate may be below 0
BATCH = 64  # queries whose references are read together
CONSTANT = 1e-6  # a feature that varies less has no weight


@dataclass(frozen=True, slots=True)
class Head:
    """Weights of the features, the constant last, with their covariance up to the noise of a label."""

    weights: Floats
    covariance: Floats

    def predict(self, features: Floats) -> Prediction:
        """Return predictions with intervals that cover the uncertainty of the weights."""
        rows = np.column_stack([features, np.ones(len(features))])
        return self.of(rows)

    def of(self, rows: Floats) -> Prediction:
        """Return predictions from rows that end with the constant (for differences, 0)."""
        mean = rows @ self.weights
        spread = 1.96 * np.sqrt(np.maximum(0, np.einsum("ij,jk,ik->i", rows, self.covariance, rows)))
        return Prediction(mean, mean - spread, mean + spread)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A query's pool with labelled sets: of each size drawn, and of all references."""

    pool: Pool
    scored: QueryScores
    features: Floats  # [sets, FEATURES], among the pool: what a choice depends on
    alone: Floats  # [sets, FEATURES], each set as if nothing else were known: what predictions are made from
    labels: Floats
    rated: int  # replies with a rating
    complete: float  # label of all references

    def label(self, sets: Sets) -> Floats:
        """Return the labels of further sets."""
        return compute_labels(self.scored, np.asarray(sets, dtype=np.int32))


def list_ways(*, replies: bool) -> tuple[list[str], list[str]]:
    """Return the ways of predicting and of choosing that are compared, the model first."""
    rules = list(REPLY_RULES if replies else RULES)
    return [POOLED, MEAN, SIZE, *rules], [POOLED, *rules, RANDOM]


def columns_of(way: str, *, replies: bool) -> list[int]:
    """Return the features that a way of predicting uses: the model all of them, the others one or none."""
    if way == POOLED:
        return [i for i, name in enumerate(FEATURES) if replies or name not in AGREEMENT]
    return [] if way == MEAN else [FEATURES.index(REPLY_RULES.get(way, way))]


class Moments:
    """Weighted sums over queries from which ridge regressions on any of them are computed."""

    def __init__(self, queries: Sequence[Labelled], seed: int, *, alone: bool) -> None:
        self.queries, self.features = queries, [query.alone if alone else query.features for query in queries]
        topics = [" ".join(query.scored.query.turns).strip() for query in queries]  # equal ones share a fold
        _, numbers = np.unique(topics, return_inverse=True)
        self.groups = np.random.default_rng(seed).permutation(len(topics))[numbers]
        labels = np.array([query.labels.mean() for query in queries])
        # by the mean of all labels: by its own, a query with a high label would count more, and raise all predictions
        noise = (1 - labels.mean() ** 2) ** 2 / (np.array([query.rated for query in queries]) - 1)
        self.noise, self.between = float(noise.mean()), max(LEAST_BETWEEN, float(labels.var() - noise.mean()))
        self.weights = 1 / (self.between + noise)
        every = np.concatenate(self.features)
        self.middle, spread = every.mean(axis=0), every.std(axis=0)
        self.scale = np.where(spread > CONSTANT, spread, 1.0)
        self.left, self.right = [], []
        for query, features, weight in zip(queries, self.features, self.weights, strict=True):
            rows = np.column_stack([(features - self.middle) / self.scale, np.ones(len(features))])
            self.left.append(weight / len(rows) * rows.T @ rows)
            self.right.append(weight / len(rows) * rows.T @ query.labels)

    def learn(self, which: Sequence[int], columns: Sequence[int], strength: float) -> Head:
        """Return the head learned from some queries."""
        some = [*columns, len(FEATURES)]
        total = self.weights[list(which)].sum()
        left = np.sum([self.left[i] for i in which], axis=0)[np.ix_(some, some)]
        right = np.sum([self.right[i] for i in which], axis=0)[some]
        penalty = np.diag([strength * total] * len(columns) + [0.0])
        inverse = np.linalg.inv(left + penalty)
        back = np.zeros((len(FEATURES) + 1, len(some)))  # from standardised columns to all features
        for place, column in enumerate(columns):
            back[column, place] = 1 / self.scale[column]
            back[-1, place] = -self.middle[column] / self.scale[column]
        back[-1, -1] = 1.0
        return Head(back @ inverse @ right, back @ inverse @ back.T)

    def measure_error(self, head: Head, number: int) -> float:
        """Return the mean squared error of predictions for the sets of one query."""
        return float(np.mean((head.predict(self.features[number]).mean - self.queries[number].labels) ** 2))

    def select(self, which: Sequence[int], columns: Sequence[int], folds: int) -> Head:
        """Return the head with the λ that has the smallest error on parts of these queries that it did not see."""
        if len(columns) < 2:
            return self.learn(which, columns, STRENGTHS[0])
        errors = np.zeros(len(STRENGTHS))
        fold_of = self.groups[list(which)] // (folds + 1) % folds
        for fold in range(folds):
            rest = [number for number, own in zip(which, fold_of, strict=True) if own != fold]
            held = [number for number, own in zip(which, fold_of, strict=True) if own == fold]
            for i, strength in enumerate(STRENGTHS if rest else ()):
                head = self.learn(rest, columns, strength)
                errors[i] += sum(self.weights[j] * self.measure_error(head, j) for j in held)
        return self.learn(which, columns, STRENGTHS[int(errors.argmin())])


def choose_greedily(head: Head, pool: Pool, own: Sequence[int], limit: int) -> list[int]:
    """Return the references to add to `own` ones: each time, the one with the best prediction for the set."""
    chosen, rest = list(own), [i for i in range(len(pool)) if i not in own]
    while rest and len(chosen) < limit:
        sets = np.array([[*chosen, candidate] for candidate in rest], dtype=np.int64)
        best = int(np.argmax(pool.describe(sets) @ head.weights[:-1]))
        chosen.append(rest.pop(best))
    return chosen[len(own) :]


class PairReader:
    """Reads references: features of their texts, and unit vectors, in one row per reference."""

    def __init__(self, name: str, device: str = "auto") -> None:
        self.encoder = Encoder(name, device=device)

    def read(self, pairs: Sequence[tuple[Sequence[str], str]]) -> Floats:
        """Return rows for pairs of a query (its turns) and a reference."""
        asked = [" ".join(turns) for turns, _ in pairs]
        texts = [text for _, text in pairs]
        vectors = self.encoder.sentences([*asked, *texts]).astype(np.float64)
        queries, own = vectors[: len(pairs)], vectors[len(pairs) :]
        cosines = np.einsum("ij,ij->i", queries, own)
        rows = [describe_texts(*one) for one in zip(asked, ([text] for text in texts), cosines[:, None], strict=True)]
        return np.column_stack([np.concatenate([np.zeros((0, len(TEXT))), *rows]), own])

    def make_pool(self, rows: Floats, scored: QueryScores | None = None) -> Pool:
        """Return the pool of references whose rows were read, with the scores of replies if there are any."""
        texts, vectors = rows[:, : len(TEXT)], rows[:, len(TEXT) :]
        if scored is None:
            return Pool(texts, vectors @ vectors.T)
        replies = self.encoder.sentences(scored.query.replies).astype(np.float64)
        return Pool(texts, vectors @ vectors.T, scored.scores, replies @ vectors.T, scored.over)


def label_queries(scored: Sequence[QueryScores], reader: PairReader, settings: PooledSettings) -> Iterator[Labelled]:
    """Yield the queries that have labels."""
    usable = [one for one in scored if one.query.has_text and one.query.references]
    for batch in batched(usable, BATCH):
        rows = reader.read([(one.query.turns, text) for one in batch for text in one.query.references])
        ends = np.cumsum([len(one.query.references) for one in batch])
        for one, own in zip(batch, np.split(rows, ends[:-1]), strict=True):
            query, rated = one.query, int((~np.isnan(one.query.ratings)).sum())
            sets = draw_sets(len(own), settings.set_sizes, settings.per_size, f"{settings.seed} {query.id}")
            labels = compute_labels(one, sets)
            complete = float(compute_labels(one, np.arange(len(own), dtype=np.int32)[None])[0])
            known = ~np.isnan(labels)
            if rated >= FEWEST_REPLIES and known.any() and not np.isnan(complete):
                pool = reader.make_pool(own, one)
                features, alone = pool.describe(sets[known]), pool.describe_alone(sets[known])
                yield Labelled(pool, one, features, alone, labels[known], rated, complete)


# ---- validation ------------------------------------------------------------------------------------------------------


def learn_folds(
    queries: Sequence[Labelled], settings: PooledSettings, *, replies: bool
) -> Iterator[tuple[list[int], Moments, dict[str, Head], Head]]:
    """Yield the held-out queries of each fold, with heads from all others: by way of predicting, and for choosing."""
    alone, among = (Moments(queries, settings.seed, alone=way) for way in (True, False))
    ways, _ = list_ways(replies=replies)
    for fold in range(settings.folds):
        held = np.flatnonzero(alone.groups % settings.folds == fold).tolist()
        rest = np.flatnonzero(alone.groups % settings.folds != fold).tolist()
        if held and rest:
            heads = {way: alone.select(rest, columns_of(way, replies=replies), settings.folds - 1) for way in ways}
            chooser = among.select(rest, columns_of(POOLED, replies=replies), settings.folds - 1)
            yield held, alone, heads, chooser


def validate(queries: Sequence[Labelled], settings: PooledSettings, *, replies: bool) -> dict[str, Any]:
    """Compare the model with naive predictions and rules on held-out queries; every query weighs the same."""
    predictors, choosers = list_ways(replies=replies)
    errors = {way: np.zeros(len(queries)) for way in predictors}
    labels: dict[str, Floats] = {way: np.full((len(queries), len(CHOSEN)), np.nan) for way in choosers}
    for held, moments, heads, chooser in learn_folds(queries, settings, replies=replies):
        for i in held:
            for way in predictors:
                errors[way][i] = moments.measure_error(heads[way], i)
            for way in choosers:
                labels[way][i] = label_choices(way, chooser, queries[i], settings.seed)
    return summarise(errors, labels, np.array([query.complete for query in queries]), settings.seed)


def label_choices(way: str, head: Head, query: Labelled, seed: int) -> list[float]:
    """Return the labels of the first 1, 3 and 5 chosen references; NaN for queries without more than so many."""
    sizes = [size if size < len(query.pool) else 0 for size in CHOSEN]
    orders = [order_by_rule(way, query.pool, seed + draw) for draw in range(DRAWS)] if way == RANDOM else []
    if way == POOLED:
        orders = [choose_greedily(head, query.pool, (), max(sizes))]
    elif way != RANDOM:
        orders = [order_by_rule(way, query.pool)]
    labels = []
    for size in sizes:
        found = query.label(np.array([order[:size] for order in orders])) if size else np.full(1, np.nan)
        labels.append(float(np.nanmean(found)) if not np.isnan(found).all() else np.nan)
    return labels


def summarise(
    errors: Mapping[str, Floats], labels: Mapping[str, Floats], complete: Floats, seed: int
) -> dict[str, Any]:
    """Return means over queries, and the model's gains over the best rule with intervals, as in JSON."""
    means: dict[str, dict[str, float]] = {way: {} for way in labels}
    gains, against_all, every = {}, {}, float(complete.mean())
    for column, size in enumerate(CHOSEN):
        known = ~np.isnan([values[:, column] for values in labels.values()]).any(axis=0)
        if not known.any():
            continue
        every = float(complete[known].mean())
        for way, values in labels.items():
            means[way][str(size)] = float(values[known, column].mean())
        rules = [way for way in labels if way in REPLY_RULES]
        best = max(rules, key=lambda rule: means[rule][str(size)])
        chosen = labels[POOLED][known, column]
        gains[str(size)] = {"rule": best, **_compare(chosen - labels[best][known, column], seed)}
        against_all[str(size)] = _compare(chosen - complete[known], seed)
    return {
        "queries": len(complete),
        "error": {way: float(values.mean()) for way, values in errors.items()},
        "random": means.pop(RANDOM),
        "all": every,
        "chosen": means,
        "gain": gains,
        "against_all": against_all,
    }


def _compare(differences: Floats, seed: int) -> dict[str, float]:
    """Return a mean difference with its interval over queries."""
    drawn = [counts @ differences / len(differences) for counts in bootstrap_counts(len(differences), RESAMPLES, seed)]
    low, high = percentile_interval(np.concatenate(drawn))
    return {"value": float(differences.mean()), "low": low, "high": high}


def decide(validation: Mapping[str, Any]) -> tuple[str, str]:
    """Return what predicts and what chooses: the model unless something simpler does as well on held-out queries."""
    error = validation["error"]
    chosen = {way: np.mean(list(values.values()) or [0.0]) for way, values in validation["chosen"].items()}
    simplest_first = sorted(chosen, key=lambda way: way == POOLED)
    return min(reversed(error), key=error.__getitem__), max(simplest_first, key=chosen.__getitem__)
