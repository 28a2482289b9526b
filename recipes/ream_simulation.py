"""A world in which the reliability of a set of references is known, at the scale of the paper: 400,000 training sets.

Replies and references belong to twelve clusters. A query's vector says which clusters answer it well. Half of the
replies are from such clusters; people rate those 1 and others 0, with noise. A reference is from a good cluster with
probability .95. The metric's score of a reply against a reference is the similarity s of their clusters, plus noise of
the reply, so over all replies to query q

    c(q, R) = cov(m, h) / √((var m + σ²)(var h + τ²)),   m_k = max of s_kl over the clusters l of R

is exact, with h_k = 1 if cluster k is good and 0 if not. Networks and naive predictions are fitted to labels, which are
correlations over 14 replies, as in the paper. They see an encoding of query and reference: random features of both and
of how well they fit, with noise.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rated_sets import Floats
from ream_models import MEAN, MODEL, SIMILARITY, SIZE, Errors, Predicted, errors, line

from interloq.learn.fit import fit
from interloq.learn.settings import Training
from interloq.records import Reference
from interloq.reliability.augment import Request, augment
from interloq.reliability.labelled_sets import LabelledSets, make_sets
from interloq.reliability.labels import NONE, Labels, QueryScores, RatedQuery, draw_labels
from interloq.reliability.model import Prediction
from interloq.reliability.network import ReliabilityNetwork, TunedReliabilityNetwork
from interloq.reliability.settings import ReliabilitySettings
from interloq.reliability.task import ReliabilityTask

CLUSTERS, DIMENSIONS, FEATURES = 12, 16, 128
REPLIES, REFERENCES, CANDIDATES = 14, 40, 100
GOOD_REFERENCES, GOOD_CANDIDATES = 0.95, 0.5
METRIC_NOISE, RATING_NOISE, ENCODING_NOISE = 0.2, 0.3, 0.1
TEST_SIZES = (3, 5, 10, 20, 30, 40)
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """Queries with their clusters; everything follows from the seed."""

    queries: int
    seed: int = 0

    @cached_property
    def _fixed(self) -> tuple[Floats, ...]:
        """Centres of the clusters, how queries choose among them, and the encoder: the same in every world."""
        rng = np.random.default_rng(0)
        centres = rng.standard_normal((CLUSTERS, DIMENSIONS))
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
        weights = rng.standard_normal((2 * DIMENSIONS + 1, FEATURES)) / np.sqrt(DIMENSIONS)
        return centres, rng.standard_normal((DIMENSIONS, CLUSTERS)), weights

    @cached_property
    def turns(self) -> Floats:
        """One vector per query."""
        return np.random.default_rng([self.seed, 1]).standard_normal((self.queries, DIMENSIONS))

    @cached_property
    def good(self) -> NDArray[np.bool_]:
        """Which clusters answer each query well: the four that fit best."""
        fits = self.turns @ self._fixed[1]
        return np.asarray(fits >= np.sort(fits, axis=1)[:, -4:-3])

    @cached_property
    def similarity(self) -> Floats:
        """Similarity of each pair of clusters, 1 for the same."""
        return np.asarray(self._fixed[0] @ self._fixed[0].T)

    def drawn(self, number: int, share: float, stream: int) -> Ints:
        """Clusters of some texts per query, of which a share is good on average."""
        rng = np.random.default_rng([self.seed, stream])
        right = rng.random((self.queries, number)) < share
        keys = rng.random((self.queries, number, CLUSTERS))
        return np.asarray(np.where(right[..., None] == self.good[:, None], keys, -1.0).argmax(axis=2))

    @cached_property
    def references(self) -> Ints:
        """Clusters of each query's references."""
        return self.drawn(REFERENCES, GOOD_REFERENCES, 2)

    def scored(self) -> list[QueryScores]:
        """Replies with ratings and scores against each reference."""
        rng = np.random.default_rng([self.seed, 3])
        replies = self.drawn(REPLIES, 0.5, 4)
        ratings = np.take_along_axis(self.good, replies, axis=1) + RATING_NOISE * rng.standard_normal(replies.shape)
        noise = METRIC_NOISE * rng.standard_normal(replies.shape)
        scores = self.similarity[replies[:, :, None], self.references[:, None]] + noise[:, :, None]
        texts = [tuple(f"{q} {r}" for r in range(REFERENCES)) for q in range(self.queries)]
        return [
            QueryScores(RatedQuery((str(q),), tuple(map(str, range(REPLIES))), ratings[q], texts[q]), scores[q], "max")
            for q in range(self.queries)
        ]

    def encoded(self, query: Ints, clusters: Ints, stream: int = 5) -> NDArray[np.float32]:
        """Vector of each query with a reference of this cluster."""
        rng, (centres, choice, weights) = np.random.default_rng([self.seed, stream]), self._fixed
        texts = centres[clusters] * 2 + 0.3 * rng.standard_normal((len(clusters), DIMENSIONS))
        fits = (self.turns @ choice)[query, clusters] / 2
        mixed = np.tanh(np.column_stack([self.turns[query] / 4, texts, fits]) @ weights)
        return (mixed + ENCODING_NOISE * rng.standard_normal(mixed.shape)).astype(np.float32)

    def truth(self, query: Ints, clusters: Ints) -> Floats:
        """Reliability of sets of clusters [sets, width], padded with NONE."""
        found = np.where((clusters == NONE)[:, None], -np.inf, self.similarity[:, clusters].transpose(1, 0, 2))
        best, good = found.max(axis=2), self.good[query]
        p = np.where(good, 0.5 / good.sum(axis=1, keepdims=True), 0.5 / (~good).sum(axis=1, keepdims=True))
        h = good.astype(np.float64)
        mean_m, mean_h = (p * best).sum(axis=1), (p * h).sum(axis=1)
        covariance = (p * best * h).sum(axis=1) - mean_m * mean_h
        spread = (p * best**2).sum(axis=1) - mean_m**2 + METRIC_NOISE**2
        return np.asarray(covariance / np.sqrt(spread * ((p * h).sum(axis=1) - mean_h**2 + RATING_NOISE**2)))

    def nearness(self, query: Ints, clusters: Ints) -> Floats:
        """Mean of how well the clusters of a set fit the query: what a similarity to the query would measure."""
        fits = (self.turns @ self._fixed[1])[query]
        chosen = np.take_along_axis(fits, np.maximum(clusters, 0), axis=1)
        there = clusters != NONE
        return np.asarray(np.where(there, chosen, 0.0).sum(axis=1) / there.sum(axis=1))


