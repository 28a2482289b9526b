# SPDX-License-Identifier: Apache-2.0
"""Training of all NN-raters: draw examples from logs, train, calibrate on the dev part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.learn.calibrate import calibration
from interloq.learn.fit import Part, Task
from interloq.learn.job import Curve, Job, Run
from interloq.rate.examples import Examples
from interloq.rate.pairs import RaterPairs, write_examples
from interloq.rate.stream import TextNumbering
from interloq.records import Pair
from interloq.version import __version__

EXAMPLES = "examples"


class LabelledBatch(Protocol):
    """A batch ready for the network."""

    @property
    def labels(self) -> torch.Tensor:
        """Labels of the examples' first triplets, then of their second ones."""


class RatingTask(Task, Protocol):
    """Training task on pairs of pairs."""

    pairs: RaterPairs

    def prepare(self, part: Part, examples: NDArray[np.int64]) -> LabelledBatch: ...

    def logits(self, prepared: Any) -> torch.Tensor:
        """Two logits per triplet, in the order of the labels."""


AnyRating = TypeVar("AnyRating", bound=RatingTask)


@dataclass(frozen=True, kw_only=True)
class RaterJob(Job[AnyRating]):
    """Trains a rater. `logs` is called for each pass over the logs. `kept` is a folder of examples for other jobs."""

    logs: Callable[[], Sequence[Iterable[Pair]]]
    examples: Examples
    kept: Path | None = None

    others = "other settings or other logs"
    smaller = "choose another folder, fewer tokens, and more batches per step with accumulate"

    @abstractmethod
    def numbering(self, run: Run) -> TextNumbering:
        """Tokenizer of the texts."""

    @abstractmethod
    def signature(self, run: Run) -> list[str]:
        """Parts of the rater's signature: network, training loop and tokenizer."""

    def started(self, work: Path) -> bool:
        return RaterPairs.written(work / EXAMPLES) or super().started(work)

    def matches(self, facts: dict[str, Any]) -> bool:
        """In earlier versions, facts had no job, only the fingerprint of the logs."""
        return super().matches(facts) if "job" in facts else bool(facts["examples"]["source"] == self.source)

    def prepare(self, run: Run) -> None:
        self.pairs(run)

    def pairs(self, run: Run) -> RaterPairs:
        """Examples, made by the first call and opened by later ones."""
        numbering, folder = self.numbering(run), self.kept or run.work / EXAMPLES
        with run.progress("reading pairs", None) as step:
            return write_examples(self.logs(), folder, numbering, self.examples, source=self.source, progress=step)

    def facts(self, task: AnyRating, run: Run, curve: Curve) -> dict[str, Any]:  # noqa: ARG002
        pairs = task.pairs
        return {
            "kind": self.kind,
            "signature": "|".join([*self.signature(run), pairs.fingerprint, f"version:{__version__}"]),
            "calibration": calibration(*dev_logits(task)),
            "source": pairs.fingerprint,
            "examples": pairs.facts,
        }


def number_texts(triplets: Sequence[tuple[str, str, str]]) -> tuple[dict[str, int], NDArray[np.int64]]:
    """Number the distinct texts in the order they occur; return their numbers, and the triplets as rows of numbers."""
    flat = list(chain.from_iterable(triplets))
    place = {text: i for i, text in enumerate(dict.fromkeys(flat))}
    return place, np.array([place[text] for text in flat], dtype=np.int64).reshape(-1, 3)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def dev_logits(task: RatingTask) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Logits of the dev part's first triplets, positive minus negative, and their labels."""
    task.network.eval()
    logits, labels = [], []
    for examples in task.batches("dev", 0):
        batch = task.prepare("dev", examples)
        both = task.logits(batch).double().cpu().numpy()[: len(examples)]
        logits.append(both[:, 1] - both[:, 0])
        labels.append(batch.labels[: len(examples)].numpy())
    return np.concatenate(logits), np.concatenate(labels)
