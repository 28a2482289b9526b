# SPDX-License-Identifier: Apache-2.0
"""Scatter plots: each metric against the mean judgment, one point per sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from interloq.agree.table import MetricRow
from interloq.records import Key
from interloq.report.plots import Picture, scale
from interloq.signature import fingerprint

MOST = 2000  # points in a plot: more would make the picture black
TOTAL = 3000  # points in all plots: more would make the file large and the page slow
FEWEST = 200  # points in a plot, however many plots there are
CELL = 5.0  # points closer than this hide each other
CROWDED = 0.1  # share of hidden points above which all points are jittered
NUDGE = 0.016  # at most this share of the axis


@dataclass(frozen=True, slots=True)
class JudgedSample:
    """The part of a sample's point that all plots share."""

    key: Key
    judgment: float


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """One sample in a scatter plot."""

    index: int  # index in the page's samples
    key: Key
    judgment: float
    score: float
    x: float  # the judgment, moved sideways if many points are at the same place


@dataclass(frozen=True, slots=True)
class Scatter:
    """One metric against mean judgments."""

    metric: str
    row: MetricRow | None  # its correlations, if they were computed
    groups: Mapping[str, Sequence[ScatterPoint]]  # by system
    picture: Picture
    drawn: int
    scored: int  # samples with a score and a judgment
    nudge: float  # how far points are moved sideways at most


def points_per_plot(plots: int) -> int:
    """Return how many points a plot may have."""
    return max(FEWEST, min(MOST, TOTAL // max(1, plots)))


def choose_points(samples: Sequence[JudgedSample], score_of: Mapping[Key, float], most: int) -> list[JudgedSample]:
    """Return the scored samples, at most `most`, chosen by a hash of their ids and so independent of their order."""
    scored = [sample for sample in samples if sample.key in score_of]
    if len(scored) > most:
        scored = sorted(scored, key=lambda s: _hash(s.key))[:most]
    return sorted(scored, key=lambda s: s.key)


def scatter(
    metric: str,
    row: MetricRow | None,
    samples: Sequence[JudgedSample],
    score_of: Mapping[Key, float],
    index: Mapping[Key, int],
    most: int,
) -> Scatter:
    """Return the plot of one metric with at most `most` points; `index` maps samples to the page's rows."""
    chosen, scored = choose_points(samples, score_of, most), sum(sample.key in score_of for sample in samples)
    x = scale((s.judgment for s in chosen), about=6)
    y = scale((score_of[s.key] for s in chosen), about=5)
    picture = Picture(x, y)
    nudge = _nudge(chosen, score_of, picture)
    groups: dict[str, list[ScatterPoint]] = {}
    for sample in sorted(chosen, key=lambda s: s.key[1]):
        key, direction = sample.key, int(_hash(sample.key), 16) / 2**63 - 1  # from −1 to 1, the same in every report
        point = ScatterPoint(index[key], key, sample.judgment, score_of[key], sample.judgment + nudge * direction)
        groups.setdefault(key[1], []).append(point)
    return Scatter(metric, row, groups, picture, len(chosen), scored, nudge)


def _nudge(points: Sequence[JudgedSample], score_of: Mapping[Key, float], picture: Picture) -> float:
    """Return how far points are moved sideways so that equal points can be seen; 0 if few hide each other."""
    places = set()
    for sample in points:
        x, y = picture.at_x(sample.judgment), picture.at_y(score_of[sample.key])
        places.add((float(x) // CELL, float(y) // CELL))
    if len(points) - len(places) <= CROWDED * len(points):
        return 0.0
    judgments = sorted({sample.judgment for sample in points})
    gaps = [b - a for a, b in pairwise(judgments)]
    return min(NUDGE * (picture.x.high - picture.x.low), 0.3 * min(gaps, default=1.0))


def _hash(key: Key) -> str:
    return fingerprint(*filter(None, key))
