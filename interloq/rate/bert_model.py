# SPDX-License-Identifier: Apache-2.0
"""A trained BERT rater: a folder with weights, configuration, tokenizer, learning curve and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files.opening import reading_saved
from interloq.errors import InputError
from interloq.learn.calibrate import probabilities
from interloq.learn.job import Curve, Run
from interloq.learn.low_rank import attach
from interloq.learn.settings import LowRank, Training
from interloq.learn.start import Start, files_of, keep_files, low_rank_facts, trained_network, weights_of
from interloq.learn.store import check_counts, check_temperature, foreign, load_model
from interloq.learn.trainable import PairLog
from interloq.models.batches import bucketed
from interloq.models.cross_encoder import CONFIG, CrossEncoder, joined_rows, row_lengths
from interloq.models.memory import read_in_parts
from interloq.models.processes import pick_device
from interloq.models.subwords import Subwords
from interloq.models.token_rows import TokenRows
from interloq.rate.bert_task import BertRaterTask
from interloq.rate.examples import Examples
from interloq.rate.learning import RaterJob, number_texts
from interloq.rate.pairs import source_of
from interloq.rate.settings import Batching, RaterReading, RaterSources
from interloq.rate.turn_subwords import rater_subwords
from interloq.rate.turns import with_contexts
from interloq.registry import full_spec
from interloq.signature import file_fingerprint, fingerprint

KIND = "bert_rater"
OUTPUTS = 2
TRIPLETS, TOKENS = 1_024, 2**15  # per batch


@dataclass(frozen=True, kw_only=True)
class BertRaterJob(RaterJob[BertRaterTask]):
    """Fine-tunes the network that it starts from; the subwords are its tokenizer's."""

    start: Start
    subwords: Subwords
    settings: Batching
    low_rank: LowRank = field(default_factory=LowRank)
    turns: int = 1

    kind = KIND

    def dependencies(self) -> Sequence[str]:
        return [self._weights(), self.subwords.signature(), full_spec(self.examples), *self.low_rank.parts.values()]

    def _weights(self) -> str:
        return f"encoder:{self.start.fingerprint}-{file_fingerprint(self.start.files / CONFIG)}"

    def numbering(self, run: Run) -> Subwords:  # noqa: ARG002
        return self.subwords

    def task(self, run: Run) -> BertRaterTask:
        network = self._network()
        attach(network, self.low_rank, seed=self.training.seed)
        return BertRaterTask(network, self.pairs(run), self.subwords, self.settings, seed=self.training.seed)

    def signature(self, run: Run) -> list[str]:  # noqa: ARG002
        specs = [full_spec(self.settings), full_spec(self.training)]
        return [*specs, self._weights(), self.subwords.signature(), *self.low_rank.parts.values()]

    def facts(self, task: BertRaterTask, run: Run, curve: Curve) -> dict[str, Any]:
        subwords = self.subwords
        return super().facts(task, run, curve) | {
            "config": file_fingerprint(subwords.folder / CONFIG),
            "subwords": subwords.signature(),
            "longest": subwords.longest,
            "turns": self.turns,
            **low_rank_facts(self.low_rank, self.start),
        }

    def save_extras(self, folder: Path, run: Run) -> None:  # noqa: ARG002
        keep_files(folder, self.subwords, self.low_rank)

    def _network(self) -> CrossEncoder:
        network = self.start.network(OUTPUTS, seed=self.training.seed)
        if self.subwords.size > network.vocabulary:
            raise InputError(
                f"the tokenizer has {self.subwords.size} tokens, the encoder {network.vocabulary}",
                hint="use an encoder with its own tokenizer",
                where=str(self.subwords.folder),
            )
        if self.turns > 1:  # a row that is too long loses the end of its texts, hence the last turn
            self._check_room(network.positions)
        return network

    def _check_room(self, positions: int | None) -> None:
        longest = 1 + (self.turns + 2) * (self.subwords.longest + 1)
        if positions and longest > positions:
            raise InputError(
                f"{self.turns} turns and two replies need up to {longest} tokens, the encoder reads {positions}",
                hint="lower --turns or --longest",
            )


