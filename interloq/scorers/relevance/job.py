# SPDX-License-Identifier: Apache-2.0
"""Training of the scorers `relevance` and `valid`: tokenise exchanges, train, calibrate.

Exchanges are tokenised once, to `<folder>/work` or to a separate folder that other jobs can use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError, count
from interloq.learn.calibrate import calibration
from interloq.learn.cross_encoder_job import CrossEncoderJob
from interloq.learn.fit import dev_outputs
from interloq.learn.job import Curve, Run
from interloq.learn.settings import LowRank, Training
from interloq.registry import full_spec
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.relevance.examples import Exchange, Exchanges, described, stored_source, write_exchanges
from interloq.scorers.relevance.log import ExchangeLog
from interloq.scorers.relevance.settings import KINDS, RelevanceReading, RelevanceSettings, RelevanceSources
from interloq.scorers.relevance.task import RelevanceTask
from interloq.signature import fingerprint
from interloq.signature import signature as signed

EXAMPLES = "examples"
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RelevanceJob(CrossEncoderJob[RelevanceTask]):
    """Trains on exchanges. `exchanges` is called once; without it, the folder `examples` must have tokenised ones."""

    exchanges: Callable[[], Iterable[Exchange]] | None = None
    examples: Path | None = None
    reading: RelevanceReading
    settings: RelevanceSettings

    @property
    def kind(self) -> str:
        return self.settings.kind

    @property
    def longest(self) -> int:
        return self.reading.longest

    def reading_ids(self) -> Sequence[str]:
        return [self.start.fingerprint, *described(self.subwords, self.reading).values()]

    def started(self, work: Path) -> bool:
        return Exchanges.written(work / EXAMPLES) or super().started(work)

    def matches(self, facts: dict[str, Any]) -> bool:
        """In earlier versions, a job's id included the number of its exchanges."""
        counted = fingerprint(*self.parts, str(facts.get("examples", {}).get("exchanges")))  # a tuned one has none
        return facts["job"] in (self.name, counted)

    def prepare(self, run: Run) -> None:
        facts, wrong = self._exchanges(run).facts, len(self.settings.slots)
        dev, every = facts["dev"], facts["exchanges"]
        replies = count(wrong, "wrong reply", "wrong replies")
        run.report(f"{count(every - dev, 'exchange')} for training, {dev:,} for dev, {replies} each")

    def _exchanges(self, run: Run) -> Exchanges:
        folder = self.examples or run.work / EXAMPLES
        if Exchanges.written(folder):
            return self._check_examples(Exchanges.load(folder), folder)
        if self.exchanges is None:
            raise InputError("no examples in the folder", hint="give logs to make them from", where=str(folder))
        # jobs that share a folder of examples may use other kinds of wrong replies
        similar = self.examples is not None or "retrieved" in self.settings.slots
        with run.progress("reading exchanges", None) as step:
            return write_exchanges(
                self.exchanges(), folder, self.subwords, self.reading, source=self.source, similar=similar, step=step
            )

    def _check_examples(self, stored: Exchanges, folder: Path) -> Exchanges:
        for name, value in {**described(self.subwords, self.reading), "source": self.source}.items():
            if stored.facts[name] != value:
                raise InputError(
                    f"the examples have {name} {stored.facts[name]}, not {value}",
                    hint="use the settings they were made with, or choose another folder",
                    where=str(folder),
                )
        return stored

    def task(self, run: Run) -> RelevanceTask:
        network = self.network()
        wanted, positions = self.settings.context + self.settings.reply + 3, network.positions
        if positions is not None and wanted > positions:
            raise InputError(
                f"the encoder reads {positions} tokens, but context and reply have up to {wanted}",
                hint="lower context or reply",
            )
        return RelevanceTask(network, self._exchanges(run), self.settings, self.subwords)

    def facts(self, task: RelevanceTask, run: Run, curve: Curve) -> dict[str, Any]:
        settings, stored, logits = self.settings, task.exchanges, dev_logits(task)
        parts = {"training": full_spec(self.training), "encoder": self.start.fingerprint, "job": run.name}
        return self.base_facts(curve) | {
            "signature": str(signed(settings, **parts, **self.low_rank.parts)),
            "config": {
                "turns": int(stored.contexts.shape[1]),
                "longest": self.subwords.longest,
                "context": settings.context,
                "reply": settings.reply,
            },
            **self.low_rank_facts(),
            "subwords": self.subwords.signature(),
            "calibration": calibration(*labelled(logits)),
            "examples": stored.facts,
            "wins": wins(logits, settings),
        }


def from_log(
    log: TrainingLog,
    given: RelevanceSources,
    reading: RelevanceReading,
    settings: RelevanceSettings,
    training: Training,
    low_rank: LowRank,
) -> RelevanceJob:
    """Job of `interloq train relevance` and `interloq train valid`."""
    if not (log.files or given.hard or given.examples):
        raise InputError("nothing to train on", hint="give files of dialogues or pairs, or --examples FOLDER")
    examples = Path(given.examples) if given.examples else None
    exchanges = ExchangeLog(log, given.hard, turns=reading.turns)
    return RelevanceJob(
        encoder=given.encoder,
        exchanges=exchanges.exchanges if exchanges.files else None,
        examples=examples,
        reading=reading,
        settings=settings,
        low_rank=low_rank,
        training=training,
        source=exchanges.fingerprint if exchanges.files else stored_source(examples),
    )


def dev_logits(task: RelevanceTask) -> Floats:
    """Return the logits [exchanges, 1 + wrong replies] of the dev part."""
    logits = np.zeros((task.exchanges.facts["dev"], task.choices))
    for examples, _, outputs in dev_outputs(task, task.logits):
        logits[examples] = outputs
    return logits


def labelled(logits: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Logits and labels of each true reply and one of its wrong ones: half are true, as in the loss."""
    rows = np.arange(len(logits))
    wrong = logits[rows, 1 + rows % (logits.shape[1] - 1)]
    return np.concatenate([logits[:, 0], wrong]), np.repeat([1, 0], len(logits))


def wins(logits: Floats, settings: RelevanceSettings) -> dict[str, float]:
    """Share of true replies that score above the wrong one, by kind of wrong reply; .5 is chance."""
    above = np.sign(logits[:, :1] - logits[:, 1:]) / 2 + 0.5
    slots = np.array(settings.slots)
    return {kind: float(above[:, slots == kind].mean()) for kind in KINDS if kind in settings.slots}
