# SPDX-License-Identifier: Apache-2.0
"""Training of the scorer `judge` on a frozen network: encode every rated reply, then fit one head per aspect.

Each file is one set of rated replies. Encoding takes the longest: states are written in batches to `<folder>/work`, and
an interrupted job resumes after the last complete batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from interloq.data.files.appended import Appended
from interloq.data.files.opening import reading_saved
from interloq.data.progress import Progress
from interloq.learn.job import Curve, Job, Run
from interloq.learn.ready import PACKAGED, scorer_folder
from interloq.learn.settings import Training
from interloq.learn.store import read_facts, save_model
from interloq.records import Sample
from interloq.registry import full_spec
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge.model import KIND, pair_hash, texts_of
from interloq.scorers.judge.rated import RatedSets
from interloq.scorers.judge.settings import JudgeSettings, Network
from interloq.scorers.relevance.model import RelevanceScorer, signature_of
from interloq.signature import signature as signed
from interloq.statistics.ridge import Head, RatedStates, learn_head

STATES = "states.f32"
BATCH = 1024  # replies encoded at a time: the most work that a kill loses


OTHERS = "other settings, another scorer or other ratings"  # for the error if the folder contains another job


@dataclass(frozen=True)
class StartingScorer:
    """The relevance scorer that a judge starts from, by its folder or the name of a packaged one."""

    name: str

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Facts stored with it."""
        return read_facts(scorer_folder(self.name), kind=RelevanceScorer.kind)

    @property
    def place(self) -> str:
        """Its location."""
        if self.name in PACKAGED:
            return self.name
        return str(Path(self.name).resolve())

    @property
    def signature(self) -> str:
        """Its signature."""
        with reading_saved(scorer_folder(self.name)):
            return signature_of(self.facts)


@dataclass(frozen=True, slots=True)
class LearnedAspect:
    """The head of one aspect, and what it was learned from."""

    aspect: str
    rated: RatedStates
    head: Head

    def describe(self) -> dict[str, Any]:
        """Return the facts about it."""
        return {
            "aspect": self.aspect,
            "replies": len(self.rated.targets),
            "sets": len(np.unique(self.rated.sets)),
            "strength": self.head.strength,
            "spearman": self.head.spearman,
            "ci": list(self.head.ci),
        }


@dataclass(frozen=True, kw_only=True)
class FrozenJudgeJob(Job[Any]):
    """Learns heads only. There is no network to fit: the task is the list of learned aspects."""

    log: TrainingLog
    scorer: StartingScorer
    settings: JudgeSettings
    training: Training = field(default_factory=Training)  # not used

    kind = KIND
    others = OTHERS

    @cached_property
    def rated(self) -> RatedSets:
        """The rated replies."""
        return RatedSets.of(self.log)

    @property
    def parts(self) -> list[str]:
        return [full_spec(self.settings), self.scorer.signature, self.source]

    def started(self, work: Path) -> bool:
        return (work / STATES).exists() and (work / STATES).stat().st_size > 0

    def prepare(self, run: Run) -> None:
        run.report(self.rated.summary)
        self.rated.all_ratings(self.settings.least, run.report)  # before encoding: there may be nothing to learn
        relevance = RelevanceScorer.load(self.scorer.name, device=run.device)
        with contextlib.closing(Appended(run.work / STATES)) as file:
            _encode(self.rated.samples, file, relevance, run.progress)

    def task(self, run: Run) -> list[LearnedAspect]:
        rated, aspects = self.rated, []
        states = np.fromfile(run.work / STATES, dtype=np.float32).reshape(len(rated.samples), -1).astype(np.float64)
        for aspect, ratings in rated.all_ratings(self.settings.least, lambda _: None).items():
            which = ratings.which
            known = RatedStates(states[which], ratings.targets, rated.sets[which], rated.contexts[which])
            aspects.append(LearnedAspect(aspect, known, learn_head(known)))
        return aspects

    def fit(self, task: list[LearnedAspect], run: Run) -> Curve:  # noqa: ARG002
        return []

    def facts(self, task: list[LearnedAspect], run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        scorer = self.scorer.signature
        parts = {"scorer": scorer, "source": self.source, "device": str(run.processes.device)}
        return {
            "kind": self.kind,
            "signature": str(signed(self.settings, **parts)),
            "scorer": {"place": self.scorer.place, "signature": scorer},
            "aspects": [aspect.describe() for aspect in task],
        }

    def save(self, folder: Path, task: list[LearnedAspect], run: Run, facts: dict[str, Any], curve: Curve) -> None:  # noqa: ARG002
        hashes = map(pair_hash, self.rated.samples)
        save_model(folder, judge_tensors([aspect.head for aspect in task], hashes), facts)


def from_log(log: TrainingLog, given: Network, settings: JudgeSettings) -> FrozenJudgeJob:
    """Return the job of `interloq train judge`."""
    scorer = StartingScorer(given.scorer)
    return FrozenJudgeJob(log=log, scorer=scorer, settings=settings, source=log.fingerprint)


def judge_tensors(heads: Sequence[Head], hashes: Iterable[int]) -> dict[str, torch.Tensor]:
    """Return the tensors of a judge's folder: its heads, and hashes of the replies that it learned from."""
    return {
        "weights": torch.from_numpy(np.stack([head.weights for head in heads])),
        "offsets": torch.tensor([head.offset for head in heads], dtype=torch.float64),
        "pairs": torch.tensor(sorted(set(hashes)), dtype=torch.int64),
    }


def _encode(samples: Sequence[Sample], file: Appended, relevance: RelevanceScorer, progress: Progress) -> None:
    """Write the states of all replies; batches of an earlier run are kept."""
    size = relevance.dimensions * np.dtype(np.float32).itemsize
    done = file.size() // (BATCH * size) * BATCH
    file.cut(done * size)
    with progress("encoding replies", len(samples)) as step:
        step(done)
        for start in range(done, len(samples), BATCH):
            batch = samples[start : start + BATCH]
            file.add(relevance.states(*texts_of(batch)).astype(np.float32).tobytes())
            step(len(batch))
