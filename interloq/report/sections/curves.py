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

from interloq.errors import InputError, count
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.learning_curve import CURVE, TIMES
from interloq.report import text
from interloq.report.elements import Tick
from interloq.report.plots.scale import AxisScale, scale, whole_scale

LEFT, RIGHT, TOP, BOTTOM = 72.0, 588.0, 14.0, 340.0  # the plot's area in a picture of 600 × 400
SQUARE = (72.0, 398.0)  # of the reliability diagram: square
ROOM = 10  # half the width of the label at the kept epoch, in percent of the plot's width
MOST_EPOCHS, MOST_SECONDS = 10**6, 10**9
SMALLEST, LARGEST = 2.5, 9.0  # radius of a bin's dot


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a plot."""

    x: str
    y: str
    title: str
    radius: str = "4"


@dataclass(frozen=True, slots=True)
class LearningCurvePlot:
    """Losses by epoch."""

    train: tuple[Dot, ...]
    dev: tuple[Dot, ...]
    best_at: str  # position of the kept epoch; empty if no dev loss was measured
    best: str
    best_anchor: str  # text anchor of its label
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    caption: str
    rows: tuple[tuple[str, ...], ...]  # epoch, train loss, dev loss, seconds, whether it was kept


@dataclass(frozen=True, slots=True)
class ReliabilityDiagram:
    """Predicted probabilities against observed shares."""

    dots: tuple[Dot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    caption: str
    rows: tuple[tuple[str, ...], ...]  # bin, examples, mean probability, observed share


@dataclass(frozen=True, slots=True)
class ModelSection:
    """A trained model that scores depend on."""

    name: str
    signature: str
    curve: LearningCurvePlot
    reliability: ReliabilityDiagram | None


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


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_model(folder: Path, name: str) -> Trained:
    """Read the learning curve in a model's folder, and its calibration if it has one."""
    if not (folder / CURVE).is_file():
        raise InputError(f"no {CURVE} in the folder", hint="name the folder of a trained model", where=str(folder))
    times: dict[int, float] = {}
    if (folder / TIMES).is_file():
        times = _read(folder / TIMES, _seconds)
    signature, epochs = _read(folder / CURVE, partial(_epochs, times))
    calibration = None
    if (folder / CALIBRATION).is_file():
        calibration = _read(folder / CALIBRATION, _calibration)
    return Trained(name, signature, epochs, calibration)


def model_files(folder: Path) -> list[Path]:
    """The files of a model folder that the report reads."""
    return [folder / name for name in (CURVE, TIMES, CALIBRATION) if (folder / name).is_file()]


def _read(path: Path, parse: Callable[[Any], Any]) -> Any:
    try:
        return parse(orjson.loads(path.read_bytes()))
    except (OSError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"cannot be read ({type(error).__name__}: {error})", hint="train the model again", where=str(path)
        ) from error


def _seconds(value: Mapping[str, Any]) -> dict[int, float]:
    return {int(epoch["epoch"]): float(epoch["seconds"]) for epoch in value["epochs"]}


def _epochs(times: Mapping[int, float], value: Mapping[str, Any]) -> tuple[str, tuple[Epoch, ...]]:
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


def _calibration(value: Mapping[str, Any]) -> ModelCalibration:
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


# ---- plotting --------------------------------------------------------------------------------------------------------


def model(trained: Trained) -> ModelSection:
    """Return the section on one trained model."""
    diagram = None
    if trained.calibration:
        diagram = _reliability(trained.calibration)
    return ModelSection(trained.name, trained.signature, _curve(trained.epochs), diagram)


def best_epoch(epochs: Sequence[Epoch]) -> Epoch | None:
    """Return the first epoch with the lowest dev loss, whose weights were kept."""
    measured = [epoch for epoch in epochs if isfinite(epoch.dev)]
    return min(measured, key=lambda epoch: (epoch.dev, epoch.number), default=None)


