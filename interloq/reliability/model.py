# SPDX-License-Identifier: Apache-2.0
"""Trained reliability networks: how reliable sets of references are, and which reference helps or harms.

Predictions are from −1 to 1: the expected correlation of the metric with people if replies to the query are scored with
these references. The interval is mean ± t · s, with s the standard deviation over the members of the ensemble and t
Student's 97.5 % point. It covers what the model does not know, not the noise of labels from a few replies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from interloq.data.files.opening import reading_saved
from interloq.errors import InputError
from interloq.learn.start import Start
from interloq.learn.store import check_counts, check_texts, load_model, read_facts, restore_network
from interloq.metrics.metric import NO_REFERENCES
from interloq.metrics.network_metric import NO_CONTEXT
from interloq.models.batches import make_batches
from interloq.models.cross_encoder import CrossEncoder
from interloq.models.pretrained import Subwords
from interloq.registry import create
from interloq.reliability.features import encode_pairs, frozen_reader, pair_reader
from interloq.reliability.job import KIND, warning
from interloq.reliability.labelled_sets import Pair
from interloq.reliability.labels import NONE, distinct_texts, has_text, metric_id
from interloq.reliability.network import ReliabilityNetwork, TunedReliabilityNetwork
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.signature import fingerprint

Array = NDArray[np.float64]
Vectors = NDArray[np.float32]
Sets = NDArray[np.integer[Any]]  # one row of pair numbers per set, padded with NONE
Network = Callable[[Vectors, Sets], torch.Tensor]  # of vectors and sets, each with padding last
NUMBERS = 2**24  # of states in memory at a time


@cache
def _student_quantile(degrees: int) -> float:
    """Return Student's 97.5 % point; computing it takes longer than a small batch of predictions."""
    point: float = stats.t.ppf(0.975, degrees)
    return float(point)


@dataclass(frozen=True, slots=True)
class Prediction:
    """Reliability of each set with its 95 % interval; NaN if undefined, bounds also if the ensemble has one member."""

    mean: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, members: Array) -> Prediction:
        """Return each set's mean and interval over the members' predictions [members, sets]."""
        mean = members.mean(axis=0)
        if len(members) == 1:
            return cls(mean, np.full(len(mean), np.nan), np.full(len(mean), np.nan))
        spread = _student_quantile(len(members) - 1) * members.std(axis=0, ddof=1)
        return cls(mean, mean - spread, mean + spread)

    def __getitem__(self, which: Any) -> Prediction:
        return Prediction(self.mean[which], self.low[which], self.high[which])

    def clip(self) -> Prediction:
        """Return the prediction with bounds clipped to the range of correlations, −1 to 1."""
        return Prediction(self.mean, np.maximum(self.low, -1.0), np.minimum(self.high, 1.0))


@dataclass(frozen=True, slots=True)
class Effects:
    """How much each reference of a set adds to its reliability; below 0: it harms. NaN for the only reference."""

    references: tuple[str, ...]
    effect: Prediction
    whole: Prediction  # of the complete set, as single numbers


