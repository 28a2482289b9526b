# SPDX-License-Identifier: Apache-2.0
"""Training of the scorer `judge` by fine-tuning: a relevance network learns the order of the rated replies of each set.

    J = Σ softplus(−(z_i − z_j) · sign(y_i − y_j)) · |y_i − y_j|  /  Σ |y_i − y_j|      over all pairs of a batch

z are the network's logits, y the ranks of the replies' ratings in their set, from −1 to 1. A batch has replies of one
set only, and every set has the same number of batches per epoch, so every set counts the same.

The tuned network is a complete `relevance` scorer in `<folder>/scorer`. The judge reads its states with the network's
own head, scaled to expected ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from interloq.errors import InputError, count
from interloq.learn.cross_encoder_job import CrossEncoderJob, PairRows
from interloq.learn.cross_encoder_scorer import signature_of
from interloq.learn.fit import Part
from interloq.learn.job import Curve, Run
from interloq.learn.learning_curve import write_curve
from interloq.learn.low_rank import select_stored_tensors
from interloq.learn.settings import LowRank, Training
from interloq.learn.store import read_facts, save_model
from interloq.models.cross_encoder import CrossEncoder
from interloq.models.pretrained import Subwords
from interloq.models.token_rows import Packed, TokenRows
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge.job import OTHERS, StartingScorer, judge_tensors
from interloq.scorers.judge.model import KIND, SCORER
from interloq.scorers.judge.rated import RatedReplies, RatedSets
from interloq.scorers.judge.settings import Network, TuneSettings
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.statistics.ridge import TINY, Head, Ints, heads, interval, spearman


@dataclass(frozen=True, slots=True)
class JudgeBatch:
    """Replies of one set with the ranks of their ratings. The loss compares the replies at `own` with all others."""

    rows: TokenRows | Packed
    targets: torch.Tensor
    own: torch.Tensor
    scale: float


class TuneTask:
    """Learns from rated replies. Example g · batch + i is reply i of the part's group g.

    Several processes share the examples of a batch. Each reads its whole group, so their losses add up to the loss of
    a single process.
    """

    def __init__(
        self, network: CrossEncoder, replies: RatedReplies, settings: TuneSettings, subwords: Subwords
    ) -> None:
        self.network, self.replies, self.settings = network, replies, settings
        self.pairs = PairRows(replies.texts, subwords)
        self._current: dict[Part, list[Ints]] = {}

    def batches(self, part: Part, epoch: int) -> Sequence[Ints]:
        if part == "train":
            self._current[part] = self._draw_groups(epoch)
        else:
            self._current[part] = self._dev_groups
        groups = enumerate(self._current[part])
        return [number * self.settings.batch + np.arange(len(group)) for number, group in groups]

    def prepare(self, part: Part, examples: Ints) -> JudgeBatch:
        numbers, own = np.divmod(examples, self.settings.batch)
        group = self._current[part][int(numbers[0])]
        targets = torch.from_numpy(self.replies.targets[group].astype(np.float32))
        scale = 1.0
        if part == "dev":
            scale = self._dev_scales[int(self.replies.sets[group[0]])]
        return JudgeBatch(self.network.packing.arrange(self.pairs.rows(group)), targets, torch.from_numpy(own), scale)

    def loss(self, prepared: JudgeBatch) -> torch.Tensor:
        logits = self.network(prepared.rows)[:, 0].float()
        own = prepared.own.to(logits.device, non_blocking=True)
        targets = prepared.targets.to(logits.device, non_blocking=True)
        apart = targets.index_select(0, own)[:, None] - targets
        behind = logits - logits.index_select(0, own)[:, None]
        losses = torch.nn.functional.softplus(behind * apart.sign()) * apart.abs()
        total = (targets[:, None] - targets).abs().sum().clamp_min(TINY)  # 0 if all ratings are equal
        return losses.sum() / total * len(targets) * prepared.scale

    @cached_property
    def sets(self) -> dict[Part, dict[int, Ints]]:
        """Replies of each set in each part; a set that has fewer than two replies for training is not trained on."""
        replies = self.replies
        train, dev = {}, {}
        for number in np.unique(replies.sets).tolist():
            dev[number] = np.flatnonzero((replies.sets == number) & replies.dev)
            trained_on = np.flatnonzero((replies.sets == number) & ~replies.dev)
            if len(trained_on) > 1:
                train[number] = trained_on
        return {"train": train, "dev": dev}

    @cached_property
    def head(self) -> Head:
        """The trained head, scaled to ranks of the training replies, with its agreement on held-out replies."""
        dev = self.replies.dev
        logits = self.pairs.outputs(self.network, np.arange(len(dev)))
        rated = self.replies.with_states(logits[:, None])
        (line,) = heads(rated[~dev], strengths=(TINY,))
        slope, own = float(line.weights[0]), self.network.head
        weights = slope * own.weight.detach().double().cpu().numpy()[0]
        unseen = rated[dev]
        return Head(
            weights,
            slope * own.bias.item() + line.offset,
            TINY,
            spearman(unseen, logits[dev]),
            interval(unseen, logits[dev]),
        )

    def _draw_groups(self, epoch: int) -> list[Ints]:
        """Draw the groups of an epoch: rounds with one group of each set, in random order."""
        rng, size = np.random.default_rng([self.settings.seed, epoch]), self.settings.batch
        rounds = max(1, round(self.settings.replies / size))
        drawn = {}
        for number, replies in self.sets["train"].items():
            width = min(size, len(replies))
            passes = math.ceil(rounds * width / len(replies))  # each pass draws every reply once
            permuted = np.concatenate([rng.permutation(replies) for _ in range(passes)])
            drawn[number] = permuted[: rounds * width].reshape(rounds, width)
        groups: list[Ints] = []
        for k in range(rounds):
            groups += [drawn[number][k] for number in rng.permutation(list(drawn))]
        return groups

    @cached_property
    def _dev_groups(self) -> list[Ints]:
        groups: list[Ints] = []
        for replies in self.sets["dev"].values():
            groups += np.array_split(replies, math.ceil(len(replies) / self.settings.batch))
        return groups

    @cached_property
    def _dev_scales(self) -> dict[int, float]:
        """Factors that make every set count the same in the dev loss."""
        sets, total = self.sets["dev"], int(self.replies.dev.sum())
        return {number: total / (len(sets) * len(replies)) for number, replies in sets.items()}


@dataclass(frozen=True, kw_only=True)
class TunedJudgeJob(CrossEncoderJob[TuneTask]):
    """Fine-tunes the relevance network on the ratings of one aspect."""

    log: TrainingLog
    settings: TuneSettings

    kind = KIND
    others = OTHERS

    @cached_property
    def scorer(self) -> StartingScorer:
        """The relevance scorer to start from."""
        return StartingScorer(self.encoder)

    @property
    def longest(self) -> int:
        return int(self.scorer.facts["config"]["longest"])

    def reading_ids(self) -> Sequence[str]:
        return [self.scorer.signature]

    def started(self, work: Path) -> bool:
        return RatedReplies.written(work) or super().started(work)

    def prepare(self, run: Run) -> None:
        if not RatedReplies.written(run.work):
            rated, scorer = RatedSets.of(self.log), RelevanceScorer.load(self.encoder, device="cpu")
            run.report(rated.summary)
            RatedReplies.of(rated, scorer, self.settings, run.report).save(run.work)
        replies = RatedReplies.load(run.work)
        held, sets = int(replies.dev.sum()), len(np.unique(replies.sets))
        learned = count(len(replies.dev) - held, "reply", "replies")
        run.report(f"{learned} of {count(sets, 'set')} for training, {held:,} for dev")

    def task(self, run: Run) -> TuneTask:
        task = TuneTask(self.network(), RatedReplies.load(run.work), self.settings, self.subwords)
        if not task.sets["train"]:
            raise InputError("the sets have too few contexts to hold some out", hint="use replies to more contexts")
        return task

    def facts(self, task: TuneTask, run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        replies, head = task.replies, task.head
        learned = {
            "aspect": self.settings.aspect,
            "replies": int((~replies.dev).sum()),
            "sets": len(task.sets["train"]),
            "held_out": int(replies.dev.sum()),
            "spearman": head.spearman,
            "ci": list(head.ci),
        }
        return {**self.base_facts(curve, scorer=self.scorer.signature, **self.low_rank.parts), "aspects": [learned]}

    def save(self, folder: Path, task: TuneTask, run: Run, facts: dict[str, Any], curve: Curve) -> None:
        self.save_extras(folder / SCORER, run)
        kept = {name: self.scorer.facts[name] for name in ("kind", "config", "subwords")}
        tuned = {"job": facts["job"], "signature": facts["signature"], "temperature": 1.0}
        save_model(folder / SCORER, select_stored_tensors(task.network), {**kept, **tuned, **self.low_rank_facts()})
        signature = signature_of(read_facts(folder / SCORER, kind=RelevanceScorer.kind))
        write_curve(folder, facts["signature"], curve)
        facts["scorer"] = {"place": SCORER, "signature": signature, "from": self.scorer.place}
        save_model(folder, judge_tensors([task.head], task.replies.hashes.tolist()), facts)


def from_log(
    log: TrainingLog, given: Network, settings: TuneSettings, training: Training, low_rank: LowRank
) -> TunedJudgeJob:
    """Return the job of `interloq train judge --tune`."""
    return TunedJudgeJob(
        log=log, encoder=given.scorer, settings=settings, training=training, low_rank=low_rank, source=log.fingerprint
    )
