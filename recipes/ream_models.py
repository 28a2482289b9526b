"""Networks of `ream.py`, trained by the package's own job, and their errors on sets of queries they never saw.

Predictions are compared with three naive ones, each fitted to the labels of the same training queries: the mean label;
a line through the logarithm of the size; a line through the mean cosine of the references with the query's last turn.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rated_sets import Floats
from ream_sets import as_samples

from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.models.encoder import Encoder
from interloq.registry import create
from interloq.reliability.job import ReliabilityJob
from interloq.reliability.labels import NONE, Labels, QueryScores, RatedQuery, draw_labels
from interloq.reliability.model import Reliability
from interloq.reliability.settings import ReliabilitySettings
from interloq.signature import fingerprint
from interloq.statistics.resampling import percentile_interval

MODEL, MEAN, SIZE, SIMILARITY = "REAM#", "mean", "size", "similarity"
NAIVE = (MEAN, SIZE, SIMILARITY)


@dataclass(frozen=True, slots=True)
class Plan:
    """How networks are trained."""

    metric: str
    encoder: str
    sentences: str  # encoder of the cosines
    settings: ReliabilitySettings
    training: Training
    work: Path
    device: str = "cpu"

    def network(self, queries: Sequence[RatedQuery]) -> Reliability:
        """A network trained on these queries, or the one that an earlier run trained on them."""
        source = fingerprint(*(query.id for query in queries), self.metric)
        name = fingerprint(source, self.encoder, repr(self.settings), repr(self.training))
        job = ReliabilityJob(
            samples=lambda: as_samples(queries),
            metric=create(self.metric, kind="metric"),
            encoder=self.encoder,
            settings=self.settings,
            training=self.training,
            source=source,
        )
        train(job, self.work / name, device=self.device, report=lambda line: print(f"  {line}", file=sys.stderr))
        return Reliability.load(self.work / name, device=self.device)


def folds(queries: Sequence[RatedQuery], number: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Training and held-out queries of each fold; queries with the same text are in the same fold."""
    texts = [" ".join(query.turns).strip() for query in queries]
    distinct = list(dict.fromkeys(texts))
    order = np.random.default_rng(0).permutation(len(distinct))
    for own in np.array_split(order, number):
        held_out = {distinct[i] for i in own.tolist()}
        is_held_out = np.array([text in held_out for text in texts])
        yield np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


# ---- predictions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Predicted:
    """Held-out sets: query, size, label, and what each way predicts."""

    query: NDArray[np.int64]
    sizes: NDArray[np.int64]
    labels: Floats
    found: Mapping[str, Floats]

    @classmethod
    def joined(cls, parts: Sequence[Predicted]) -> Predicted:
        """Of several folds."""
        query, sizes = (np.concatenate([getattr(p, name) for p in parts]) for name in ("query", "sizes"))
        found = {way: np.concatenate([p.found[way] for p in parts]) for way in parts[0].found}
        return cls(query, sizes, np.concatenate([p.labels for p in parts]), found)


def predicted(
    model: Reliability,
    plan: Plan,
    train_on: Sequence[QueryScores],
    held_out: Sequence[QueryScores],
    numbers: NDArray[np.int64],
    sizes: Sequence[int],
) -> Predicted:
    """Predictions for sets of held-out queries, which have these numbers among all queries."""
    own = _known(draw_labels(train_on, sizes=plan.settings.set_sizes, per_size=plan.settings.per_size))
    new = _known(draw_labels(held_out, sizes=sizes, per_size=plan.settings.per_size))
    encoder = Encoder(plan.sentences, device="cpu")
    found = {MODEL: predict_members(model, [one.query for one in held_out], new)}
    inputs = {
        MEAN: (np.zeros(len(own.values)), np.zeros(len(new.values))),
        SIZE: (np.log(own.sizes), np.log(new.sizes)),
        SIMILARITY: (similarity(train_on, own, encoder), similarity(held_out, new, encoder)),
    }
    found |= {way: line(a, own.values, b) for way, (a, b) in inputs.items()}
    return Predicted(numbers[new.query], new.sizes, new.values, found)


def predict_members(model: Reliability, queries: Sequence[RatedQuery], sets: Labels) -> Floats:
    """The network's predictions for sets of these queries."""
    starts = np.cumsum([0, *(len(query.references) for query in queries)])
    vectors = model.encode([(query.turns, text) for query in queries for text in query.references])
    numbered = np.where(sets.members == NONE, NONE, sets.members + starts[sets.query][:, None])
    return model.predict_sets(vectors, numbered).mean


def similarity(scored: Sequence[QueryScores], sets: Labels, encoder: Encoder) -> Floats:
    """Mean cosine of each set's references with the last turn of its query."""
    cosines = []
    for one in scored:
        last, *own = encoder.sentences([one.query.turns[-1], *one.query.references])
        cosines.append(np.array([*own, last]) @ last)
    width = max(map(len, cosines))
    table = np.array([np.pad(row[:-1], (0, width - len(row) + 1), constant_values=np.nan) for row in cosines])
    chosen = table[sets.query[:, None], np.maximum(sets.members, 0)]
    return np.asarray(np.nanmean(np.where(sets.members == NONE, np.nan, chosen), axis=1))


def _known(found: Labels) -> Labels:
    there = ~np.isnan(found.values)
    return Labels(found.query[there], found.members[there], found.values[there], found.skipped, found.undefined)


def line(x: Floats, y: Floats, new: Floats) -> Floats:
    """Least squares; the mean if x is constant."""
    slope = float(np.cov(x, y)[0, 1] / x.var(ddof=1)) if np.ptp(x) > 0 else 0.0
    return np.asarray(y.mean() + slope * (new - x.mean()))


# ---- errors ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Errors:
    """Squared errors for sets of one size (0: all), and the naive ones minus the network's."""

    size: int
    queries: int
    sets: int
    label: float  # mean
    predicted: float
    mse: Mapping[str, float]
    gains: Mapping[str, tuple[float, float, float]]  # value and interval; above 0: the network is better


def errors(found: Predicted, resamples: int) -> list[Errors]:
    """By size and over all, with every query weighing the same; intervals by resampling queries."""
    by_size = [_errors(found, int(size), found.sizes == size, resamples) for size in np.unique(found.sizes)]
    return [*by_size, _errors(found, 0, np.ones(len(found.sizes), dtype=bool), resamples)]


def _errors(found: Predicted, size: int, some: NDArray[np.bool_], resamples: int) -> Errors:
    numbers, place = np.unique(found.query[some], return_inverse=True)
    n = np.bincount(place)
    by_query = {
        way: np.bincount(place, (values[some] - found.labels[some]) ** 2) / n for way, values in found.found.items()
    }
    drawn = np.random.default_rng(0).integers(len(numbers), size=(resamples, len(numbers)))
    gains = {}
    for way in NAIVE:
        difference = by_query[way] - by_query[MODEL]
        gains[way] = (float(difference.mean()), *percentile_interval(difference[drawn].mean(axis=1)))
    label, own = ((np.bincount(place, x[some]) / n).mean() for x in (found.labels, found.found[MODEL]))
    mse = {way: float(values.mean()) for way, values in by_query.items()}
    return Errors(size, len(numbers), int(some.sum()), float(label), float(own), mse, gains)