class Reliability:
    """A trained network with its encoder."""

    def __init__(self, network: ReliabilityNetwork, reader: RelevanceScorer, facts: dict[str, Any]) -> None:
        self.network = network.double().eval().to(reader.device)
        self.reader, self.facts = reader, facts

    @classmethod
    def load(
        cls, folder: str | Path, *, metric: Any = None, encoder: str | None = None, device: str = "auto"
    ) -> Reliability:
        """Load a network. If a metric is given, the network must have been trained for it.

        `encoder` is the current location of the encoder it was trained on; None means where it was during training.
        """
        folder = Path(folder)
        facts, tensors = load_model(folder, kind=KIND)
        with reading_saved(folder):
            config, fine_tuned = facts["config"], facts["encoder"] is None
            check_counts(config, "turns", "context", "reply", "longest", "dimensions", "hidden")
            check_counts(config, "ensemble", most=len(tensors))  # each member has weights of its own
            sizes = [config[name] for name in ("dimensions", "hidden", "ensemble")]
            check_texts(facts["metric"], "spec", "id")
            check_texts(facts, "subwords")
            warning(facts["dev"])  # its figures must be numbers

        def make() -> TunedReliabilityNetwork:
            own_encoder = CrossEncoder.empty(folder, 1) if fine_tuned else None
            residual = bool(config.get("residual", False))
            return TunedReliabilityNetwork(ReliabilityNetwork(*sizes, residual=residual), own_encoder)

        network: TunedReliabilityNetwork = restore_network(make, tensors, folder)
        if fine_tuned:
            subwords = Subwords(folder, longest=config["longest"])
            reader = pair_reader(network.encoder, subwords, config, device=device)
        else:
            reader = frozen_reader(_find_encoder(folder, facts, encoder), config, device=device)
        if reader.subwords.signature() != facts["subwords"] or reader.dimensions != config["dimensions"]:
            raise InputError(
                "the tokenizer is not the one the network was trained with",
                hint="copy the complete folder, or train it again",
                where=str(folder),
            )
        model = cls(network.sets, reader, facts)
        if metric is not None:
            model.check_metric(metric)
        return model

    @property
    def metric(self) -> str:
        """Return the spec of the metric whose reliability is predicted."""
        return str(self.facts["metric"]["spec"])

    def check_metric(self, metric: Any) -> None:
        """Refuse a metric that the network was not trained for; `metric` may be a spec."""
        asked_id = metric_id(create(metric, kind="metric") if isinstance(metric, str) else metric)
        if asked_id != (own := self.facts["metric"]["id"]):
            raise InputError(
                f"the network predicts the reliability of {own}, not of {asked_id}",
                hint=f"use -m {self.metric}, or train a network for this metric",
            )

    def warning(self) -> str:
        """Return a warning for users if it predicts no better than simple baselines; empty if it does."""
        return warning(self.facts["dev"])

    def signature(self) -> str:
        return _signature(self.facts)

    def predict(self, queries: Sequence[Sequence[str]], reference_sets: Sequence[Sequence[str]]) -> Prediction:
        """Predict the reliability of each set of references for a query (its turns); NaN: see `why_undefined`."""
        pairs, sets = _number_pairs(queries, list(map(distinct_texts, reference_sets)))
        return self.predict_sets(self.encode(pairs), sets)

    def leave_one_out(self, queries: Sequence[Sequence[str]], reference_sets: Sequence[Sequence[str]]) -> list[Effects]:
        """Return the effect of each distinct reference: how much the prediction falls without it."""
        distinct_sets = list(map(distinct_texts, reference_sets))
        pairs, sets = _number_pairs(queries, distinct_sets)
        counts = np.array(list(map(len, distinct_sets)), dtype=np.int64)
        owner = np.repeat(np.arange(len(sets)), counts)
        smaller = sets[owner].copy()
        smaller[np.arange(len(owner)), np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)] = NONE
        members = self._members(self.encode(pairs), np.concatenate([sets, smaller]))
        effect = Prediction.of(members[:, : len(sets)][:, owner] - members[:, len(sets) :])
        whole = Prediction.of(members[:, : len(sets)]).clip()
        effects, start = [], 0
        for i, references in enumerate(distinct_sets):
            end = start + len(references)
            effects.append(Effects(references, effect[start:end], whole[i]))
            start = end
        return effects

    def encode(self, pairs: Sequence[Pair]) -> Vectors:
        """Return one row per pair of a query (its turns) and a reference; each distinct pair is read once."""
        return encode_pairs(self.reader, pairs)

    def project(self, vectors: Vectors) -> Vectors:
        """Return the vectors unchanged: `predict_sets` reads what `encode` returns."""
        return vectors

    def predict_sets(self, vectors: Vectors, sets: Sets) -> Prediction:
        """Predict the reliability of sets given as rows of pair numbers; NaN for an empty set."""
        return Prediction.of(self._members(vectors, sets)).clip()

    def make_projected(self) -> Projected:
        """Return the same model for predicting many sets of the same pairs."""
        return Projected(self)

    def _members(self, vectors: Vectors, sets: Sets) -> Array:
        predictions: Array = self.by_member(self._read, vectors, sets)
        return predictions

    def _read(self, vectors: Vectors, rows: Sets) -> torch.Tensor:
        """Return predictions from the vectors that are in the sets."""
        distinct, places = np.unique(rows[rows != NONE], return_inverse=True)
        local = np.full(rows.shape, NONE, dtype=np.int64)
        local[rows != NONE] = places
        nodes, graphs = self.move(vectors[distinct], local)
        return self.network(nodes.double(), graphs)

    def move(self, *arrays: NDArray[Any]) -> tuple[torch.Tensor, ...]:
        """Return arrays as tensors where the network is."""
        return tuple(torch.from_numpy(array).to(self.reader.device) for array in arrays)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def by_member(self, network: Network, vectors: Vectors, sets: Sets) -> Array:
        """Return the predictions of each member [members, sets], in batches of sets of similar size."""
        sizes = np.asarray((sets != NONE).sum(axis=1))
        config, order = self.facts["config"], np.argsort(sets == NONE, axis=1, kind="stable")
        packed = np.take_along_axis(np.asarray(sets), order, axis=1)  # padding last
        predictions = np.full((config["ensemble"], len(sets)), np.nan)
        filled = np.flatnonzero(sizes)
        limit = max(1, NUMBERS // (config["hidden"] * config["ensemble"]))
        for places in make_batches(sizes[filled], size=len(filled), tokens=limit, rng=None):
            rows = filled[places]
            predictions[:, rows] = network(vectors, packed[rows, : int(sizes[rows].max())]).cpu().numpy()
        return predictions


class Projected:
    """Makes the predictions of `Reliability`, up to rounding; `project` computes what depends on a pair alone, once.

    This is faster if a pair is in many sets, but a vector has `ensemble · (hidden + 2)` numbers. They are in float32,
    which halves the memory that each prediction reads.
    """

    def __init__(self, model: Reliability) -> None:
        self.model, self.network = model, deepcopy(model.network).float()

    def encode(self, pairs: Sequence[Pair]) -> Vectors:
        """Return one row per pair, as in `Reliability.encode`."""
        return self.model.encode(pairs)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def project(self, vectors: Vectors) -> Vectors:
        """Return one row per vector, for `predict_sets`."""
        projected: Vectors = self.network.project(*self.model.move(vectors)).cpu().numpy()
        return projected

    def predict_sets(self, vectors: Vectors, sets: Sets) -> Prediction:
        """Predict the reliability of sets given as rows of pair numbers; NaN for an empty set."""
        return Prediction.of(self.model.by_member(self._read, vectors, sets)).clip()

    def _read(self, vectors: Vectors, rows: Sets) -> torch.Tensor:
        return self.network.read(*self.model.move(vectors, rows))


def saved_signature(folder: str | Path, *, encoder: str | None = None) -> str:
    """Return the signature of a saved network that can be loaded, as far as can be seen without loading it."""
    folder = Path(folder)
    facts = read_facts(folder, kind=KIND)
    with reading_saved(folder):
        if facts["encoder"]:
            _find_encoder(folder, facts, encoder)
        return _signature(facts)


def _signature(facts: dict[str, Any]) -> str:
    encoder = facts["encoder"]["weights"] if facts["encoder"] else "own"
    return f"{KIND}-{fingerprint(facts['weights'], encoder, facts['subwords'])}"


def why_undefined(query: Sequence[str], references: Sequence[str]) -> str:
    """Return why a set of references has no prediction, or an empty string."""
    if not distinct_texts(references):
        return NO_REFERENCES
    if not has_text(query):
        return NO_CONTEXT
    return ""


def _number_pairs(queries: Sequence[Sequence[str]], reference_sets: Sequence[Sequence[str]]) -> tuple[list[Pair], Sets]:
    """Return distinct pairs, and each set as a row of their numbers; the row of a query without text is empty."""
    place: dict[Pair, int] = {}
    width = max(map(len, reference_sets), default=0)
    sets = np.full((len(reference_sets), max(1, width)), NONE, dtype=np.int64)
    for i, (query, references) in enumerate(zip(queries, reference_sets, strict=True)):
        turns = tuple(query)
        if has_text(turns):
            for j, text in enumerate(references):
                sets[i, j] = place.setdefault((turns, text), len(place))
    return list(place), sets


def _find_encoder(folder: Path, facts: dict[str, Any], name: str | None) -> Start:
    """Return the encoder that a network was trained on; refuse an encoder with other weights."""
    with reading_saved(folder):
        trained_on, weights = str(facts["encoder"]["name"]), str(facts["encoder"]["weights"])
    start = Start.of(name) if name else Start.of(trained_on, download=False)
    if start.fingerprint != weights:
        raise InputError(
            f"{start.name} is not the encoder that the network was trained on, {Path(trained_on).name}: "
            f"the hash of its weights is {start.fingerprint}, not {weights}",
            hint="name the right encoder, or train the network again",
            where=str(folder),
        )
    return start
