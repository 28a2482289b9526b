# SPDX-License-Identifier: Apache-2.0
"""A model's learning curve, and in a separate file how long each epoch took.

Two uninterrupted runs write the same learning curve, byte for byte; times differ, so they have their own file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from interloq.data.files.opening import read_json, reading_saved, write_json

CURVE, TIMES = "learning_curve.json", "training_times.json"
Epoch = Mapping[str, Any]


def write_curve(folder: Path, signature: str, epochs: Sequence[Epoch]) -> None:
    """Write the losses of every epoch, and their times to a separate file."""
    times = [{"epoch": epoch["epoch"], "seconds": epoch["seconds"]} for epoch in epochs]
    write_json(folder / CURVE, {"signature": signature, "epochs": list(map(drop_time, epochs))})
    write_json(folder / TIMES, {"epochs": times})


def read_curve(folder: str | Path) -> list[dict[str, Any]]:
    """Return epochs of a trained model; none if it was not trained in epochs."""
    path = Path(folder) / CURVE
    with reading_saved(folder):
        return list(read_json(path)["epochs"]) if path.exists() else []


def best_epoch(epochs: Sequence[Epoch]) -> dict[str, Any]:
    """Return the epoch whose weights were kept, without its time, which depends on the machine."""
    return drop_time(min(epochs, key=lambda epoch: float(epoch["dev_loss"])))


def drop_time(epoch: Epoch) -> dict[str, Any]:
    """Return an epoch without its time."""
    return {name: value for name, value in epoch.items() if name != "seconds"}
