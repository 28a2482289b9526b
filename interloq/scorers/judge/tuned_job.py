# SPDX-License-Identifier: Apache-2.0
"""Training of the scorer `judge` by fine-tuning: a relevance network learns the order of the rated replies of each set.

The tuned network is a complete `relevance` scorer in `<folder>/scorer`. The judge reads its states with the network's
own head, scaled to expected ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from interloq.errors import InputError, count
from interloq.learn.job import Curve, Run
from interloq.learn.learning_curve import write_curve
from interloq.learn.low_rank import attach, stored_tensors
from interloq.learn.settings import LowRank, Training
from interloq.learn.start import Start, keep_files, low_rank_facts
from interloq.learn.store import read_facts, save_model
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge.job import JudgeJob, judge_tensors
from interloq.scorers.judge.model import SCORER
from interloq.scorers.judge.replies import RatedReplies
from interloq.scorers.judge.settings import Network, TuneSettings
from interloq.scorers.judge.task import TuneTask
from interloq.scorers.relevance.model import RelevanceScorer, signature_of


@dataclass(frozen=True, kw_only=True)
class TunedJudgeJob(JudgeJob[TuneTask]):
    """Fine-tunes the relevance network on the ratings of one aspect."""

    settings: TuneSettings
    low_rank: LowRank = field(default_factory=LowRank)

    @cached_property
    def relevance(self) -> RelevanceScorer:
        """The scorer to start from."""
        return RelevanceScorer.load(self.scorer, device="cpu")

    def dependencies(self) -> list[str]:
        return [*super().dependencies(), *self.low_rank.parts.values()]

    def started(self, work: Path) -> bool:
        return RatedReplies.written(work) or super().started(work)

    def prepare(self, run: Run) -> None:
        if not RatedReplies.written(run.work):
            run.report(self.rated.summary)
            RatedReplies.of(self.rated, self.relevance, self.settings, run.report).save(run.work)
        replies = RatedReplies.load(run.work)
        held, sets = int(replies.dev.sum()), len(np.unique(replies.sets))
        learned = count(len(replies.dev) - held, "reply", "replies")
        run.report(f"{learned} of {count(sets, 'set')} for training, {held:,} for dev")

    def task(self, run: Run) -> TuneTask:
        network = self.relevance.network
        attach(network, self.low_rank, seed=self.settings.seed)
        task = TuneTask(network, RatedReplies.load(run.work), self.settings, self.relevance.subwords)
        if not task.sets["train"]:
            raise InputError("the sets have too few contexts to hold some out", hint="use replies to more contexts")
        return task

    def facts(self, task: TuneTask, run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        replies, head = task.replies, task.head
        own = {
            "aspect": self.settings.aspect,
            "replies": int((~replies.dev).sum()),
            "sets": len(task.sets["train"]),
            "held_out": int(replies.dev.sum()),
            "spearman": head.spearman,
            "ci": list(head.ci),
        }
        return {**self.base_facts(curve, scorer=self.start_signature, **self.low_rank.parts), "aspects": [own]}

    def save(self, folder: Path, task: TuneTask, run: Run, facts: dict[str, Any], curve: Curve) -> None:  # noqa: ARG002
        signature = self._save_scorer(folder / SCORER, task, facts)
        write_curve(folder, facts["signature"], curve)
        facts["scorer"] = {"place": SCORER, "signature": signature, "from": self.start_place}
        save_model(folder, judge_tensors([task.head], task.replies.hashes.tolist()), facts)

    def _save_scorer(self, folder: Path, task: TuneTask, facts: dict[str, Any]) -> str:
        """Save the tuned network as a relevance scorer; returns its signature."""
        keep_files(folder, self.relevance.subwords, self.low_rank)
        kept = {name: self.start[name] for name in ("kind", "config", "subwords")}
        own = {"job": facts["job"], "signature": facts["signature"], "temperature": 1.0}
        low_rank = low_rank_facts(self.low_rank, Start.of(self.scorer))
        save_model(folder, stored_tensors(task.network), {**kept, **own, **low_rank})
        return signature_of(read_facts(folder, kind=RelevanceScorer.kind))


def from_log(
    log: TrainingLog, given: Network, settings: TuneSettings, training: Training, low_rank: LowRank
) -> TunedJudgeJob:
    """Job of `interloq train judge --tune`."""
    return TunedJudgeJob(
        log=log, scorer=given.scorer, settings=settings, training=training, low_rank=low_rank, source=log.fingerprint
    )
