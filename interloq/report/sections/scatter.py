# SPDX-License-Identifier: Apache-2.0
"""Scatter plots: each metric against the mean judgment, one point per sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from interloq.agree.table import MetricRow
from interloq.records import NO_SYSTEM, Key
from interloq.report import text
from interloq.report.elements import Mark, Name
from interloq.report.page import PointGroup, Scatter, ScatterPoint
from interloq.report.plots.scale import AxisScale, scale
from interloq.report.sections.agreement import label
from interloq.signature import fingerprint

MOST = 2000  # points in a plot: more would make the picture black
TOTAL = 3000  # points in all plots: more would make the file large and the page slow
FEWEST = 200  # points in a plot, however many plots there are
LEFT, RIGHT, TOP, BOTTOM = 72.0, 588.0, 14.0, 340.0  # the plot's area in a picture of 600 × 400
CELL = 5.0  # points closer than this hide each other
CROWDED = 0.1  # share of hidden points above which all points are jittered
NUDGE = 0.016  # at most this share of the axis


@dataclass(frozen=True, slots=True)
class JudgedSample:
    """What is drawn of a sample for every metric."""

    key: Key
    judgment: float


def points_per_plot(plots: int) -> int:
    """How many points a plot may have."""
    return max(FEWEST, min(MOST, TOTAL // max(1, plots)))


def drawn(samples: Sequence[JudgedSample], score_of: Mapping[Key, float], most: int) -> list[JudgedSample]:
    """The scored samples, at most `most`, chosen by a hash of their ids and so independent of their order."""
    scored = [sample for sample in samples if sample.key in score_of]
    chosen = sorted(scored, key=lambda s: _hash(s.key))[:most] if len(scored) > most else scored
    return sorted(chosen, key=lambda s: s.key)


def scatter(
    name: Name,
    row: MetricRow | None,
    samples: Sequence[JudgedSample],
    score_of: Mapping[Key, float],
    marks: Mapping[str, Mark],
    index: Mapping[Key, int],
    most: int,
) -> Scatter:
    """The plot of one metric with at most `most` points; `index` maps samples to the page's rows."""
    points, scored = drawn(samples, score_of, most), sum(sample.key in score_of for sample in samples)
    x = scale((s.judgment for s in points), about=6)
    y = scale((score_of[s.key] for s in points), about=5)
    nudge = _nudge(points, score_of, x, y)
    groups: dict[str, list[ScatterPoint]] = {}
    for sample in points:
        groups.setdefault(sample.key[1], []).append(_point(sample, score_of[sample.key], name, x, y, nudge, index))
    return Scatter(
        metric=name,
        groups=tuple(PointGroup(marks[system], tuple(groups[system])) for system in sorted(groups)),
        x_ticks=x.axis(LEFT, RIGHT),
        y_ticks=y.axis(BOTTOM, TOP),
        caption=_caption(row, scored),
        notes=tuple(_notes(len(points), scored, nudge)),
    )


def _point(
    sample: JudgedSample, score: float, name: Name, x: AxisScale, y: AxisScale, nudge: float, index: Mapping[Key, int]
) -> ScatterPoint:
    values = f"judged {text.number(sample.judgment, 2)}, {name.head} {text.score(score)}"
    return ScatterPoint(
        index=index[sample.key],
        x=x.at(sample.judgment + nudge * _direction(sample.key), LEFT, RIGHT),
        y=y.at(score, BOTTOM, TOP),
        title=f"{sample.key[0]} · {sample.key[1] or NO_SYSTEM}\n{values}",
    )


def _nudge(points: Sequence[JudgedSample], score_of: Mapping[Key, float], x: AxisScale, y: AxisScale) -> float:
    """How far points are moved sideways so that equal ones can be seen; 0 if few hide each other."""
    places = {
        (float(x.at(s.judgment, LEFT, RIGHT)) // CELL, float(y.at(score_of[s.key], BOTTOM, TOP)) // CELL)
        for s in points
    }
    if len(points) - len(places) <= CROWDED * len(points):
        return 0.0
    gaps = [b - a for a, b in pairwise(sorted({s.judgment for s in points}))]
    return min(NUDGE * (x.high - x.low), 0.3 * min(gaps, default=1.0))


def _direction(key: Key) -> float:
    """Number from −1 to 1 that is the same for a sample in every report."""
    return int(_hash(key), 16) / 2**63 - 1


def _hash(key: Key) -> str:
    return fingerprint(*filter(None, key))


def _caption(row: MetricRow | None, n: int) -> str:
    if row is None:
        return "No correlation was computed for this metric."
    parts = [
        f"{label(coefficient)} {text.number(estimate.value)} {text.interval(estimate.ci)}".rstrip()
        for coefficient, estimate in row.with_mean.items()
    ]
    return f"{', '.join(parts)}; n\u00a0=\u00a0{n:,}."


def _notes(shown: int, scored: int, nudge: float) -> list[str]:
    notes = []
    if shown < scored:
        notes.append(
            f"{shown:,} of {scored:,} samples are drawn, chosen by a hash of their ids; all count in the numbers."
        )
    if nudge:
        notes.append(f"Points are moved sideways by at most {nudge:.2g} so that equal ones do not hide each other.")
    return notes
