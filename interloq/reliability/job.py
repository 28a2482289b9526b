# SPDX-License-Identifier: Apache-2.0
"""Training of REAM#'s network: score all replies against all references, label sets, encode pairs, train.

Scoring and encoding are done once; the results are in `<folder>/work` until the network is trained. A pooled model is
fitted to the same samples: a baseline, and what is used if the network loses to a naive prediction on its dev queries.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files.opening import read_json
from interloq.data.text.language import main_language
from interloq.errors import InputError, count
from interloq.learn.cross_encoder_job import CrossEncoderJob
from interloq.learn.job import Curve, Run
from interloq.learn.settings import Training
from interloq.models.cross_encoder import rows
from interloq.records import Sample
from interloq.registry import create, spec
from interloq.reliability.features import frozen_reader, pair_reader, read_features, write_features
from interloq.reliability.labelled_sets import WORSE, Ints, LabelledSets, format_reasons, make_sets, set_pairs
from interloq.reliability.labels import (
    NONE,
    QueryScores,
    RatedQuery,
    check_reduction,
    group_queries,
    metric_id,
    score_replies,
)
from interloq.reliability.network import ReliabilityNetwork, TunedReliabilityNetwork
from interloq.reliability.pooled_settings import PooledSettings
from interloq.reliability.rules import FEATURES, RULES
from interloq.reliability.settings import ReliabilitySettings, Sources
from interloq.reliability.task import ReliabilityTask, dev_scores
from interloq.retrieve.training_log import TrainingLog

KIND = "reliability"
INSTEAD = "instead"  # folder in a network's: the pooled model that is used if the network loses on dev
POOLED_FACTS = "pooled.json"
USELESS = "use more queries or replies per query, or another encoder"
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ReliabilityJob(CrossEncoderJob[ReliabilityTask]):
    """Train on samples with references and ratings; `samples` is called once per run."""

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
        """Return the queries of the samples, in a fixed order."""
        return group_queries(self.samples(), aspect=self.settings.aspect)

    def reading_ids(self) -> Sequence[str]:
        return [metric_id(self.metric), *super().reading_ids()]

    def started(self, work: Path) -> bool:
        return LabelledSets.written(work) or super().started(work)

    def prepare(self, run: Run) -> None:
        if not LabelledSets.written(run.work):
            with run.progress("scoring replies", sum(len(query.replies) for query in self.queries)) as step:
                scored = score_replies(self.queries, self.metric, step=step)
            sets = make_sets(scored, self.settings)
            self._fit_pooled(scored, run)
            sets.save(run.work)
        sets = LabelledSets.load(run.work)
        run.report(summarise_sets(sets.facts))
        if not self.settings.fine_tune:
            reader = frozen_reader(self.start, self.settings.reading, device=run.device)
            with run.progress("encoding references", len(sets.pairs)) as step:
                write_features(reader, set_pairs(sets, self.queries), run.work, step)

    def _fit_pooled(self, scored: Sequence[QueryScores], run: Run) -> None:
        """Fit a pooled model to the same samples; too few queries for it are enough for a network."""
        from interloq.reliability.pooled import Pooled  # imports this module

        encoder = str(self.start.files)
        settings = PooledSettings(aspect=self.settings.aspect, encoder=encoder, seed=self.settings.seed)
        try:
            pooled = Pooled.train(self.queries, self.metric, settings, scored=scored, progress=run.progress)
        except InputError as error:
            run.report(f"no baselines: {error.what}")
        else:
            pooled.save(run.work / INSTEAD)

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

    def facts(self, task: ReliabilityTask, run: Run, curve: Curve) -> dict[str, Any]:
        settings, pooled = self.settings, run.work / INSTEAD / POOLED_FACTS
        parts = {"metric": metric_id(self.metric), "encoder": self.start.fingerprint}
        return self.base_facts(curve, **parts) | {
            "metric": {"spec": spec(self.metric), "id": metric_id(self.metric)},
            "encoder": None if settings.fine_tune else self.start.describe(),
            "subwords": self.subwords.signature(),
            "config": {
                **settings.reading,
                "dimensions": task.network.sets.dimensions,
                "hidden": settings.hidden,
                "residual": settings.residual,
                "ensemble": settings.ensemble,
            },
            "examples": dict(task.sets.facts),
            "language": main_language(text for query in self.queries for text in query.references),
            "dev": dev_facts(task) | {"mse_of_rules": self._measure_rules(task.sets, run)},
            "baselines": read_json(pooled)["validation"] if pooled.exists() else {},
        }

    def _measure_rules(self, sets: LabelledSets, run: Run) -> dict[str, float]:
        """Return the errors on dev of lines through each rule, fitted to the training part; none without baselines."""
        from interloq.reliability.pooled import Pooled  # imports this module

        if not Pooled.is_saved(run.work / INSTEAD):
            return {}
        reader = Pooled.load(run.work / INSTEAD, device=run.device).reader
        pairs = reader.read(set_pairs(sets, self.queries))
        features = []
        for members in sets.sets:
            pool = reader.make_pool(pairs[members[members != NONE]])
            features.append(pool.describe(np.arange(len(pool))[None])[0])
        train, dev, errors = sets.rows("train"), sets.rows("dev"), {}
        for rule, feature in RULES.items():
            values = np.array(features)[:, FEATURES.index(feature)]
            slope = _slope(values[train], sets.values[train]) or 0.0
            line = sets.values[train].mean() + slope * (values[dev] - values[train].mean())
            errors[rule] = _mse(line, sets.values[dev])
        return errors

    def save_extras(self, folder: Path, run: Run) -> None:
        if self.settings.fine_tune:
            super().save_extras(folder, run)
        if (run.work / INSTEAD).exists():
            shutil.copytree(run.work / INSTEAD, folder / INSTEAD, dirs_exist_ok=True)

    def verdict(self, facts: dict[str, Any]) -> str:
        text = warning(facts["dev"])
        return f"{text}; the pooled model that was fitted with it is used" if text and facts["baselines"] else text


def describe_loss(dev: Mapping[str, Any]) -> str:
    """Say that a network predicts its dev part no better than something simpler, with errors; empty if it is better."""
    simpler = {"their mean": dev["mse_of_mean"], "the mean of each size": dev["mse_of_size"]}
    simpler |= {f"the rule {rule}": error for rule, error in dev.get("mse_of_rules", {}).items()}
    name = min(simpler, key=simpler.__getitem__)
    if dev["mse"] < simpler[name]:
        return ""
    errors = f"squared error on dev {dev['mse']:.4f} and {simpler[name]:.4f}"
    return f"the network predicts labels no better than {name} ({errors})"


def warning(dev: Mapping[str, Any]) -> str:
    """Return a warning if a network predicts no better on its dev part than simple baselines, or an empty string."""
    loss = describe_loss(dev)
    return f"{loss}; {USELESS}" if loss else ""


def from_log(log: TrainingLog, sources: Sources, settings: ReliabilitySettings, training: Training) -> ReliabilityJob:
    """Return the job of `interloq train reliability --model network`."""
    metric = create(sources.metric, kind="metric")
    check_reduction(metric)  # refuses other metrics before anything is read
    return ReliabilityJob(
        samples=lambda: chain.from_iterable(map(log.rated_samples, log.files)),
        metric=metric,
        encoder=sources.encoder,
        settings=settings,
        training=training,
        source=log.fingerprint,
    )


def summarise_sets(facts: Mapping[str, Any]) -> str:
    """Return the counts of labelled sets in words."""
    parts = []
    for part, name in (("train", "training"), ("dev", "dev")):
        queries = count(facts["queries"][part], "query", "queries")
        parts.append(f"{count(facts['sets'][part], 'set')} of {queries} for {name}")
    if facts["skipped_queries"]:
        parts.append(f"skipped queries: {format_reasons(facts['skipped_queries'])}")
    if facts["undefined_sets"]:
        parts.append(f"undefined sets: {format_reasons(facts['undefined_sets'])}")
    return "; ".join(parts)


def dev_facts(task: ReliabilityTask) -> dict[str, Any]:
    """Return errors on the dev part, errors of simple baselines, and the share of worse sets that score lower."""
    scores, there = dev_scores(task)
    predictions = scores[:, 0]
    train, dev = task.rows["train"], task.rows["dev"]
    train_labels, labels = task.sets.values[train], task.sets.values[dev]
    train_sizes, sizes = task.sets.sizes[train], task.sets.sizes[dev]
    mean = float(train_labels.mean())
    size_means, by_size = np.full(len(labels), mean), {}
    for size in np.unique(sizes).tolist():
        of_size = sizes == size
        means = {"predicted": float(predictions[of_size].mean()), "label": float(labels[of_size].mean())}
        by_size[str(size)] = {"sets": int(of_size.sum()), "mse": _mse(predictions[of_size], labels[of_size]), **means}
        if (train_sizes == size).any():
            size_means[of_size] = train_labels[train_sizes == size].mean()
    # the share of worse sets that score below their set, by kind; .5 is chance
    above = np.sign(scores[:, :1] - scores[:, 1:]) / 2 + 0.5
    wins = {}
    for i, kind in enumerate(WORSE):
        kind_above, kind_there = above[:, i :: len(WORSE)], there[:, i :: len(WORSE)]
        if kind_there.any():
            wins[kind] = float(kind_above[kind_there].mean())
    return {
        "mse": _mse(predictions, labels),
        "mse_of_mean": _mse(np.full(len(labels), mean), labels),
        "mse_of_size": _mse(size_means, labels),
        "bias": float(np.mean(predictions - labels)),
        "slope": _slope(predictions, labels),
        "by_size": by_size,
        "wins": wins,
    }


def _mse(predictions: Floats, labels: Floats) -> float:
    return float(np.mean((predictions - labels) ** 2))


def _slope(predictions: Floats, labels: Floats) -> float | None:
    """Return the slope from predictions to labels, 1 if they are calibrated; None if predictions are constant."""
    spread = float(np.var(predictions))
    if not spread > 0:
        return None
    return float(np.mean((predictions - predictions.mean()) * labels)) / spread
