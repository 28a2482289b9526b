# SPDX-License-Identifier: Apache-2.0
"""Trained models: their learning curves, and how well their probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from interloq.report.scale import Scale, scale, whole_scale

LEFT, RIGHT, TOP, BOTTOM = 72.0, 588.0, 14.0, 340.0  # the plot's area in a picture of 600 × 400
SQUARE = (72.0, 398.0)  # of the reliability diagram: square
ROOM = 10  # half the width of the label at the kept epoch, in percent of the plot's width
MOST_EPOCHS, MOST_SECONDS = 10**6, 10**9
SMALLEST, LARGEST = 2.5, 9.0  # radius of a bin's dot


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a drawing."""

    x: str
    y: str
    title: str
    radius: str = "4"


@dataclass(frozen=True, slots=True)
class Curve:
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
class Reliability:
    """Predicted probabilities against observed shares."""

    dots: tuple[Dot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    caption: str
    rows: tuple[tuple[str, ...], ...]  # bin, examples, mean probability, observed share


@dataclass(frozen=True, slots=True)
class Model:
    """A trained model that scores depend on."""

    name: str
    signature: str
    curve: Curve
    reliability: Reliability | None


@dataclass(frozen=True, slots=True)
class Epoch:
    """The losses of one epoch."""

    number: int
    train: float
    dev: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions with similar confidence, and how many were right."""

    low: float
    high: float
    count: int
    confidence: float
    positive: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of a model's probabilities."""

    bins: tuple[Bin, ...]  # only non-empty ones
    error: float
    temperature: float | None
    scaled_error: float | None  # after division by the temperature


@dataclass(frozen=True, slots=True)
class Trained:
    """Training data read from a model's folder."""

    name: str
    signature: str
    epochs: tuple[Epoch, ...]
    calibration: Calibration | None


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_model(folder: Path, name: str) -> Trained:
    """The learning curve in a model's folder, and its calibration if it has one."""
    if not (folder / CURVE).is_file():
        raise InputError(f"no {CURVE} in the folder", hint="name the folder of a trained model", where=str(folder))
    times = _read(folder / TIMES, _seconds) if (folder / TIMES).is_file() else {}
    signature, epochs = _read(folder / CURVE, partial(_learned, times))
    found = _read(folder / CALIBRATION, _calibration) if (folder / CALIBRATION).is_file() else None
    return Trained(name, signature, epochs, found)


def model_files(folder: Path) -> list[Path]:
    """The files of a model folder that the report reads."""
    return [folder / name for name in (CURVE, TIMES, CALIBRATION) if (folder / name).is_file()]


def _read(path: Path, understood: Any) -> Any:
    try:
        return understood(orjson.loads(path.read_bytes()))
    except (OSError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"cannot be read ({type(error).__name__}: {error})", hint="train the model again", where=str(path)
        ) from error


def _seconds(value: Mapping[str, Any]) -> dict[int, float]:
    return {int(epoch["epoch"]): float(epoch["seconds"]) for epoch in value["epochs"]}


def _learned(times: Mapping[int, float], value: Mapping[str, Any]) -> tuple[str, tuple[Epoch, ...]]:
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
        None if seconds is None else float(seconds),
    )


def _calibration(value: Mapping[str, Any]) -> Calibration:
    bins = tuple(
        Bin(float(b["low"]), float(b["high"]), int(b["count"]), float(b["confidence"]), float(b["positive"]))
        for b in value["bins"]
        if int(b["count"]) > 0
    )
    scaled = value.get("scaled", {}).get("ece")
    temperature = value.get("temperature")
    return Calibration(
        bins,
        float(value["ece"]),
        None if temperature is None else float(temperature),
        None if scaled is None else float(scaled),
    )


# ---- drawing ---------------------------------------------------------------------------------------------------------


def model(trained: Trained) -> Model:
    """The section on one trained model."""
    found = trained.calibration
    return Model(trained.name, trained.signature, _curve(trained.epochs), _reliability(found) if found else None)


def best_epoch(epochs: Sequence[Epoch]) -> Epoch | None:
    """The first epoch with the lowest dev loss, whose weights were kept."""
    measured = [epoch for epoch in epochs if isfinite(epoch.dev)]
    return min(measured, key=lambda epoch: (epoch.dev, epoch.number), default=None)


