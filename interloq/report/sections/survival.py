# SPDX-License-Identifier: Apache-2.0
"""How long people would stay with each system, as a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from interloq.errors import count
from interloq.rank.survival import Survival
from interloq.report import text
from interloq.report.elements import Mark
from interloq.report.plots.line_plot import LinePlot, estimated, line_plot
from interloq.report.plots.scale import whole_scale
from interloq.statistics.estimate import Estimate

START = Estimate(1.0, 0)  # before the first turn


def survival_plot(curves: Sequence[Survival], marks: Mapping[str, Mark]) -> LinePlot | None:
    """The curves of all systems; None if there are none."""
    if not curves:
        return None
    horizon = curves[0].horizon
    last = max(len(curve.turns) for curve in curves)
    expected = "; ".join(f"{curve.system} {estimated(curve.expected, 2)}" for curve in curves)
    rows: list[tuple[str, ...]] = []
    for turn in range(1, last + 1):
        cells = [_cell(curve, turn) for curve in curves]
        rows.append((str(turn), *cells))
    return line_plot(
        {marks[curve.system]: [(0, START), *enumerate(curve.turns, start=1)] for curve in curves},
        whole_scale([0, last]),
        title="How long would people stay?",
        caption="Probability that a system’s turn is still answered. "
        f"Expected replies within {count(horizon, 'turn')}: {expected}.",
        x_title="turn of the system",
        y_title="still answered",
        columns=("Turn", *(curve.system for curve in curves)),
        rows=rows,
    )


def _cell(curve: Survival, turn: int) -> str:
    if turn > len(curve.turns):
        return text.MISSING
    return estimated(curve.turns[turn - 1])