def from_log(
    log: PairLog,
    given: RaterSources,
    training: Training,
    batching: Batching,
    examples: Examples,
    low_rank: LowRank,
    reading: RaterReading,
) -> BertRaterJob:
    """Job of `interloq train rater --encoder`."""
    start, turns = Start.of(str(given.encoder)), reading.turns
    return BertRaterJob(
        logs=(lambda: [with_contexts(pairs, turns) for pairs in log.logs()]) if turns > 1 else log.logs,
        source=source_of(log, given.examples),
        kept=Path(given.examples) if given.examples else None,
        start=start,
        subwords=rater_subwords(start.files, longest=given.longest, turns=turns),
        turns=turns,
        settings=batching,
        low_rank=low_rank,
        examples=examples,
        training=training,
    )


class BertRaterModel:
    """A trained rater, ready to use. It computes in float32."""

    def __init__(self, network: CrossEncoder, subwords: Subwords, facts: dict[str, Any], device: str = "auto") -> None:
        self.device = pick_device(device)
        self.network = network.to(self.device).eval()
        self.subwords, self.facts = subwords, facts
        self.tokens = TOKENS

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> BertRaterModel:
        """Load a rater from its folder."""
        folder = Path(folder)
        facts, tensors = load_model(folder, kind=KIND)
        files = files_of(folder, facts)
        if not (files / CONFIG).exists() or file_fingerprint(files / CONFIG) != facts.get("config"):
            raise foreign(CONFIG, folder, "rater")
        with reading_saved(folder):
            facts.setdefault("turns", 1)  # earlier versions read the last turn only
            check_counts(facts, "longest", "turns")
            read = rater_subwords(files, longest=facts["longest"], turns=facts["turns"])
            if read.signature() != facts["subwords"]:
                raise foreign("the tokenizer", folder, "rater")
            check_temperature(facts)
        network = trained_network(folder, facts, tensors, outputs=OUTPUTS)
        return cls(network, read, facts, device)

    @property
    def turns(self) -> int:
        """Last turns of a context that it reads."""
        return int(self.facts["turns"])

    @property
    def fingerprint(self) -> str:
        """Short hash of everything that affects its output."""
        return fingerprint(
            weights_of(self.facts), *(str(self.facts[name]) for name in ("config", "subwords", "temperature"))
        )

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def chances(self, triplets: Sequence[tuple[str, str, str]], *, calibrated: bool = False) -> NDArray[np.float64]:
        """P(R2 can be a reply to U1) of triplets (U1, R1, R2). Each distinct triplet is read once."""
        distinct = {triplet: i for i, triplet in enumerate(dict.fromkeys(triplets))}
        difference = self._difference(list(distinct))[[distinct[triplet] for triplet in triplets]]
        return probabilities(difference, self.facts["temperature"] if calibrated else 1.0)

    def _difference(self, triplets: Sequence[tuple[str, str, str]]) -> NDArray[np.float64]:
        """Logits, positive minus negative, of triplets, computed in batches of similar length."""
        place, indices = number_texts(triplets)
        texts, limit = self.subwords.texts(list(place)), self.network.positions
        lengths = row_lengths(texts.lengths[indices], limit)
        difference = np.zeros(len(indices))
        for batch in bucketed(lengths, size=TRIPLETS, tokens=self.tokens, rng=None):
            logits = self._logits(joined_rows(texts, indices[batch], self.subwords, limit=limit)).double()
            difference[batch] = (logits[:, 1] - logits[:, 0]).cpu().numpy()
        return difference

    def _logits(self, rows: TokenRows) -> torch.Tensor:
        parts = read_in_parts(
            self,
            lambda part: self.network(rows[part]),
            len(rows.ids),
            lambda: f"one triplet of {rows.ids.shape[1]} tokens",
        )
        return torch.cat(parts)
