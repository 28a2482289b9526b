# SPDX-License-Identifier: Apache-2.0
"""Training of BERT-RUBER's scorer: encode all texts, then learn to tell a true reply from a random one.

J = −log s(q, r) − log( 1 − s(q, r⁻) ), with r⁻ the reply to another utterance, redrawn in every epoch

Each distinct text is encoded once. Vectors are float16 rows in the order of the input, written as they are computed: an
interrupted run resumes after the last complete row. Texts are numbered in the order of their hashes and pairs are
sorted by these numbers, so that nothing else depends on the order of the log. Train and dev never share an utterance.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import softplus

from interloq.data.files.appended import Appended
from interloq.data.files.opening import read_json, reading_saved, write_json
from interloq.learn.job import Curve, Job, Run
from interloq.learn.pair_tokens import FACTS, PAIRS, NumberedPairs, Numbers, Part, SplitPairs, split
from interloq.learn.settings import Training
from interloq.learn.trainable import PairLog
from interloq.models.encoder import Encoder, Pooling
from interloq.models.pretrained import model_folder, weights_fingerprint
from interloq.records import Pair
from interloq.scorers.bert_ruber.model import KIND, BertRuberNetwork, encode_pooled
from interloq.scorers.bert_ruber.settings import BertRuberEncoder, BertRuberSettings
from interloq.scorers.ruber.job import random_replies, wins

LEARNED = 0.99 * 2 * math.log(2)  # just below the loss of a network that cannot tell replies apart
NOTHING = "the network learned nothing: its dev loss equals chance; try another learning rate, more pairs or epochs"
VECTORS = "vectors"
VECTOR_FILE, ROWS = "vectors.f16", "rows.npy"
BATCH = 2048  # pairs encoded at a time: the most work that a kill loses
BertRuberBatch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # vectors of utterances, true replies and random ones


@dataclass(frozen=True, slots=True)
class PairVectors(SplitPairs):
    """Pairs with the vectors of their texts."""

    vectors: NDArray[np.float16]
    places: NDArray[np.int64]  # row of each text's vector
    pairs: NDArray[np.int32]
    dev: int
    blank: int  # pairs omitted because one side has no text

    @classmethod
    def load(cls, folder: Path) -> PairVectors:
        """Load the vectors in a folder."""
        with reading_saved(folder):
            facts = read_json(folder / FACTS)
            dimensions = facts.pop("dimensions")
            vectors = np.asarray(np.memmap(folder / VECTOR_FILE, dtype=np.float16, mode="r")).reshape(-1, dimensions)
            places, pairs = (np.load(folder / name, allow_pickle=False) for name in (ROWS, PAIRS))
            return cls(vectors, places, pairs, **facts)

    def of(self, texts: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the vectors of texts, given by number."""
        return np.asarray(self.vectors[self.places[texts]], dtype=np.float32)


def write_pair_vectors(
    pairs: Iterable[Pair],
    folder: Path,
    encoder: Encoder,
    pooling: Pooling,
    *,
    dev: int,
    step: Callable[[int], None] = lambda _: None,
) -> PairVectors:
    """Encode the texts of a stream of pairs; texts that an earlier run has encoded are skipped."""
    folder.mkdir(parents=True, exist_ok=True)
    read, limit = NumberedPairs(), np.finfo(np.float16).max
    with contextlib.closing(Appended(folder / VECTOR_FILE)) as file:
        row_size = encoder.dimensions * np.dtype(np.float16).itemsize
        done = file.size() // row_size
        file.cut(done * row_size)  # without an incomplete last row
        for new in read.new_texts(pairs, BATCH, step):
            missing = new[min(done, len(new)) :]
            done -= len(new) - len(missing)
            if missing:
                vectors = encode_pooled(encoder, missing, pooling)
                file.add(np.clip(vectors, -limit, limit).astype(np.float16).tobytes())
    rows, numbered = read.number_pairs()
    facts = {"dev": split(numbered, dev), "blank": read.blank, "dimensions": encoder.dimensions}
    np.save(folder / ROWS, rows, allow_pickle=False)
    np.save(folder / PAIRS, numbered, allow_pickle=False)
    write_json(folder / FACTS, facts)  # last: it marks the folder complete
    return PairVectors.load(folder)


class BertRuberTask:
    """Pairs with their random replies. Example e · n + i is pair i of n with the random reply of epoch e."""

    def __init__(self, network: BertRuberNetwork, pairs: PairVectors, settings: BertRuberSettings) -> None:
        self.network, self.pairs, self.settings = network, pairs, settings

    def batches(self, part: Part, epoch: int) -> Sequence[Numbers]:
        count, size = len(self.pairs.rows(part)), self.settings.batch
        order = np.arange(count)
        if part == "train":
            order = np.random.default_rng([self.settings.seed, epoch]).permutation(count) + epoch * count
        return [order[i : i + size] for i in range(0, count, size)]

    def prepare(self, part: Part, examples: Numbers) -> BertRuberBatch:
        rows = self.pairs.rows(part)
        chosen = rows[examples % len(rows)]
        others = random_replies(rows, examples, self.settings.seed)
        queries, true, random = (torch.from_numpy(self.pairs.of(t)) for t in (chosen[:, 0], chosen[:, 1], others))
        return queries, true, random

    def scores(self, prepared: BertRuberBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits of the true replies and of the random ones."""
        queries, true, random = (part.to(self.network.matrix.device, non_blocking=True) for part in prepared)
        return self.network(queries, true), self.network(queries, random)

    def loss(self, prepared: BertRuberBatch) -> torch.Tensor:
        true, random = self.scores(prepared)
        return (softplus(-true) + softplus(random)).sum()


def start(dimensions: int, seed: int) -> BertRuberNetwork:
    """Return the untrained network; the same for the same seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return BertRuberNetwork(dimensions)


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
        path = work / VECTORS / VECTOR_FILE
        return path.exists() and path.stat().st_size > 0

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
    """Return the job of `interloq train bert-ruber`."""
    return BertRuberJob(
        pairs=log.pairs, encoder=given.encoder, settings=settings, training=training, source=log.fingerprint
    )
