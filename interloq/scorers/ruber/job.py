# SPDX-License-Identifier: Apache-2.0
"""Training of RUBER's unreferenced scorer: a true reply must beat a random one by a margin.

J = max(0, Δ − s(q, r) + s(q, r⁻)), Δ = .5, with r⁻ the reply to another utterance, redrawn in every epoch

The job trains a tokenizer, tokenises the pairs and trains the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files.durable import write_atomically
from interloq.errors import count
from interloq.learn.gru import Pieces, train_pieces
from interloq.learn.job import Curve, Job, Run
from interloq.learn.pair_tokens import Numbers, PairTokens, Part, write_pair_tokens
from interloq.learn.settings import Training
from interloq.learn.trainable import PairLog
from interloq.models.batches import make_batches, random_bits
from interloq.records import Pair
from interloq.scorers.ruber.model import KIND, PIECES, RuberNetwork
from interloq.scorers.ruber.settings import RuberTokenizer, Unreferenced
from interloq.signature import file_fingerprint

PAIRS = "pairs"
LEARNED = 0.98  # share of the margin; the loss of a network that cannot tell replies apart is the margin
NOTHING = (
    "the network learned nothing: its dev loss is still the margin; try another learning rate, more pairs or epochs"
)
TOKENS = 2**16  # per batch, padding included
DRAWS = 16  # attempts to find a reply to another utterance


class RuberTask:
    """Pairs with their random replies. Example e · n + i is pair i of n with the random reply of epoch e."""

    def __init__(self, network: RuberNetwork, pairs: PairTokens, settings: Unreferenced) -> None:
        self.network, self.pairs, self.settings = network, pairs, settings

    def batches(self, part: Part, epoch: int) -> Sequence[Numbers]:
        rows = self.pairs.rows(part)
        rng = np.random.default_rng([self.settings.seed, epoch]) if part == "train" else None
        longest = self.pairs.lengths[rows].max(axis=1)
        batches = make_batches(longest, size=self.settings.batch, tokens=TOKENS, rng=rng)
        return batches if rng is None else [batch + epoch * len(rows) for batch in batches]

    def prepare(self, part: Part, examples: Numbers) -> RuberBatch:
        rows = self.pairs.rows(part)
        chosen = np.asarray(rows[examples % len(rows)], dtype=np.int64)
        others = random_replies(rows, examples, self.settings.seed)
        queries, query = np.unique(chosen[:, 0], return_inverse=True)
        replies, reply = np.unique(np.concatenate([chosen[:, 1], others]), return_inverse=True)
        true, random = np.split(reply, 2)
        numbers = (*self.pairs.texts(queries), query, *self.pairs.texts(replies), true, random)
        return RuberBatch(*(torch.from_numpy(np.asarray(array, dtype=np.int64)) for array in numbers))

    def scores(self, prepared: RuberBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores of the true replies and of the random ones."""
        p, device = prepared, self.network.matrix.device
        queries = self.network.query(p.queries.to(device), p.query_lengths)[p.query.to(device)]
        replies = self.network.reply(p.replies.to(device), p.reply_lengths)
        true, random = replies[p.true.to(device)], replies[p.random.to(device)]
        return self.network(queries, true), self.network(queries, random)

    def loss(self, prepared: RuberBatch) -> torch.Tensor:
        true, random = self.scores(prepared)
        return torch.relu(self.settings.margin - true + random).sum()


@dataclass(frozen=True, slots=True)
class RuberBatch:
    """The concatenated distinct texts of a batch, and the indices of each example's texts."""

    queries: torch.Tensor
    query_lengths: torch.Tensor
    query: torch.Tensor
    replies: torch.Tensor
    reply_lengths: torch.Tensor
    true: torch.Tensor
    random: torch.Tensor


def random_replies(rows: NDArray[np.int32], examples: Numbers, seed: int) -> Numbers:
    """Return, for each example, the reply of a random pair with another utterance and another reply.

    It depends only on seed and example. If DRAWS draws find none, the last draw is used.
    """
    own = rows[examples % len(rows)]
    replies = np.zeros(len(examples), dtype=np.int64)
    open_ = np.arange(len(examples))
    for draw in range(DRAWS):
        other = rows[(random_bits(examples[open_], seed, draw) % np.uint64(len(rows))).astype(np.int64)]
        replies[open_] = other[:, 1]
        open_ = open_[(other == own[open_]).any(axis=1)]
        if not len(open_):
            break
    return replies


def start(vocabulary: int, settings: Unreferenced) -> RuberNetwork:
    """Return the untrained network; the same for the same seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return RuberNetwork(vocabulary=vocabulary, embedding=settings.embedding, hidden=settings.hidden)


def wins(task: Any) -> float:
    """Return the share of dev pairs whose true reply scores above the random one; .5 is chance."""
    task.network.eval()
    won = 0.0
    with torch.inference_mode():
        for examples in task.batches("dev", 0):
            true, random = task.scores(task.prepare("dev", examples))
            won += float((true > random).sum()) + float((true == random).sum()) / 2
    return won / int(task.pairs.dev)


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
        path = run.work / PIECES
        if self.tokenizer and not path.exists():
            write_atomically(path, Path(self.tokenizer).read_bytes())
        elif not path.exists():
            with run.progress("reading texts for the tokenizer", None) as step:
                train_pieces(self.pairs(), path, vocabulary=self.settings.vocabulary, step=step)
        pieces = self._pieces(run)
        if not self.tokenizer and pieces.size < self.settings.vocabulary:
            run.report(f"these texts yield a tokenizer of only {count(pieces.size, 'piece')}")
        if not PairTokens.written(run.work / PAIRS):
            with run.progress("reading pairs", None) as step:
                write_pair_tokens(self.pairs(), run.work / PAIRS, pieces, dev=self.settings.dev, step=step)
        run.report(PairTokens.load(run.work / PAIRS).summary)

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
    """Return the job of `interloq train ruber`."""
    return RuberJob(
        pairs=log.pairs, tokenizer=given.tokenizer, settings=settings, training=training, source=log.fingerprint
    )
