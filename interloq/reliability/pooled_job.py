# SPDX-License-Identifier: Apache-2.0
"""Training of the pooled model: a job without a network, so that its folder is claimed and checked as any other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from interloq.data.files.opening import read_json
from interloq.learn.job import Curve, Job, Run
from interloq.learn.settings import Training
from interloq.records import Sample
from interloq.registry import create, full_spec, spec
from interloq.reliability.labels import check_reduction, group_queries, metric_id
from interloq.reliability.pooled import FACTS, KIND, Pooled
from interloq.reliability.pooled_settings import PooledSettings
from interloq.reliability.settings import Sources
from interloq.retrieve.training_log import TrainingLog
from interloq.signature import signature as signed


@dataclass(frozen=True, kw_only=True)
class PooledJob(Job[Any]):
    """Fit a pooled model to rated samples. No network is trained, so the task is the fitted model."""

    samples: Callable[[], Iterable[Sample]]
    metric: Any
    settings: PooledSettings
    training: Training = field(default_factory=Training)  # not used

    kind = KIND
    facts_file = FACTS
    others = "other settings, another metric, another encoder or other samples"

    @property
    def parts(self) -> list[str]:
        return [full_spec(self.settings), metric_id(self.metric), self.source]

    def started(self, work: Path) -> bool:  # noqa: ARG002
        return False

    def prepare(self, run: Run) -> None:
        """Prepare nothing: fitting takes less time than reading files again."""

    def task(self, run: Run) -> Pooled:
        queries = group_queries(self.samples(), aspect=self.settings.aspect)
        return Pooled.train(queries, self.metric, self.settings, progress=run.progress)

    def fit(self, task: Pooled, run: Run) -> Curve:  # noqa: ARG002
        return []

    def facts(self, task: Pooled, run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        made_from = {"metric": spec(self.metric), "source": self.source}
        return {"signature": str(signed(self.settings, **made_from)), "warning": task.warning()}

    def save(self, folder: Path, task: Pooled, run: Run, facts: dict[str, Any], curve: Curve) -> None:  # noqa: ARG002
        task.facts |= facts
        task.save(folder)

    def read(self, folder: Path) -> dict[str, Any]:
        return read_json(folder / FACTS)

    def verdict(self, facts: dict[str, Any]) -> str:
        return str(facts["warning"])


def from_log(log: TrainingLog, sources: Sources, settings: PooledSettings) -> PooledJob:
    """Return the job of `interloq train reliability`."""
    metric = create(sources.metric, kind="metric")
    check_reduction(metric)  # refuses other metrics before anything is read
    return PooledJob(
        samples=lambda: chain.from_iterable(map(log.rated_samples, log.files)),
        metric=metric,
        settings=settings,
        source=log.fingerprint,
    )
