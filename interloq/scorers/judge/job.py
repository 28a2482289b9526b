# SPDX-License-Identifier: Apache-2.0
"""Training of the scorer `judge` on a frozen network: encode every rated reply, then fit one head per aspect.

If it starts from another judge, the heads of that judge are corrected; otherwise heads are learned from scratch.

Each file is one set of rated replies. Encoding takes the longest: states are written in batches to `<folder>/work`, and
an interrupted job resumes after the last complete batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from interloq.data.files.appended import Appended
from interloq.data.files.opening import read_json, reading_saved
from interloq.data.progress import Progress
from interloq.errors import InputError, count
from interloq.learn.cross_encoder_scorer import signature_of
from interloq.learn.job import Curve, Job, Run
from interloq.learn.ready import JUDGES, PACKAGED, READY, READY_LARGE, scorer_folder
from interloq.learn.settings import Training
from interloq.learn.store import FACTS, read_facts, save_model
from interloq.records import Sample
from interloq.registry import full_spec
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge.model import KIND, JudgeEnsemble, JudgeScorer, load_judge, pair_hash, texts_of
from interloq.scorers.judge.rated import RatedSets
from interloq.scorers.judge.settings import JudgeSettings, Network
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.signature import signature as signed
from interloq.statistics.ridge import Head, RatedStates, learn_correction, learn_head

STATES = "states.f32"
BATCH = 1024  # replies encoded at a time; a job that is killed loses no more than these


OTHERS = "other settings, another scorer or other ratings"  # for the error if the folder contains another job


@dataclass(frozen=True)
class StartingScorer:
    """The relevance scorer that a judge starts from, by its folder or the name of a packaged one."""

    name: str

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Facts stored with the scorer."""
        return read_facts(scorer_folder(self.name), kind=RelevanceScorer.kind)

    @property
    def place(self) -> str:
        """The location of the scorer."""
        if self.name in PACKAGED:
            return self.name
        return str(Path(self.name).resolve())

    @property
    def signature(self) -> str:
        """The scorer's signature."""
        with reading_saved(scorer_folder(self.name)):
            return signature_of(self.facts)

    def describe(self) -> dict[str, str]:
        """Return facts by which a judge finds the network."""
        return {"place": self.place, "signature": self.signature}

    def load(self, device: str) -> RelevanceScorer:
        """Load the network."""
        return RelevanceScorer.load(self.name, device=device)

    def trained_on(self, samples: Sequence[Sample]) -> int:  # noqa: ARG002
        """Return the number of samples that it was trained on."""
        return 0

    def learn(self, aspect: str, rated: RatedStates) -> tuple[Head, dict[str, Any]]:  # noqa: ARG002
        """Return the head of an aspect, and further facts about it."""
        return learn_head(rated), {}


class StartingJudge(StartingScorer):
    """The judge that another one starts from, by its folder or the name of a packaged one."""

    @cached_property
    def judge(self) -> JudgeScorer:
        """The heads; the network is loaded when it is first used."""
        judge = load_judge(self.name)
        if isinstance(judge, JudgeEnsemble):
            raise InputError(f"{self.name} has several networks", hint=f"start from {READY} or {READY_LARGE}")
        return judge

    @property
    def signature(self) -> str:
        return f"{KIND}-{self.judge.facts['weights']}-{self.judge.facts['scorer']['signature']}"

    def describe(self) -> dict[str, str]:
        network = self.judge.facts["scorer"]
        if network.get("kind") == KIND:  # the network of a third judge, from which this one started
            return dict(network)
        place = self.name if self.name in JUDGES else str(Path(self.name).resolve())
        return {"place": place, "kind": KIND, "signature": str(network["signature"]), "from": self.judge.origin}

    def trained_on(self, samples: Sequence[Sample]) -> int:
        return self.judge.trained_on(samples)

    def load(self, device: str) -> RelevanceScorer:
        return replace(self.judge, device=device).relevance

    def learn(self, aspect: str, rated: RatedStates) -> tuple[Head, dict[str, Any]]:
        """Return the corrected head of the aspect; if the judge lacks it, of `overall` or of the first aspect."""
        aspects = [learned["aspect"] for learned in self.judge.facts["aspects"]]
        start = next(name for name in (aspect, "overall", aspects[0]) if name in aspects)
        row = self.judge.row(start)
        learned = learn_correction(rated, Head(self.judge.weights[row], float(self.judge.offsets[row]), np.inf))
        return learned.head, {
            "start": {"judge": self.name, "aspect": start, "spearman": learned.before},
            "corrected": {"used": learned.is_better, "spearman": learned.after, "difference": list(learned.difference)},
        }


@dataclass(frozen=True, slots=True)
class LearnedAspect:
    """The head of one aspect, and what it was learned from."""

    aspect: str
    rated: RatedStates
    head: Head
    more: dict[str, Any]

    def describe(self) -> dict[str, Any]:
        """Return the facts that are stored about the aspect."""
        return {
            "aspect": self.aspect,
            "replies": len(self.rated.targets),
            "sets": len(np.unique(self.rated.sets)),
            "strength": self.head.strength,
            "spearman": self.head.spearman,
            "ci": list(self.head.ci),
            **self.more,
        }


@dataclass(frozen=True, kw_only=True)
class FrozenJudgeJob(Job[Any]):
    """Learns heads only. No network is fitted, so the task is just the list of learned aspects."""

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
        if known := self.scorer.trained_on(self.rated.samples):
            start = f"the training of {self.scorer.name}, whose correlation is overstated"
            run.report(f"{count(known, 'reply', 'replies')} of these were in {start}")
        relevance = self.scorer.load(run.device)
        with contextlib.closing(Appended(run.work / STATES)) as file:
            _encode(self.rated.samples, file, relevance, run.progress)

    def task(self, run: Run) -> list[LearnedAspect]:
        rated, aspects = self.rated, []
        states = np.fromfile(run.work / STATES, dtype=np.float32).reshape(len(rated.samples), -1).astype(np.float64)
        for aspect, ratings in rated.all_ratings(self.settings.least, lambda _: None).items():
            which = ratings.which
            known = RatedStates(states[which], ratings.targets, rated.sets[which], rated.contexts[which])
            aspects.append(LearnedAspect(aspect, known, *self.scorer.learn(aspect, known)))
        return aspects

    def fit(self, task: list[LearnedAspect], run: Run) -> Curve:  # noqa: ARG002
        return []

    def facts(self, task: list[LearnedAspect], run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        scorer = self.scorer.signature
        parts = {"scorer": scorer, "source": self.source, "device": str(run.processes.device)}
        return {
            "kind": self.kind,
            "signature": str(signed(self.settings, **parts)),
            "scorer": self.scorer.describe(),
            "aspects": [aspect.describe() for aspect in task],
        }

    def save(self, folder: Path, task: list[LearnedAspect], run: Run, facts: dict[str, Any], curve: Curve) -> None:  # noqa: ARG002
        hashes = map(pair_hash, self.rated.samples)
        save_model(folder, judge_tensors([aspect.head for aspect in task], hashes), facts)


def from_log(log: TrainingLog, given: Network, settings: JudgeSettings) -> FrozenJudgeJob:
    """Return the job of `interloq train judge`."""
    scorer = StartingJudge(given.scorer) if _is_judge(given.scorer) else StartingScorer(given.scorer)
    return FrozenJudgeJob(log=log, scorer=scorer, settings=settings, source=log.fingerprint)


def _is_judge(name: str) -> bool:
    path = Path(name) / FACTS
    return name in JUDGES or (path.is_file() and read_json(path).get("kind") == KIND)


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
