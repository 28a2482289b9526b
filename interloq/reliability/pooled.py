# SPDX-License-Identifier: Apache-2.0
"""The pooled model of reliability: predicts how reliable sets of references are, and chooses references.

It learns as described in `pooled_fit.py`. It is saved as JSON and NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from interloq.data.files.opening import read_json, reading_saved, replacing, write_json
from interloq.data.progress import Progress, silent
from interloq.data.text.language import main_language
from interloq.errors import InputError
from interloq.registry import create, spec
from interloq.reliability.augment import Augmented, CandidateTrial, Request
from interloq.reliability.labels import (
    FEWEST_REPLIES,
    NONE,
    QueryScores,
    RatedQuery,
    distinct_texts,
    has_text,
    metric_id,
    score_replies,
)
from interloq.reliability.model import Effects, Prediction
from interloq.reliability.pooled_fit import (
    MEAN,
    POOLED,
    SIZE,
    Head,
    Labelled,
    Moments,
    PairReader,
    choose_greedily,
    columns_of,
    decide,
    label_queries,
    validate,
)
from interloq.reliability.pooled_settings import PooledSettings
from interloq.reliability.rules import FEATURES, Floats, Pool, Sets, order_by_rule
from interloq.signature import fingerprint

KIND = "pooled-reliability"
FACTS, ARRAYS = "pooled.json", "pooled.npz"
ALONE, WITH_REPLIES = "", "_with_replies"
FEWEST = 10  # queries
Replies = Sequence[str]


class Pooled:
    """A pooled model; `uses` in its facts says what predicts and what chooses references."""

    predicts = "reliability"

    def __init__(self, heads: Mapping[str, Head], facts: dict[str, Any], device: str = "auto") -> None:
        self.heads, self.facts, self.device = heads, facts, device

    @classmethod
    def train(
        cls,
        queries: Sequence[RatedQuery],
        metric: Any,
        settings: PooledSettings | None = None,
        *,
        scored: Sequence[QueryScores] | None = None,
        progress: Progress = silent,
    ) -> Pooled:
        """Learn from rated queries, and compare the model with rules on queries that it did not see."""
        settings = settings or PooledSettings()
        if scored is None:
            with progress("scoring replies", sum(len(query.replies) for query in queries)) as step:
                scored = score_replies(queries, metric, step=step)
        reader = PairReader(settings.encoder)
        with progress("reading references", len(scored)) as step:
            labelled = []
            for one in label_queries(scored, reader, settings):
                labelled.append(one)
                step(1)
        if len(labelled) < FEWEST:
            hint = "each needs three or more rated replies, whose ratings and scores differ, and references"
            raise InputError(f"a pooled model needs {FEWEST} labelled queries, got {len(labelled)}", hint=hint)
        return cls.learn(labelled, metric, settings, reader)

    @classmethod
    def learn(cls, labelled: Sequence[Labelled], metric: Any, settings: PooledSettings, reader: PairReader) -> Pooled:
        """Learn from labelled queries."""
        alone, among = (Moments(labelled, settings.seed, alone=way) for way in (True, False))
        uses: dict[str, str] = {}
        heads: dict[str, Head] = {}
        facts: dict[str, Any] = {"kind": KIND, "config": {"folds": settings.folds, "seed": settings.seed}}
        every = range(len(labelled))
        for name, replies in ((ALONE, False), (WITH_REPLIES, True)):
            validation = validate(labelled, settings, replies=replies)
            predicts, chooses = decide(validation)
            facts[f"validation{name}"] = validation
            uses |= {f"predict{name}": predicts, f"choose{name}": chooses}
            heads[f"predict{name}"] = alone.select(every, columns_of(predicts, replies=replies), settings.folds)
            heads[f"choose{name}"] = among.select(every, columns_of(POOLED, replies=replies), settings.folds)
        complete = np.array([query.complete for query in labelled])
        noise, variance = alone.noise, float(complete.var())
        facts["labels"] = {
            "queries": len(labelled),
            "replies": float(np.mean([len(query.scored.query.replies) for query in labelled])),
            "mean": float(complete.mean()),
            "variance": variance,
            "noise": noise,
            "learnable": max(0.0, 1 - noise / variance) if variance else 0.0,
        }
        facts |= {
            "uses": uses,
            "metric": {"spec": spec(metric), "id": metric_id(metric)},
            "encoder": {"name": settings.encoder, "id": reader.encoder.name},
            "features": list(FEATURES),
            "language": main_language(text for query in labelled for text in query.scored.query.references),
        }
        model = cls(heads, facts)
        model.reader = reader
        return model

    @cached_property
    def reader(self) -> PairReader:
        """The encoder, which must be the one that the model was trained with."""
        reader = PairReader(self.facts["encoder"]["name"], self.device)
        if reader.encoder.name != self.facts["encoder"]["id"]:
            raise InputError(f"{reader.encoder.folder} is not the encoder that the pooled model was trained with")
        return reader

    @staticmethod
    def is_saved(folder: str | Path) -> bool:
        """Return whether a folder has a pooled model."""
        return (Path(folder) / FACTS).is_file()

    def save(self, folder: str | Path) -> None:
        """Write the model; its facts are written last."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {}
        for name, head in self.heads.items():
            arrays |= {f"weights-{name}": head.weights, f"covariance-{name}": head.covariance}
        with replacing(Path(folder) / ARRAYS) as file:
            np.savez(file, **arrays)
        write_json(Path(folder) / FACTS, self.facts)

    @classmethod
    def load(
        cls, folder: str | Path, *, metric: Any = None, encoder: str | None = None, device: str = "auto"
    ) -> Pooled:
        """Load a saved model; `encoder` is where its encoder is now."""
        with reading_saved(folder):
            facts = read_json(Path(folder) / FACTS)
            with np.load(Path(folder) / ARRAYS, allow_pickle=False) as arrays:
                heads = {name: Head(arrays[f"weights-{name}"], arrays[f"covariance-{name}"]) for name in facts["uses"]}
            if facts["kind"] != KIND or facts["features"] != list(FEATURES):
                raise ValueError("it was made by another version of the package")
        facts["encoder"]["name"] = encoder or facts["encoder"]["name"]
        model = cls(heads, facts, device)
        if metric is not None:
            model.check_metric(metric)
        return model

    @cached_property
    def _metric(self) -> Any:
        return create(self.metric, kind="metric")

    @property
    def metric(self) -> str:
        """Return the spec of the metric whose reliability is predicted."""
        return str(self.facts["metric"]["spec"])

    def check_metric(self, metric: Any) -> None:
        """Refuse a metric that the model was not trained for; `metric` may be a spec."""
        asked_id = metric_id(create(metric, kind="metric") if isinstance(metric, str) else metric)
        if asked_id != self.facts["metric"]["id"]:
            raise InputError(f"the model predicts the reliability of {self.facts['metric']['id']}, not of {asked_id}")

    def warning(self, *, replies: bool = False) -> str:
        """Return what is used in place of the model, because it was better on held-out queries; empty if nothing.

        It may be another rule if the replies to be scored are known.
        """
        suffix = WITH_REPLIES if replies else ALONE
        uses, reason = self.facts["uses"], self.facts.get("network", {}).get("reason", "")
        sentences = [reason] if reason else []
        for name, what in (("predict", "predictions follow"), ("choose", "references are chosen by")):
            way = uses[f"{name}{suffix}"]
            if way != POOLED:
                sentences.append(f"on held-out queries the pooled model is not better, so {what} {_NAMES[way]}")
        return "; ".join(sentences)

    def signature(self) -> str:
        """Return what identifies the model."""
        weights = [head.weights.tobytes().hex() for head in self.heads.values()]
        return f"{KIND}-{fingerprint(self.facts['encoder']['id'], repr(self.facts['uses']), *weights)}"

    def encode(self, pairs: Sequence[tuple[Sequence[str], str]]) -> Floats:
        """Return one row per pair of a query (its turns) and a reference."""
        return self.reader.read(pairs)

    def project(self, vectors: Floats) -> Floats:
        """Return the rows unchanged."""
        return vectors

    def make_projected(self) -> Pooled:
        """Return the model: it is as fast for many sets."""
        return self

    def predict_sets(self, vectors: Floats, sets: Sets) -> Prediction:
        """Predict sets given as rows of pair numbers, each among its own members; NaN for an empty set."""
        pool = self.reader.make_pool(vectors)
        return self._predict(pool, sets, ALONE)

    def _predict(self, pool: Pool, sets: Sets, suffix: str) -> Prediction:
        """Predict sets, each as if nothing else were known about its query; NaN for an empty set."""
        rows = np.full((len(sets), len(FEATURES)), np.nan)
        filled = (sets != NONE).any(axis=1)
        rows[filled] = pool.describe_alone(sets[filled])
        prediction = self.heads[f"predict{suffix}"].predict(rows)
        return Prediction(*(np.clip(part, -1, 1) for part in (prediction.mean, prediction.low, prediction.high)))

    def predict(
        self, queries: Sequence[Sequence[str]], reference_sets: Sequence[Sequence[str]], replies: Any = None
    ) -> Prediction:
        """Predict sets of references for queries; NaN as in `Reliability`. `replies` are the ones to be scored."""
        parts = []
        for texts, pool, suffix in self._pools(queries, reference_sets, replies):
            parts.append(self._predict(pool, np.array([[*range(len(texts)), NONE]]), suffix)[0])
        return Prediction(*(np.array([getattr(part, name) for part in parts]) for name in ("mean", "low", "high")))

    def leave_one_out(
        self, queries: Sequence[Sequence[str]], reference_sets: Sequence[Sequence[str]], replies: Any = None
    ) -> list[Effects]:
        """Return the effect of each distinct reference: how much the prediction falls without it."""
        effects = []
        for texts, pool, suffix in self._pools(queries, reference_sets, replies):
            whole = np.array([[*range(len(texts)), NONE]])
            sets = np.repeat(whole, len(texts), axis=0)
            sets[np.arange(len(texts)), np.arange(len(texts))] = NONE
            difference = np.full((len(texts), len(FEATURES) + 1), np.nan)
            if len(texts) > 1:
                difference[:, :-1] = pool.describe_alone(whole) - pool.describe_alone(sets)
                difference[:, -1] = 0.0
            effect = self.heads[f"predict{suffix}"].of(difference)
            effects.append(Effects(tuple(texts), effect, self._predict(pool, whole, suffix)[0]))
        return effects

    def _pools(
        self, queries: Sequence[Sequence[str]], reference_sets: Sequence[Sequence[str]], replies: Any
    ) -> Iterator[tuple[tuple[str, ...], Pool, str]]:
        """Yield the distinct references of each query with their pool; none for a query without text."""
        for turns, given, scored in zip(queries, reference_sets, replies or [()] * len(queries), strict=True):
            texts = distinct_texts(given) if has_text(turns) else ()
            yield texts, *self._pool(turns, texts, scored)

    def _pool(self, turns: Sequence[str], texts: Sequence[str], replies: Replies) -> tuple[Pool, str]:
        """Return the pool of a query, and which weights to use for it."""
        rows = self.encode([(turns, text) for text in texts])
        if not texts or len(set(replies)) < FEWEST_REPLIES:
            return self.reader.make_pool(rows), ALONE
        query = RatedQuery(tuple(turns), tuple(replies), np.zeros(len(replies)), tuple(texts))
        (scored,) = score_replies([query], self._metric)
        return self.reader.make_pool(rows, scored), WITH_REPLIES

    def choose(
        self, requests: Sequence[Request], *, limit: int | None = None, replies: Sequence[Replies] | None = None
    ) -> list[Augmented]:
        """Add candidates to each query's own references, best first, until there are `limit`; None: add all of them.

        `replies` are the replies to each query that will be scored, if they are known.
        """
        return [self._choose(request, limit, replies[i] if replies else ()) for i, request in enumerate(requests)]

    def _choose(self, request: Request, limit: int | None, replies: Replies) -> Augmented:
        new = {candidate.text.strip(): candidate for candidate in request.list_new_candidates()}
        own = request.list_known_texts()
        pool, suffix = self._pool(request.turns, [*own, *new], replies)
        order = self._order(pool, len(own), limit, suffix)
        texts = list(new)
        nested = np.full((len(order) + 1, max(1, len(pool))), NONE, dtype=np.int64)
        for size in range(len(order) + 1):
            nested[size, : len(own) + size] = [*range(len(own)), *order[:size]]
        predictions = self._predict(pool, nested, suffix).mean
        trials = []
        for place, reference in enumerate(order):
            before, after = float(predictions[place]), float(predictions[place + 1])
            trials.append(CandidateTrial(new[texts[reference - len(own)]], before, after, kept=True))
        return Augmented(float(predictions[0]), float(predictions[-1]), tuple(trials))

    def _order(self, pool: Pool, own: int, limit: int | None, suffix: str) -> list[int]:
        way, most = self.facts["uses"][f"choose{suffix}"], len(pool) if limit is None else min(limit, len(pool))
        if most >= len(pool):
            return list(range(own, len(pool)))  # all of them
        if way == POOLED:
            return choose_greedily(self.heads[f"choose{suffix}"], pool, range(own), most)
        return [place for place in order_by_rule(way, pool) if place >= own][: max(0, most - own)]


_NAMES = {
    MEAN: "the mean label",
    SIZE: "the number of references",
    "longest": "length",
    "nearest-references": "their similarity to the other references",
    "nearest-query": "their similarity to the query",
    "agreement": "how well scores agree with the similarity of replies to all references",
}