# ---- training --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Simulated:
    """Errors against the truth, the network's and the naive ones, and what one label of 14 replies would give."""

    train_sets: int
    seconds: float
    truth: Sequence[Errors]
    label_mse: float  # of single labels against the truth
    noisy_mse: float  # of the network against labels
    correlation: Mapping[str, float]  # of predictions with the truth
    augmented: Mapping[str, float]  # mean true reliability of sets of ten


def simulate(queries: int, settings: ReliabilitySettings, training: Training, device: str, resamples: int) -> Simulated:
    """Train on sets of this many queries, and test on 500 others."""
    world, test = World(round(queries / (1 - settings.dev))), World(500, seed=1)
    sets = make_sets(world.scored(), settings)
    start = time.perf_counter()
    network = trained(world, sets, settings, training, device)
    seconds = time.perf_counter() - start
    found, label_mse, noisy = tested(network, world, sets, test)
    correlation = {way: _correlation(values, found.labels) for way, values in found.found.items()}
    return Simulated(
        len(sets.rows("train")), seconds, errors(found, resamples), label_mse, noisy, correlation,
        augmented(SimulatedModel(network, test)),
    )  # fmt: skip


def trained(
    world: World, sets: LabelledSets, settings: ReliabilitySettings, training: Training, device: str
) -> ReliabilityNetwork:
    """A network that has learned from the labels of a world."""
    clusters = world.references[sets.used].reshape(-1)
    query = sets.used[sets.pairs[:, 0]].astype(np.int64)
    vectors = torch.from_numpy(world.encoded(query, clusters[sets.pairs[:, 1]]))
    torch.manual_seed(settings.seed)
    network = ReliabilityNetwork(FEATURES, settings.hidden, settings.ensemble, residual=settings.residual)
    task = ReliabilityTask(TunedReliabilityNetwork(network), sets, lambda which: vectors[which], settings)
    with tempfile.TemporaryDirectory() as folder:
        fit(task, training, Path(folder), job="simulation", device=device, report=lambda t: print(t, file=sys.stderr))
    network.cpu().eval()
    return network