def _curve(epochs: Sequence[Epoch]) -> LearningCurvePlot:
    x = whole_scale([epoch.number for epoch in epochs])
    losses = [epoch.train for epoch in epochs] + [epoch.dev for epoch in epochs]
    y = scale(losses, about=5)
    best = best_epoch(epochs)
    best_at = best_number = best_anchor = ""
    if best:
        best_at, best_number = x.at(best.number, LEFT, RIGHT), str(best.number)
        best_anchor = _anchor(float(x.at(best.number)))
    return LearningCurvePlot(
        train=tuple(_dot(epoch, epoch.train, "train", x, y) for epoch in epochs if isfinite(epoch.train)),
        dev=tuple(_dot(epoch, epoch.dev, "dev", x, y) for epoch in epochs if isfinite(epoch.dev)),
        best_at=best_at,
        best=best_number,
        best_anchor=best_anchor,
        x_ticks=x.axis(LEFT, RIGHT),
        y_ticks=y.axis(BOTTOM, TOP),
        caption=_curve_caption(epochs, best),
        rows=tuple(_row(epoch, epoch is best) for epoch in epochs),
    )


def _anchor(percent: float) -> str:
    if percent < ROOM:
        return "start"
    if percent > 100 - ROOM:
        return "end"
    return "middle"


def _dot(epoch: Epoch, loss: float, part: str, x: AxisScale, y: AxisScale) -> Dot:
    title = f"epoch {epoch.number}, {part} loss {text.number(loss, 4)}"
    return Dot(x.at(epoch.number, LEFT, RIGHT), y.at(loss, BOTTOM, TOP), title)


def _curve_caption(epochs: Sequence[Epoch], best: Epoch | None) -> str:
    caption = count(len(epochs), "epoch")
    if best:
        caption += (
            f"; the lowest dev loss is {text.number(best.dev, 4)}, after epoch {best.number}: these weights were kept"
        )
    seconds = [epoch.seconds for epoch in epochs if epoch.seconds is not None]
    if seconds:
        caption += f". Time: {_format_duration(sum(seconds))}"
    return f"{caption}."


def _format_duration(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    if hours:
        return f"{hours} h {rest // 60} min"
    if rest >= 60:
        return f"{rest // 60} min {rest % 60} s"
    return f"{rest} s"


def _row(epoch: Epoch, is_best: bool) -> tuple[str, ...]:
    seconds = text.MISSING if epoch.seconds is None else f"{epoch.seconds:,.1f}"
    losses = (text.number(epoch.train, 4), text.number(epoch.dev, 4))
    return str(epoch.number), *losses, seconds, "kept" if is_best else ""


def _reliability(calibration: ModelCalibration) -> ReliabilityDiagram:
    unit = AxisScale(0.0, 1.0, 0.2)
    sizes = [b.count for b in calibration.bins]
    most = max(sizes, default=1)
    rows = []
    for b in calibration.bins:
        span = f"{text.number(b.low, 2)} to {text.number(b.high, 2)}"
        rows.append((span, f"{b.count:,}", text.number(b.confidence), text.number(b.positive)))
    return ReliabilityDiagram(
        dots=tuple(_bin_dot(b, unit, most) for b in calibration.bins),
        x_ticks=unit.axis(*SQUARE),
        y_ticks=unit.axis(BOTTOM, TOP),
        caption=_calibration_caption(calibration, sum(sizes)),
        rows=tuple(rows),
    )


def _bin_dot(b: ProbabilityBin, unit: AxisScale, most: int) -> Dot:
    """Return a dot whose area grows with the number of examples in the bin."""
    radius = SMALLEST + (LARGEST - SMALLEST) * (b.count / most) ** 0.5
    title = f"predicted {text.number(b.confidence)}, observed {text.number(b.positive)}, {count(b.count, 'example')}"
    return Dot(unit.at(b.confidence, *SQUARE), unit.at(b.positive, BOTTOM, TOP), title, f"{radius:.1f}")


def _calibration_caption(calibration: ModelCalibration, total: int) -> str:
    caption = f"Expected calibration error {text.number(calibration.error)} over {count(total, 'example')}"
    if calibration.temperature is not None:
        caption += f". Fitted temperature {text.number(calibration.temperature, 2)}"
        if calibration.scaled_error is not None:
            caption += f", which lowers it to {text.number(calibration.scaled_error)} on these examples"
    return f"{caption}."
