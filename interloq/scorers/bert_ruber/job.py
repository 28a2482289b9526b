# SPDX-License-Identifier: Apache-2.0
"""Training of BERT-RUBER's scorer: encode all texts, then train. Encoding resumes after the last row written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interloq.learn.job import Curve, Job, Run
from interloq.learn.settings import Training
from interloq.learn.trainable import PairLog
from interloq.models.encoder import Encoder
from interloq.models.pretrained import model_folder, weights_fingerprint
from interloq.records import Pair
from interloq.scorers.bert_ruber.features import PairVectors, started, write_pair_vectors
from interloq.scorers.bert_ruber.model import KIND
from interloq.scorers.bert_ruber.settings import BertRuberEncoder, BertRuberSettings
from interloq.scorers.bert_ruber.task import BertRuberTask, start, wins

LEARNED = 0.99 * 2 * math.log(2)  # just below the loss of a network that cannot tell replies apart
NOTHING = "the network learned nothing: its dev loss is that of chance; try another learning rate, more pairs or epochs"
VECTORS = "vectors"


@dataclass(frozen=True, kw_only=True)
class BertRuberJob(Job[BertRuberTask]):
    """Trains on pairs. `pairs` is called for each pass; `encoder` is a folder, a package or a name on the hub."""

    pairs: Callable[[], Iterable[Pair]]
    encoder: str
    settings: BertRuberSettings

    kind = KIND
    others = "other settings, another encoder or other pairs"

    def dependencies(self) -> Sequence[str]:
        return [weights_fingerprint(model_folder(self.encoder))]

    def started(self, work: Path) -> bool:
        return started(work / VECTORS)

    def prepare(self, run: Run) -> None:
        encoder, settings = self._encoder(run), self.settings
        if not PairVectors.written(run.work / VECTORS):
            with run.progress("encoding texts", None) as step:
                write_pair_vectors(
                    self.pairs(), run.work / VECTORS, encoder, settings.pooling, dev=settings.dev, step=step
                )
        run.report(PairVectors.load(run.work / VECTORS).summary)

    def _encoder(self, run: Run) -> Encoder:
        return Encoder(self.encoder, layer=self.settings.layer, longest=self.settings.longest, device=run.device)

    def task(self, run: Run) -> BertRuberTask:
        stored = PairVectors.load(run.work / VECTORS)
        return BertRuberTask(start(stored.vectors.shape[1], self.settings.seed), stored, self.settings)

    def facts(self, task: BertRuberTask, run: Run, curve: Curve) -> dict[str, Any]:
        settings, encoder = self.settings, self._encoder(run)
        place = str(Path(self.encoder).resolve()) if Path(self.encoder).is_dir() else self.encoder
        weights, signature = weights_fingerprint(encoder.folder), encoder.signature()
        return self.base_facts(curve, encoder=signature) | {
            "config": {"pooling": settings.pooling, "layer": settings.layer, "longest": settings.longest},
            "encoder": {"name": self.encoder, "place": place, "weights": weights, "signature": signature},
            "pairs": task.pairs.counts,
            "wins": wins(task),
        }

    def verdict(self, facts: dict[str, Any]) -> str:
        return NOTHING if facts["best"]["dev_loss"] > LEARNED else ""


def from_log(log: PairLog, given: BertRuberEncoder, settings: BertRuberSettings, training: Training) -> BertRuberJob:
    """Job of `interloq train bert-ruber`."""
    return BertRuberJob(
        pairs=log.pairs, encoder=given.encoder, settings=settings, training=training, source=log.fingerprint
    )
