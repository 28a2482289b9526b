# SPDX-License-Identifier: Apache-2.0
"""Training of REAM#'s network: score all replies against all references, label sets, encode pairs, train.

Scoring and encoding are done once; the results are in `<folder>/work` until the network is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.errors import count
from interloq.learn.cross_encoder_job import CrossEncoderJob
from interloq.learn.job import Curve, Run
from interloq.learn.settings import Training
from interloq.models.cross_encoder import rows
from interloq.records import Sample
from interloq.registry import create, spec
from interloq.reliability.features import frozen_reader, pair_reader, read_features, write_features
from interloq.reliability.labelled_sets import WORSE, Ints, LabelledSets, make_sets, set_pairs
from interloq.reliability.labels import RatedQuery, group, reduction, score
from interloq.reliability.network import ReliabilityNetwork, TunedReliabilityNetwork
from interloq.reliability.settings import ReliabilitySettings, Sources
from interloq.reliability.task import ReliabilityTask, dev_scores
from interloq.retrieve.training_log import TrainingLog
from interloq.signature import LIBRARIES, VERSION, signature

KIND = "reliability"
USELESS = (
    "the network predicts labels no better than the mean label of each size; use more queries or replies per query, "
    "or another encoder"
)
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ReliabilityJob(CrossEncoderJob[ReliabilityTask]):
    """Trains on samples with references and ratings; `samples` is called once per run."""

    samples: Callable[[], Iterable[Sample]]
    metric: Any
    settings: ReliabilitySettings

    kind = KIND
    others = "other settings, another metric, another encoder or other samples"

    @property
    def longest(self) -> int:
        return self.settings.longest

    @cached_property
    def queries(self) -> list[RatedQuery]:
        """The queries of the samples, in a fixed order."""
        return group(self.samples(), aspect=self.settings.aspect)

    def reading_ids(self) -> Sequence[str]:
        return [metric_id(self.metric), *super().reading_ids()]

    def started(self, work: Path) -> bool:
        return LabelledSets.written(work) or super().started(work)

    def prepare(self, run: Run) -> None:
        if not LabelledSets.written(run.work):
            with run.progress("scoring replies", sum(len(query.replies) for query in self.queries)) as step:
                scored = score(self.queries, self.metric, step=step)
            make_sets(scored, self.settings).save(run.work)
        sets = LabelledSets.load(run.work)
        run.report(summary(sets.facts))
        if not self.settings.fine_tune:
            reader = frozen_reader(self.start, self.settings.reading, device=run.device)
            with run.progress("encoding references", len(sets.pairs)) as step:
                write_features(reader, set_pairs(sets, self.queries), run.work, step)

    def task(self, run: Run) -> ReliabilityTask:
        settings, sets = self.settings, LabelledSets.load(run.work)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            if settings.fine_tune:
                return self._fine_tuned(sets)
            features = read_features(run.work, len(sets.pairs))
            network = self._set_network(features.shape[1])
            return ReliabilityTask(
                TunedReliabilityNetwork(network), sets, lambda which: torch.from_numpy(features[which]), settings
            )

    def _set_network(self, dimensions: int) -> ReliabilityNetwork:
        settings = self.settings
        return ReliabilityNetwork(dimensions, settings.hidden, settings.ensemble, residual=settings.residual)

    def _fine_tuned(self, sets: LabelledSets) -> ReliabilityTask:
        encoder = self.network()
        reader = pair_reader(encoder, self.subwords, self.settings.reading, device="cpu")
        tokens = reader.token_rows(*zip(*set_pairs(sets, self.queries), strict=True))
        network = self._set_network(reader.dimensions)

        def take(which: Ints) -> Any:
            return rows([tokens[i] for i in which], self.subwords)

        return ReliabilityTask(TunedReliabilityNetwork(network, encoder), sets, take, self.settings)

    def facts(self, task: ReliabilityTask, run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        settings = self.settings
        parts = {"metric": metric_id(self.metric), "encoder": self.start.fingerprint}
        return self.base_facts(curve, **parts) | {
            "metric": {"spec": spec(self.metric), "id": metric_id(self.metric)},
            "encoder": None if settings.fine_tune else self.start.described(),
            "subwords": self.subwords.signature(),
            "config": {
                **settings.reading,
                "dimensions": task.network.sets.dimensions,
                "hidden": settings.hidden,
                "residual": settings.residual,
                "ensemble": settings.ensemble,
            },
            "examples": dict(task.sets.facts),
            "dev": dev_facts(task),
        }

    def save_extras(self, folder: Path, run: Run) -> None:
        if self.settings.fine_tune:
            super().save_extras(folder, run)

    def verdict(self, facts: dict[str, Any]) -> str:
        return warning(facts["dev"])


def warning(dev: Mapping[str, float]) -> str:
    """Warning about a network that predicts no better than simple baselines on its dev part, or an empty string."""
    return USELESS if dev["mse"] >= min(dev["mse_of_mean"], dev["mse_of_size"]) else ""


def from_log(log: TrainingLog, given: Sources, settings: ReliabilitySettings, training: Training) -> ReliabilityJob:
    """Job of `interloq train reliability`."""
    metric = create(given.metric, kind="metric")
    reduction(metric)  # refuses other metrics before anything is read
    return ReliabilityJob(
        samples=lambda: chain.from_iterable(map(log.rated, log.files)),
        metric=metric,
        encoder=given.encoder,
        settings=settings,
        training=training,
        source=log.fingerprint,
    )


def metric_id(metric: Any) -> str:
    """Identifies a metric by its fields and models, whatever their places and the versions of packages."""
    return str(signature(metric).without(VERSION, *LIBRARIES))


def summary(facts: Mapping[str, Any]) -> str:
    """The counts in words."""
    parts = [
        f"{count(facts['sets'][part], 'set')} of {count(facts['queries'][part], 'query', 'queries')} for {name}"
        for part, name in (("train", "training"), ("dev", "dev"))
    ]
    reasons = {
        what: ", ".join(f"{n:,} with {reason}" for reason, n in facts[what].items())
        for what in ("skipped_queries", "undefined_sets")
    }
    return "; ".join([*parts, *(f"{what.replace('_', ' ')}: {why}" for what, why in reasons.items() if why)])


def dev_facts(task: ReliabilityTask) -> dict[str, Any]:
    """Errors on the dev part, beside those of simple baselines, and the share of worse sets that score lower."""
    found, there = dev_scores(task)
    train, dev = (task.rows[part] for part in ("train", "dev"))
    labels, sizes, own = task.sets.values[dev], task.sets.sizes, found[:, 0]
    of_size = _size_means(task.sets.values[train], sizes[train])
    mean = float(task.sets.values[train].mean())
    return {
        "mse": _mse(own, labels),
        "mse_of_mean": _mse(np.full(len(labels), mean), labels),
        "mse_of_size": _mse(np.array([of_size.get(size, mean) for size in sizes[dev].tolist()]), labels),
        "bias": float(np.mean(own - labels)),
        "slope": _slope(own, labels),
        "by_size": {
            str(size): _size_facts(own[sizes[dev] == size], labels[sizes[dev] == size])
            for size in np.unique(sizes[dev]).tolist()
        },
        "wins": _wins(found, there),
    }


def _size_facts(found: Floats, labels: Floats) -> dict[str, float]:
    """Error and means of the sets of one size."""
    means = {"predicted": float(found.mean()), "label": float(labels.mean())}
    return {"sets": len(labels), "mse": _mse(found, labels), **means}


def _mse(found: Floats, labels: Floats) -> float:
    return float(np.mean((found - labels) ** 2))


def _slope(found: Floats, labels: Floats) -> float | None:
    """Slope of the line from predictions to labels, 1 if they are calibrated; None if predictions are constant."""
    spread = float(np.var(found))
    return float(np.mean((found - found.mean()) * labels)) / spread if spread > 0 else None


def _size_means(labels: Floats, sizes: Ints) -> dict[int, float]:
    """Mean label of each set size."""
    return {size: float(labels[sizes == size].mean()) for size in np.unique(sizes).tolist()}


def _wins(found: Floats, there: NDArray[np.bool_]) -> dict[str, float]:
    """Share of worse sets that score below their set, by kind; .5 is chance."""
    above = np.sign(found[:, :1] - found[:, 1:]) / 2 + 0.5
    columns = {kind: [t for t in range(there.shape[1]) if WORSE[t % len(WORSE)] == kind] for kind in WORSE}
    return {kind: float(above[:, own][there[:, own]].mean()) for kind, own in columns.items() if there[:, own].any()}
