# SPDX-License-Identifier: Apache-2.0
"""The BERT rater: a transformer reads ⟨U1, R1, R2⟩ together and predicts whether R2 can be a reply to U1.

    [CLS] U1 [SEP] R1 [SEP] R2 [SEP]  →  first state  →  two logits

As with the Bi-GRU, no triplet has both utterances, because they are the same in positive examples. A trained rater is a
folder with weights, configuration, tokenizer, learning curve and calibration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files.opening import reading_saved
from interloq.data.text.token_texts import Texts
from interloq.errors import InputError
from interloq.learn.calibrate import probabilities
from interloq.learn.cross_encoder_job import CrossEncoderJob
from interloq.learn.fit import Part
from interloq.learn.job import Curve, Run
from interloq.learn.settings import LowRank, Training
from interloq.learn.start import files_of, load_trained_network, weights_of
from interloq.learn.store import check_counts, check_temperature, foreign, load_model
from interloq.learn.trainable import PairLog
from interloq.models.batches import make_batches, number_distinct
from interloq.models.cpu_linear import speed_up
from interloq.models.cross_encoder import CONFIG, CrossEncoder, join_rows, row_lengths
from interloq.models.memory import read_in_parts
from interloq.models.pretrained import Subwords, check_fit
from interloq.models.processes import pick_device
from interloq.models.token_rows import Packed, TokenRows
from interloq.rate import learning
from interloq.rate.examples import ExampleLimits, Examples
from interloq.rate.network_rater import BETWEEN, with_contexts
from interloq.rate.pairs import NO_LIMITS, NO_PARROTS, RaterPairs, source_of
from interloq.rate.parrots import Parrots
from interloq.rate.settings import BERT_LONGEST, Batching, RaterReading, RaterSources
from interloq.records import Pair
from interloq.registry import full_spec
from interloq.signature import file_fingerprint, fingerprint

KIND = "bert_rater"
OUTPUTS = 2
TRIPLETS, TOKENS = 1_024, 2**15  # per batch
FIRST, SECOND = [0, 1, 3], [2, 3, 1]  # indices of U1, R1, R2 and of U2, R2, R1 in an example (U1, R1, U2, R2)


@dataclass(frozen=True, slots=True)
class BertBatch:
    """Token rows and labels."""

    rows: TokenRows | Packed  # first triplets, then second ones
    labels: torch.Tensor


class BertRaterTask(learning.RatingTask):
    """Learns from rows of three texts."""

    network: CrossEncoder

    def __init__(
        self, network: CrossEncoder, pairs: RaterPairs, subwords: Subwords, batching: Batching, *, seed: int
    ) -> None:
        super().__init__(network, pairs, batching, seed=seed)
        self.subwords = subwords

    def tokens(self, lengths: learning.Ints) -> learning.Ints:
        """Return twice the longer row of each example, because a batch has both of its rows."""
        longest = np.maximum(*(row_lengths(lengths[:, places], self.network.positions) for places in (FIRST, SECOND)))
        return np.asarray(2 * longest)

    def prepare(self, part: Part, examples: learning.Ints) -> BertBatch:
        texts, labels = (array[examples] for array in self._examples[part])
        indices = np.concatenate([texts[:, FIRST], texts[:, SECOND]])
        rows = join_rows(self.pairs.texts, indices, self.subwords, limit=self.network.positions)
        return BertBatch(self.network.packing.arrange(rows), torch.from_numpy(np.tile(labels.astype(np.int64), 2)))

    def logits(self, prepared: BertBatch) -> torch.Tensor:
        logits: torch.Tensor = self.network(prepared.rows)
        return logits


class TurnSubwords(Subwords):
    """Subwords of texts that may be several turns, each of at most `longest` tokens; the end token is between turns."""

    def __init__(self, folder: Path, *, longest: int, turns: int) -> None:
        super().__init__(folder, longest=longest)
        self.turns = turns

    def texts(self, texts: Sequence[str]) -> Texts:
        parts = [text.split(BETWEEN) for text in texts]
        turns, which = number_distinct(list(chain.from_iterable(parts)))  # a turn is in several contexts
        flat = super().texts(turns).take(which)
        if len(flat.lengths) == len(parts):
            return flat
        last = np.cumsum(list(map(len, parts)))
        tokens = np.insert(flat.tokens, flat.ends[1:], self.end)  # after each turn, also the last of a text
        ends = np.concatenate([[0], (flat.ends + np.arange(len(flat.ends)))[last]])
        return Texts(tokens, ends).without(np.isin(np.arange(len(tokens)), ends[1:] - 1))

    def signature(self) -> str:
        return f"turns({self.turns})-{super().signature()}"


def rater_subwords(folder: Path, *, longest: int, turns: int) -> Subwords:
    """Return the tokenizer of a rater that reads this number of turns."""
    return TurnSubwords(folder, longest=longest, turns=turns) if turns > 1 else Subwords(folder, longest=longest)


@dataclass(frozen=True, kw_only=True)
class BertRaterJob(CrossEncoderJob[BertRaterTask]):
    """Fine-tunes a transformer on the examples of logs; `turns` of a context are read."""

    logs: learning.RaterLogs
    settings: Batching
    longest: int = BERT_LONGEST
    turns: int = 1

    kind = KIND
    outputs = OUTPUTS
    others = learning.OTHERS
    smaller = learning.SMALLER

    @property
    def seed(self) -> int:
        return self.training.seed

    @cached_property
    def subwords(self) -> Subwords:
        """The tokenizer of the network."""
        return rater_subwords(self.start.files, longest=self.longest, turns=self.turns)

    def reading_ids(self) -> Sequence[str]:
        tokenizer = self.subwords.signature()  # first, so that a folder without a tokenizer is refused as such
        return [self._weights(), tokenizer, *self.logs.parts]

    def _weights(self) -> str:
        return f"encoder:{self.start.fingerprint}-{file_fingerprint(self.start.files / CONFIG)}"

    def started(self, work: Path) -> bool:
        return RaterPairs.written(work / learning.EXAMPLES) or super().started(work)

    def matches(self, facts: dict[str, Any]) -> bool:
        return super().matches(facts) or learning.was_trained_on(facts, self.source)

    def prepare(self, run: Run) -> None:
        self.logs.report_too_few(self._pairs(run), run)

    def _pairs(self, run: Run) -> RaterPairs:
        between = self.subwords.end if self.turns > 1 else None
        return self.logs.pairs(run, self.subwords, self.source, between)

    def task(self, run: Run) -> BertRaterTask:
        network = self.network()
        check_fit(self.subwords.size, network.encoder, self.subwords.folder)
        longest = 1 + (self.turns + 2) * (self.longest + 1)
        if self.turns > 1 and network.positions and longest > network.positions:
            # a row that is too long loses the end of its texts, hence the last turn
            raise InputError(
                f"{self.turns} turns and two replies need up to {longest} tokens, the encoder reads "
                f"{network.positions}",
                hint="lower --turns or --longest",
            )
        return BertRaterTask(network, self._pairs(run), self.subwords, self.settings, seed=self.seed)

    def facts(self, task: BertRaterTask, run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        subwords = self.subwords
        specs = [full_spec(self.settings), full_spec(self.training)]
        signature = [*specs, self._weights(), subwords.signature(), *self.low_rank.parts.values()]
        return learning.rater_facts(task, KIND, signature) | {
            "config": file_fingerprint(subwords.folder / CONFIG),
            "subwords": subwords.signature(),
            "longest": self.longest,
            "turns": self.turns,
            **self.low_rank_facts(),
        }


def from_log(
    log: PairLog,
    given: RaterSources,
    training: Training,
    batching: Batching,
    examples: Examples,
    low_rank: LowRank,
    reading: RaterReading,
    parrots: Parrots = NO_PARROTS,
    limits: ExampleLimits = NO_LIMITS,
) -> BertRaterJob:
    """Return the job of `interloq train rater --encoder`."""

    def read_contexts() -> list[Iterable[Pair]]:
        return [with_contexts(pairs, reading.turns) for pairs in log.logs()]

    read = read_contexts if reading.turns > 1 else log.logs
    folder = Path(given.examples) if given.examples else None
    return BertRaterJob(
        encoder=str(given.encoder),
        logs=learning.RaterLogs(read, examples, folder, parrots, limits),
        source=source_of(log, given.examples),
        longest=given.longest,
        turns=reading.turns,
        settings=batching,
        low_rank=low_rank,
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
        network = load_trained_network(folder, facts, tensors, outputs=OUTPUTS)
        rater = cls(network, read, facts, device)
        speed_up(rater.network.encoder)
        return rater

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
        """Return P(R2 can be a reply to U1) of triplets (U1, R1, R2). Each distinct triplet is read once."""
        distinct, which = number_distinct(triplets)
        return probabilities(self._difference(distinct)[which], self.facts["temperature"] if calibrated else 1.0)

    def _difference(self, triplets: Sequence[tuple[str, str, str]]) -> NDArray[np.float64]:
        """Return the logits of triplets, positive minus negative, computed in batches of similar length."""
        distinct, indices = learning.number_texts(triplets)
        texts, limit = self.subwords.texts(distinct), self.network.positions
        lengths = row_lengths(texts.lengths[indices], limit)
        difference = np.zeros(len(indices))
        for batch in make_batches(lengths, size=TRIPLETS, tokens=self.tokens, rng=None):
            logits = self._logits(join_rows(texts, indices[batch], self.subwords, limit=limit)).double()
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