def tested(
    network: ReliabilityNetwork, world: World, sets: LabelledSets, test: World
) -> tuple[Predicted, float, float]:
    """Predictions for new queries beside the truth; the squared error of labels, and of the network against labels."""
    scored = test.scored()
    new = draw_labels(scored, sizes=TEST_SIZES, per_size=1)
    query, clusters = new.query, _clusters(test, new)
    own_query, own_clusters = _training(world, sets)
    inputs: dict[str, tuple[Floats, Floats]] = {
        MEAN: (np.zeros(len(own_query)), np.zeros(len(query))),
        SIZE: (np.log(sets.sizes[sets.rows("train")]), np.log(new.sizes)),
        SIMILARITY: (world.nearness(own_query, own_clusters), test.nearness(query, clusters)),
    }
    values = sets.values[sets.rows("train")]
    found = {way: line(a, values, b) for way, (a, b) in inputs.items()}
    every = np.repeat(np.arange(test.queries), REFERENCES)
    model = SimulatedModel(network, test)
    members = np.where(new.members == NONE, NONE, new.members + (query * REFERENCES)[:, None])
    found[MODEL] = model.predict_sets(test.encoded(every, test.references.reshape(-1)), members).mean
    truth = test.truth(query, clusters)
    errors_of = [float(np.nanmean((new.values - other) ** 2)) for other in (truth, found[MODEL])]
    return Predicted(query, new.sizes, truth, found), errors_of[0], errors_of[1]


def _clusters(world: World, sets: Labels) -> Ints:
    chosen = world.references[sets.query[:, None], np.maximum(sets.members, 0)]
    return np.where(sets.members == NONE, NONE, chosen)


def _training(world: World, sets: LabelledSets) -> tuple[Ints, Ints]:
    """Query and clusters of each training set."""
    rows = sets.rows("train")
    members, flat = sets.sets[rows], world.references[sets.used].reshape(-1)
    clusters = np.where(members == NONE, NONE, flat[sets.pairs[np.maximum(members, 0), 1]])
    return sets.used[sets.query[rows]].astype(np.int64), clusters


def _correlation(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1]) if np.ptp(x) > 0 else float("nan")


# ---- augmentation ----------------------------------------------------------------------------------------------------


class SimulatedModel:
    """A network with the encoder of its world, as `augment` needs it; a text names a query and a cluster."""

    def __init__(self, network: ReliabilityNetwork, world: World) -> None:
        self.network, self.world = network, world

    def encode(self, pairs: Sequence[tuple[tuple[str, ...], str]]) -> Any:
        query = np.array([int(turns[0]) for turns, _ in pairs])
        return self.world.encoded(query, np.array([int(text.split()[1]) for _, text in pairs]), stream=6)

    def project(self, vectors: Any) -> Any:
        return vectors

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def predict_sets(self, vectors: Any, sets: Ints) -> Prediction:
        nodes, graphs = torch.from_numpy(vectors), torch.from_numpy(np.asarray(sets, dtype=np.int64))
        return Prediction.of(self.network(nodes, graphs).double().numpy())


def augmented(model: SimulatedModel, limit: int = 10) -> dict[str, float]:
    """Mean true reliability of one reference, and of sets grown from it by the network, at random, or by the truth."""
    world, candidates = model.world, model.world.drawn(CANDIDATES, GOOD_CANDIDATES, 7)
    first = world.references[:, :1]
    requests = [
        Request((str(q),), (Reference(f"0 {first[q, 0]}"),), tuple(Reference(f"{i} {c}") for i, c in enumerate(row, 1)))
        for q, row in enumerate(candidates)
    ]
    chosen = [[int(r.text.split()[1]) for r in one.kept] for one in augment(model, requests, limit=limit)]
    by_network = np.full((world.queries, limit), NONE)
    by_network[:, :1] = first
    for row, own in zip(by_network, chosen, strict=True):
        row[1 : 1 + len(own)] = own
    random = np.concatenate([first, candidates[:, : limit - 1]], axis=1)
    sets = {"one reference": first, "chosen at random": random, "chosen by REAM#": by_network}
    every = np.arange(world.queries)
    return {name: float(world.truth(every, some).mean()) for name, some in sets.items()} | {
        "chosen by the truth": float(_greedy(world, first, candidates, limit).mean())
    }


def _greedy(world: World, first: Ints, candidates: Ints, limit: int) -> Floats:
    """True reliability if a candidate is kept exactly if it raises the truth."""
    every = np.arange(world.queries)
    sets = np.full((world.queries, limit + 1), NONE)
    sets[:, :1] = first
    size, reached = np.ones(world.queries, dtype=np.int64), world.truth(every, first)
    for column in candidates.T:
        tried = sets.copy()
        tried[every, size] = column
        found = world.truth(every, tried)
        kept = (found > reached) & (size < limit)
        sets[kept], reached[kept] = tried[kept], found[kept]
        size[kept] += 1
    return reached
