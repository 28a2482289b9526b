# SPDX-License-Identifier: Apache-2.0
"""How long people would stay with each system, as a drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from interloq.errors import count
from interloq.meta.survival import Survival
from interloq.meta.table import Estimate
from interloq.report import text
from interloq.report.elements import Mark
from interloq.report.line_plot import LinePlot, estimated, line_plot
from interloq.report.scale import whole_scale

START = Estimate(1.0, 0)  # before the first turn


def survival_plot(curves: Sequence[Survival], marks: Mapping[str, Mark]) -> LinePlot | None:
    """The curves of all systems; None if there are none."""
    if not curves:
        return None
    horizon = curves[0].horizon
    last = max(len(curve.turns) for curve in curves)
    expected = "; ".join(f"{curve.system} {estimated(curve.expected, 2)}" for curve in curves)
    return line_plot(
        {marks[curve.system]: [(0, START), *enumerate(curve.turns, start=1)] for curve in curves},
        whole_scale([0, last]),
        title="How long would people stay?",
        caption="Probability that a system’s turn is still answered. "
        f"Expected replies within {count(horizon, 'turn')}: {expected}.",
        x_title="turn of the system",
        y_title="still answered",
        columns=("Turn", *(curve.system for curve in curves)),
        rows=[(str(turn), *(_cell(curve, turn) for curve in curves)) for turn in range(1, last + 1)],
    )


def _cell(curve: Survival, turn: int) -> str:
    return estimated(curve.turns[turn - 1]) if turn <= len(curve.turns) else text.MISSING
