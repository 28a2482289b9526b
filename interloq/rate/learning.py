# SPDX-License-Identifier: Apache-2.0
"""What the training of all NN-raters shares: examples drawn from logs, and calibration on the dev part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.errors import count
from interloq.learn.calibrate import calibration
from interloq.learn.fit import Part, dev_outputs
from interloq.learn.job import Run
from interloq.models.batches import make_batches, number_distinct
from interloq.rate.examples import ExampleLimits, Examples
from interloq.rate.pairs import NO_LIMITS, NO_PARROTS, PARTS, RaterPairs, TextNumbering, write_examples
from interloq.rate.parrots import Parrots
from interloq.rate.settings import Batching
from interloq.records import Pair
from interloq.registry import full_spec
from interloq.version import __version__

Ints = NDArray[np.int64]
EXAMPLES = "examples"
OTHERS = "other settings or other logs"  # for the error if the folder contains another job
SMALLER = "choose another folder, fewer tokens, and more batches per step with accumulate"


class RatingTask(ABC):
    """Learns from examples (U1, R1, U2, R2): triplets ⟨U1, R1, R2⟩ and ⟨U2, R2, R1⟩ share the label."""

    def __init__(self, network: Any, pairs: RaterPairs, batching: Batching, *, seed: int) -> None:
        self.network, self.pairs, self.batching, self.seed = network, pairs, batching, seed
        self._examples = {part: pairs.examples(part) for part in PARTS}

    def batches(self, part: Part, epoch: int) -> list[Ints]:
        rng = np.random.default_rng([self.seed, epoch]) if part == "train" else None
        lengths = self.tokens(self.pairs.texts.lengths[self._examples[part][0]])
        return make_batches(lengths, size=self.batching.batch, tokens=self.batching.tokens, rng=rng)

    def loss(self, prepared: Any) -> torch.Tensor:
        """Return the sum over examples of the mean loss of their two triplets."""
        logits = self.logits(prepared).float()
        labels = prepared.labels.to(logits.device, non_blocking=True)
        return torch.nn.functional.cross_entropy(logits, labels, reduction="sum") / 2

    @abstractmethod
    def tokens(self, lengths: Ints) -> Ints:
        """Return the tokens of each example that count for the size of a batch, from its texts' lengths [n, 4]."""

    @abstractmethod
    def prepare(self, part: Part, examples: Ints) -> Any:
        """Return the batch of these examples; its `labels` are for their first triplets, then for their second ones."""

    @abstractmethod
    def logits(self, prepared: Any) -> torch.Tensor:
        """Return two logits per triplet, in the order of the labels."""


@dataclass(frozen=True)
class RaterLogs:
    """Logs that a rater is trained on: `read` is called for each pass. `folder` keeps the examples for other jobs."""

    read: Callable[[], Sequence[Iterable[Pair]]]
    examples: Examples
    folder: Path | None = None
    parrots: Parrots = NO_PARROTS
    limits: ExampleLimits = NO_LIMITS

    @property
    def parts(self) -> list[str]:
        """How the examples are drawn, for names of jobs."""
        return [full_spec(self.examples), *self.additions]

    @property
    def additions(self) -> list[str]:
        """Settings that names of jobs contain only if they differ from their defaults."""
        return [*self.parrots.parts.values(), *self.limits.parts.values()]

    def pairs(self, run: Run, numbering: TextNumbering, source: str, between: int | None = None) -> RaterPairs:
        """Return the examples; the first call makes them, later ones open them. `source` identifies the logs.

        `between` is the token between turns, if the network reads several.
        """
        folder = self.folder or run.work / EXAMPLES
        with run.progress("reading pairs", None) as step:
            return write_examples(
                self.read(),
                folder,
                numbering,
                self.examples,
                source=source,
                parrots=self.parrots,
                limits=self.limits,
                between=between,
                progress=step,
            )

    def report_too_few(self, pairs: RaterPairs, run: Run) -> None:
        """Report if the logs give fewer examples than were asked for."""
        wanted: dict[Part, int] = {"train": self.limits.train_examples, "dev": self.limits.dev_examples}
        for part, most in wanted.items():
            drawn = len(pairs.labels[part])
            if drawn < most // 2 * 2:
                run.report(f"the logs give {count(drawn, 'example')} for the {part} part; {most:,} were asked for")


def was_trained_on(facts: dict[str, Any], source: str) -> bool:
    """Return whether a rater of an earlier version, whose facts do not name the job, was trained on these logs."""
    return "job" not in facts and bool(facts["examples"]["source"] == source)


def rater_facts(task: RatingTask, kind: str, signature: Iterable[str]) -> dict[str, Any]:
    """Return facts about a trained rater; `signature` is its network, training loop and tokenizer."""
    pairs = task.pairs
    return {
        "kind": kind,
        "signature": "|".join([*signature, pairs.fingerprint, f"version:{__version__}"]),
        "calibration": calibration(*dev_logits(task)),
        "source": pairs.fingerprint,
        "examples": pairs.facts,
    }


def number_texts(triplets: Sequence[tuple[str, str, str]]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct texts in the order they occur, and the triplets as rows of their numbers."""
    texts, numbers = number_distinct(list(chain.from_iterable(triplets)))
    return texts, numbers.reshape(-1, 3)


def dev_logits(task: RatingTask) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the logits of the dev part's first triplets, positive minus negative, and their labels."""
    logits, labels = [], []
    for examples, batch, both in dev_outputs(task, task.logits):
        first = both[: len(examples)]
        logits.append(first[:, 1] - first[:, 0])
        labels.append(batch.labels[: len(examples)].numpy())
    return np.concatenate(logits), np.concatenate(labels)