def _curve(epochs: Sequence[Epoch]) -> Curve:
    x = whole_scale([epoch.number for epoch in epochs])
    y = scale((loss for epoch in epochs for loss in (epoch.train, epoch.dev)), about=5)
    best = best_epoch(epochs)
    return Curve(
        train=tuple(_dot(epoch, epoch.train, "train", x, y) for epoch in epochs if isfinite(epoch.train)),
        dev=tuple(_dot(epoch, epoch.dev, "dev", x, y) for epoch in epochs if isfinite(epoch.dev)),
        best_at=x.at(best.number, LEFT, RIGHT) if best else "",
        best=str(best.number) if best else "",
        best_anchor=_anchor(float(x.at(best.number))) if best else "",
        x_ticks=tuple(Tick(x.at(tick, LEFT, RIGHT), x.label(tick)) for tick in x.ticks()),
        y_ticks=tuple(Tick(y.at(tick, BOTTOM, TOP), y.label(tick)) for tick in y.ticks()),
        caption=_learned_what(epochs, best),
        rows=tuple(_row(epoch, epoch is best) for epoch in epochs),
    )


def _anchor(percent: float) -> str:
    return "start" if percent < ROOM else "end" if percent > 100 - ROOM else "middle"


def _dot(epoch: Epoch, loss: float, part: str, x: Scale, y: Scale) -> Dot:
    title = f"epoch {epoch.number}, {part} loss {text.number(loss, 4)}"
    return Dot(x.at(epoch.number, LEFT, RIGHT), y.at(loss, BOTTOM, TOP), title)


def _learned_what(epochs: Sequence[Epoch], best: Epoch | None) -> str:
    caption = f"{count(len(epochs), 'epoch')}"
    if best:
        caption += (
            f"; the lowest dev loss is {text.number(best.dev, 4)}, after epoch {best.number}: these weights were kept"
        )
    seconds = [epoch.seconds for epoch in epochs if epoch.seconds is not None]
    return f"{caption}. Time: {_time(sum(seconds))}." if seconds else f"{caption}."


def _time(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours} h {rest // 60} min" if hours else f"{rest // 60} min {rest % 60} s" if rest >= 60 else f"{rest} s"


def _row(epoch: Epoch, is_best: bool) -> tuple[str, ...]:
    seconds = text.MISSING if epoch.seconds is None else f"{epoch.seconds:,.1f}"
    losses = (text.number(epoch.train, 4), text.number(epoch.dev, 4))
    return str(epoch.number), *losses, seconds, "kept" if is_best else ""


def _reliability(found: Calibration) -> Reliability:
    unit = Scale(0.0, 1.0, 0.2)
    total = sum(b.count for b in found.bins)
    most = max((b.count for b in found.bins), default=1)
    return Reliability(
        dots=tuple(_bin_dot(b, unit, most) for b in found.bins),
        x_ticks=tuple(Tick(unit.at(tick, *SQUARE), unit.label(tick)) for tick in unit.ticks()),
        y_ticks=tuple(Tick(unit.at(tick, BOTTOM, TOP), unit.label(tick)) for tick in unit.ticks()),
        caption=_trusted_how_far(found, total),
        rows=tuple(
            (
                f"{text.number(b.low, 2)} to {text.number(b.high, 2)}",
                f"{b.count:,}",
                text.number(b.confidence),
                text.number(b.positive),
            )
            for b in found.bins
        ),
    )


def _bin_dot(b: Bin, unit: Scale, most: int) -> Dot:
    """Dots whose area grows with the number of examples in the bin."""
    radius = SMALLEST + (LARGEST - SMALLEST) * (b.count / most) ** 0.5
    title = f"predicted {text.number(b.confidence)}, observed {text.number(b.positive)}, {count(b.count, 'example')}"
    return Dot(unit.at(b.confidence, *SQUARE), unit.at(b.positive, BOTTOM, TOP), title, f"{radius:.1f}")


def _trusted_how_far(found: Calibration, total: int) -> str:
    caption = f"Expected calibration error {text.number(found.error)} over {count(total, 'example')}"
    if found.temperature is None:
        return f"{caption}."
    after = (
        ""
        if found.scaled_error is None
        else f", which lowers it to {text.number(found.scaled_error)} on these examples"
    )
    return f"{caption}. Fitted temperature {text.number(found.temperature, 2)}{after}."
