# SPDX-License-Identifier: Apache-2.0
"""Trained models: their learning curves, and how well their probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import orjson

from interloq.errors import InputError
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.learning_curve import CURVE, TIMES
from interloq.report import text
from interloq.report.plots import UNIT, AxisScale, Picture, scale, whole_scale

SQUARE = Picture(UNIT, UNIT, right=398)  # of the reliability diagram
ROOM = 10  # half the width of the label at the kept epoch, in percent of the plot's width
MOST_EPOCHS, MOST_SECONDS = 10**6, 10**9
SMALLEST, LARGEST = 2.5, 9.0  # radius of a dot


@dataclass(frozen=True, slots=True)
class Epoch:
    """The losses of one epoch."""

    number: int
    train: float
    dev: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class ProbabilityBin:
    """Predictions with similar confidence, and how many were right."""

    low: float
    high: float
    count: int
    confidence: float
    positive: float


@dataclass(frozen=True, slots=True)
class ModelCalibration:
    """Calibration of a model's probabilities."""

    bins: tuple[ProbabilityBin, ...]  # only non-empty ones
    error: float
    temperature: float | None
    scaled_error: float | None  # after division by the temperature


@dataclass(frozen=True, slots=True)
class Trained:
    """Training data read from a model's folder."""

    name: str
    signature: str
    epochs: tuple[Epoch, ...]
    calibration: ModelCalibration | None


def read_model(folder: Path, name: str) -> Trained:
    """Read the learning curve in a model's folder, and its calibration if it has one."""
    if not (folder / CURVE).is_file():
        raise InputError(f"no {CURVE} in the folder", hint="name the folder of a trained model", where=str(folder))
    times: dict[int, float] = {}
    if (folder / TIMES).is_file():
        times = _read(folder / TIMES, _read_seconds)
    signature, epochs = _read(folder / CURVE, partial(_read_epochs, times))
    calibration = None
    if (folder / CALIBRATION).is_file():
        calibration = _read(folder / CALIBRATION, _read_calibration)
    return Trained(name, signature, epochs, calibration)


def model_files(folder: Path) -> list[Path]:
    """Return the files of a model folder that the report reads."""
    return [folder / name for name in (CURVE, TIMES, CALIBRATION) if (folder / name).is_file()]


def _read(path: Path, parse: Callable[[Any], Any]) -> Any:
    try:
        return parse(orjson.loads(path.read_bytes()))
    except (OSError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"cannot be read ({type(error).__name__}: {error})", hint="train the model again", where=str(path)
        ) from error


def _read_seconds(value: Mapping[str, Any]) -> dict[int, float]:
    return {int(epoch["epoch"]): float(epoch["seconds"]) for epoch in value["epochs"]}


def _read_epochs(times: Mapping[int, float], value: Mapping[str, Any]) -> tuple[str, tuple[Epoch, ...]]:
    epochs = tuple(_epoch(epoch, times) for epoch in value["epochs"])
    if not epochs:
        raise ValueError("no epochs")
    return str(value.get("signature", "")), epochs


def _epoch(value: Mapping[str, Any], times: Mapping[int, float]) -> Epoch:
    if not 0 <= int(value["epoch"]) < MOST_EPOCHS:
        raise ValueError(f"epoch {value['epoch']}")
    seconds = value.get("seconds", times.get(int(value["epoch"])))  # older versions wrote it to the curve
    if seconds is not None and not 0 <= float(seconds) < MOST_SECONDS:
        raise ValueError(f"{seconds} seconds")
    return Epoch(
        int(value["epoch"]),
        text.or_nan(value.get("train_loss", value.get("loss"))),  # word vectors have one loss
        text.or_nan(value.get("dev_loss")),
        _optional_float(seconds),
    )


def _optional_float(value: Any) -> float | None:
    return None if value is None else float(value)


def _read_calibration(value: Mapping[str, Any]) -> ModelCalibration:
    bins = []
    for row in value["bins"]:
        low, high, n = float(row["low"]), float(row["high"]), int(row["count"])
        if n > 0:
            bins.append(ProbabilityBin(low, high, n, float(row["confidence"]), float(row["positive"])))
    scaled_error = value.get("scaled", {}).get("ece")
    temperature = value.get("temperature")
    return ModelCalibration(
        tuple(bins), float(value["ece"]), _optional_float(temperature), _optional_float(scaled_error)
    )


def best_epoch(epochs: Sequence[Epoch]) -> Epoch | None:
    """Return the first epoch with the lowest dev loss, whose weights were kept."""
    measured = [epoch for epoch in epochs if isfinite(epoch.dev)]
    return min(measured, key=lambda epoch: (epoch.dev, epoch.number), default=None)


def loss_picture(epochs: Sequence[Epoch]) -> Picture:
    """Return the axes for losses by epoch."""
    losses = [epoch.train for epoch in epochs] + [epoch.dev for epoch in epochs]
    return Picture(whole_scale([epoch.number for epoch in epochs]), scale(losses, about=5))


def anchor(value: float, axis: AxisScale) -> str:
    """Return the text anchor of a label at this value, which must stay in the picture."""
    percent = float(axis.at(value))
    if percent < ROOM:
        return "start"
    if percent > 100 - ROOM:
        return "end"
    return "middle"


def bin_radius(probabilities: ProbabilityBin, most: int) -> str:
    """Return the radius of a dot whose area grows with the number of examples in the bin, of at most `most`."""
    return f"{SMALLEST + (LARGEST - SMALLEST) * (probabilities.count / most) ** 0.5:.1f}"
