"""What the training of every NN-rater shares: the loop, then the learning curve and the calibration of the dev part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files import write_json
from interloq.data.folders import inside
from interloq.data.progress import Progress
from interloq.errors import InputError
from interloq.learn.calibrate import calibration
from interloq.learn.fit import Part, Task, fit
from interloq.learn.job import WORK, clear_work
from interloq.learn.learning_curve import write_curve
from interloq.learn.settings import Training
from interloq.models.processes import Processes
from interloq.rate.pairs import RaterPairs
from interloq.signature import fingerprint

CALIBRATION = "calibration.json"


class Prepared(Protocol):
    """Examples that are ready for the network."""

    @property
    def labels(self) -> torch.Tensor:
        """Of the examples' first triplets, then of their second ones."""


class RatingTask(Task, Protocol):
    """What a network learns from pairs of pairs."""

    def prepare(self, part: Part, examples: NDArray[np.int64]) -> Prepared: ...

    def logits(self, prepared: Any) -> torch.Tensor:
        """Two of each triplet, in the order of the labels."""


def learn(
    task: RatingTask,
    pairs: RaterPairs,
    training: Training,
    folder: Path,
    *,
    signature: str,
    keep: Callable[[dict[str, Any]], None],
    device: str,
    progress: Progress,
    say: Callable[[str], None],
) -> None:
    """Train, then write all but the model itself: `keep` does, given facts for it. What was cut short goes on."""
    with Processes.joined(device) as processes:
        job = fingerprint(signature)
        try:
            curve = fit(task, training, inside(folder, WORK), job=job, device=device, progress=progress, say=say)
        except torch.OutOfMemoryError as error:
            cure = "choose another folder, fewer --tokens, and more batches a step with --accumulate"
            raise InputError(f"no memory for a batch on {processes.said}", cure=cure) from error
        if processes.first:
            found = calibration(*dev_logits(task))
            write_curve(folder, signature, curve)
            write_json(folder / CALIBRATION, found)
            examples = {"source": pairs.fingerprint, "examples": pairs.facts}
            keep({"signature": signature, "temperature": found["temperature"], **examples})
            clear_work(folder)
        processes.wait()


def check_same(facts: dict[str, Any], signature: str, folder: Path) -> None:
    """That a rater which is there already is the one asked for."""
    if facts["signature"] != signature:
        raise InputError(f"{folder} holds a rater with other settings or data", cure="choose another folder")


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
