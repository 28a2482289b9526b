# SPDX-License-Identifier: Apache-2.0
"""Training of the scorer `contradiction`: tell replies that contradict an earlier turn from replies that do not.

[CLS] who: earlier turn [SEP] utterance [SEP] reply [SEP] → logit z,  σ(z / temperature) = P(contradiction)
J = −log σ(z) for contradictions, −log(1 − σ(z)) for other pairs

The temperature is fitted to the dev part. Examples are pairs with labels; `recipes/contradiction.py` makes those of the
packaged weights from logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts
from interloq.errors import InputError, count
from interloq.learn.calibrate import calibration
from interloq.learn.cross_encoder_job import CrossEncoderJob
from interloq.learn.fit import Part, dev_outputs
from interloq.learn.job import Curve, Run
from interloq.models.batches import make_batches, number_distinct
from interloq.models.cross_encoder import CrossEncoder, join_rows, row_lengths
from interloq.models.pretrained import Subwords
from interloq.models.token_rows import Packed, TokenRows
from interloq.registry import full_spec
from interloq.scorers.contradiction.settings import ContradictionSettings
from interloq.scorers.contradiction.turn_pairs import TurnPair
from interloq.signature import signature as signed

KIND = "contradiction"
TOKENS = 2**16  # per batch, padding included
ARRAYS = ("tokens", "ends", "texts", "labels", "dev")
EXAMPLES = "pairs.npz"
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A pair, and whether its reply contradicts the earlier turn. Pairs with `dev` are not trained on."""

    pair: TurnPair
    contradicts: bool
    dev: bool = False


@dataclass(frozen=True)
class LabelledRows:
    """Pairs as rows of text numbers, with labels; each distinct text is stored once."""

    tokens: NDArray[np.int32]
    ends: Ints
    texts: Ints  # [pairs, 3]
    labels: NDArray[np.float32]
    dev: NDArray[np.bool_]

    @classmethod
    def of(cls, pairs: Iterable[LabelledPair], subwords: Subwords) -> LabelledRows:
        """Tokenise pairs."""
        rows, labels, dev = [], [], []
        for labelled in pairs:
            rows.append(labelled.pair.texts())
            labels.append(labelled.contradicts)
            dev.append(labelled.dev)
        distinct, numbers = number_distinct(list(chain.from_iterable(rows)))
        read = subwords.texts(distinct)
        return cls(
            read.tokens.astype(np.int32),
            read.ends.astype(np.int64),
            numbers.reshape(-1, 3),
            np.array(labels, dtype=np.float32),
            np.array(dev, dtype=bool),
        )

    def places(self, part: Part) -> Ints:
        """Return the indices of a part's pairs."""
        return np.flatnonzero(self.dev == (part == "dev"))


@dataclass(frozen=True, slots=True)
class ContradictionBatch:
    """Rows of a batch, and their labels."""

    rows: TokenRows | Packed
    labels: torch.Tensor


class ContradictionTask:
    """Learns from labelled pairs."""

    def __init__(
        self, network: CrossEncoder, rows: LabelledRows, settings: ContradictionSettings, subwords: Subwords
    ) -> None:
        self.network, self.rows, self.settings, self.subwords = network, rows, settings, subwords
        self.texts = Texts(rows.tokens, rows.ends)

    def batches(self, part: Part, epoch: int) -> Sequence[Ints]:
        rng = np.random.default_rng([self.settings.seed, epoch]) if part == "train" else None
        places = self.rows.places(part)
        lengths = row_lengths(self.texts.lengths[self.rows.texts[places]])
        return [places[batch] for batch in make_batches(lengths, size=self.settings.batch, tokens=TOKENS, rng=rng)]

    def prepare(self, part: Part, examples: Ints) -> ContradictionBatch:  # noqa: ARG002
        rows = join_rows(self.texts, self.rows.texts[examples], self.subwords)
        return ContradictionBatch(self.network.packing.arrange(rows), torch.from_numpy(self.rows.labels[examples]))

    def logits(self, prepared: ContradictionBatch) -> torch.Tensor:
        """Return the logit of each pair."""
        logits: torch.Tensor = self.network(prepared.rows)[:, 0]
        return logits.float()

    def loss(self, prepared: ContradictionBatch) -> torch.Tensor:
        logits = self.logits(prepared)
        labels = prepared.labels.to(logits.device, non_blocking=True)
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum")


@dataclass(frozen=True, kw_only=True)
class ContradictionJob(CrossEncoderJob[ContradictionTask]):
    """Trains on labelled pairs; `pairs` is called once, and `source` identifies them."""

    pairs: Callable[[], Iterable[LabelledPair]]
    settings: ContradictionSettings

    kind = KIND

    @property
    def longest(self) -> int:
        return self.settings.longest

    def prepare(self, run: Run) -> None:
        rows = self._rows(run)
        dev = len(rows.places("dev"))
        if not 0 < dev < len(rows.labels):
            raise InputError(f"{dev} of {count(len(rows.labels), 'pair')} are for dev", hint="give pairs of both parts")
        run.report(f"{count(len(rows.labels) - dev, 'pair')} for training, {dev:,} for dev")

    def _rows(self, run: Run) -> LabelledRows:
        stored = run.work / EXAMPLES
        if stored.is_file():
            with np.load(stored, allow_pickle=False) as arrays:
                return LabelledRows(**{name: arrays[name] for name in ARRAYS})
        rows = LabelledRows.of(self.pairs(), self.subwords)
        part = stored.with_name(f".{EXAMPLES}")
        np.savez(part, **{name: getattr(rows, name) for name in ARRAYS})
        part.with_name(f".{EXAMPLES}").rename(stored)
        return rows

    def task(self, run: Run) -> ContradictionTask:
        network = self.network()
        wanted, positions = 4 + 3 * self.longest, network.positions
        if positions is not None and wanted > positions:
            raise InputError(
                f"the encoder reads {positions} tokens, but three turns have up to {wanted}", hint="lower longest"
            )
        return ContradictionTask(network, self._rows(run), self.settings, self.subwords)

    def facts(self, task: ContradictionTask, run: Run, curve: Curve) -> dict[str, Any]:
        logits, labels = read_dev_logits(task)
        parts = {"training": full_spec(self.training), "encoder": self.start.fingerprint, "job": run.name}
        return self.base_facts(curve) | {
            "signature": str(signed(self.settings, **parts, **self.low_rank.parts)),
            "longest": self.longest,
            **self.low_rank_facts(),
            "subwords": self.subwords.signature(),
            "calibration": calibration(logits, labels),
            "pairs": {"train": len(task.rows.places("train")), "dev": len(labels)},
        }


def read_dev_logits(task: ContradictionTask) -> tuple[NDArray[np.float64], Ints]:
    """Return the logits and labels of the dev part."""
    logits, labels = [], []
    for _, batch, outputs in dev_outputs(task, task.logits):
        logits.append(outputs)
        labels.append(batch.labels.numpy().astype(np.int64))
    return np.concatenate(logits), np.concatenate(labels)
