# SPDX-License-Identifier: Apache-2.0
"""Training of RUBER's unreferenced scorer: train a tokenizer, tokenise the pairs, train the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interloq.data.files.durable import write_atomically
from interloq.errors import count
from interloq.learn.job import Curve, Job, Run
from interloq.learn.pair_tokens import PairTokens, write_pair_tokens
from interloq.learn.pieces import Pieces, train_pieces
from interloq.learn.settings import Training
from interloq.learn.trainable import PairLog
from interloq.records import Pair
from interloq.scorers.ruber.model import KIND, PIECES
from interloq.scorers.ruber.settings import RuberTokenizer, Unreferenced
from interloq.scorers.ruber.task import RuberTask, start, wins
from interloq.signature import file_fingerprint

PAIRS = "pairs"
LEARNED = 0.98  # share of the margin; the loss of a network that cannot tell replies apart is the margin
NOTHING = (
    "the network learned nothing: its dev loss is still the margin; try another learning rate, more pairs or epochs"
)


@dataclass(frozen=True, kw_only=True)
class RuberJob(Job[RuberTask]):
    """Trains on pairs. `pairs` is called for each pass over them. Without a `tokenizer`, one is trained on them."""

    pairs: Callable[[], Iterable[Pair]]
    settings: Unreferenced
    tokenizer: str | Path | None = None

    kind = KIND

    def dependencies(self) -> Sequence[str]:
        return [Pieces(self.tokenizer).signature() if self.tokenizer else "trained"]

    def started(self, work: Path) -> bool:
        return PairTokens.written(work / PAIRS)

    def prepare(self, run: Run) -> None:
        if not (run.work / PIECES).exists():
            self._make_tokenizer(run)
        pieces = self._pieces(run)
        if not self.tokenizer and pieces.size < self.settings.vocabulary:
            run.report(f"these texts yield a tokenizer of only {count(pieces.size, 'piece')}")
        if not PairTokens.written(run.work / PAIRS):
            with run.progress("reading pairs", None) as step:
                write_pair_tokens(self.pairs(), run.work / PAIRS, pieces, dev=self.settings.dev, step=step)
        run.report(PairTokens.load(run.work / PAIRS).summary)

    def _make_tokenizer(self, run: Run) -> None:
        if self.tokenizer:
            write_atomically(run.work / PIECES, Path(self.tokenizer).read_bytes())
            return
        with run.progress("reading texts for the tokenizer", None) as step:
            train_pieces(self.pairs(), run.work / PIECES, vocabulary=self.settings.vocabulary, step=step)

    def _pieces(self, run: Run) -> Pieces:
        return Pieces(run.work / PIECES, longest=self.settings.longest)

    def task(self, run: Run) -> RuberTask:
        network = start(self._pieces(run).size, self.settings)
        return RuberTask(network, PairTokens.load(run.work / PAIRS), self.settings)

    def facts(self, task: RuberTask, run: Run, curve: Curve) -> dict[str, Any]:
        settings, pieces = self.settings, self._pieces(run)
        return self.base_facts(curve, pieces=pieces.signature()) | {
            "config": {"embedding": settings.embedding, "hidden": settings.hidden, "longest": settings.longest},
            "pieces": file_fingerprint(pieces.model),
            "pairs": task.pairs.counts,
            "wins": wins(task),
        }

    def save_extras(self, folder: Path, run: Run) -> None:
        write_atomically(folder / PIECES, (run.work / PIECES).read_bytes())

    def verdict(self, facts: dict[str, Any]) -> str:
        return NOTHING if facts["best"]["dev_loss"] > LEARNED * self.settings.margin else ""


def from_log(log: PairLog, given: RuberTokenizer, training: Training, settings: Unreferenced) -> RuberJob:
    """Job of `interloq train ruber`."""
    return RuberJob(
        pairs=log.pairs, tokenizer=given.tokenizer, settings=settings, training=training, source=log.fingerprint
    )
