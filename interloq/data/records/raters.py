# SPDX-License-Identifier: Apache-2.0
"""Raters who cannot be averaged as they are: raters on different scales, with no variation, or under two names.

`normalise` puts the ratings of each rater on that rater's own scale. It needs several ratings by each rater, and it
also removes real differences: a rater who happened to get the better items looks lenient.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from interloq.errors import InputError, count
from interloq.records import Dialogue, Rating, Sample

Normalise = Literal["", "z", "rank"]
Record = TypeVar("Record", bound=Sample | Dialogue)
FEWEST = 5  # ratings by which a rater's range is known
WIDER = 5.0  # times the range of others: an overlapping but different scale, such as 0 to 100 and 1 to 5
SHOWN = 3  # raters named in a note


@dataclass(slots=True)
class Range:
    """Number of a rater's ratings, and the lowest and highest."""

    n: int = 0
    low: float = np.inf
    high: float = -np.inf

    def add(self, value: float) -> None:
        self.n, self.low, self.high = self.n + 1, min(self.low, value), max(self.high, value)


class RaterRanges:
    """The range that each rater used for each aspect."""

    def __init__(self) -> None:
        self.ranges: dict[str, dict[str, Range]] = {}  # by aspect and rater

    def add(self, ratings: Iterable[Rating]) -> None:
        for rating in ratings:
            if rating.rater and rating.value is not None:
                self.ranges.setdefault(rating.aspect, {}).setdefault(rating.rater, Range()).add(rating.value)

    def notes(self, *, normalised: bool = False) -> list[str]:
        """Return notes on raters whose ratings should not be averaged as they are; if `normalised`, only on names."""
        notes: list[str] = []
        raters: set[str] = set()
        for aspect, by_rater in sorted(self.ranges.items()):
            raters.update(by_rater)
            if not normalised:
                ranges = {rater: values for rater, values in sorted(by_rater.items()) if values.n >= FEWEST}
                notes += [f"{aspect}: {text}" for text in (*_scale_notes(ranges), *_constant_notes(ranges))]
        return [*notes, *_name_notes(raters)]


def rater_notes(
    records: Iterable[Sample | Dialogue], *, aspect: str, role: str = "", normalised: bool = False
) -> list[str]:
    """Return the notes on raters of one aspect."""
    ranges = RaterRanges()
    for record in records:
        ranges.add(select_ratings(record, aspect, role))
    return ranges.notes(normalised=normalised)


def select_ratings(record: Sample | Dialogue, aspect: str, role: str = "") -> list[Rating]:
    """Return the ratings of one aspect, only by people in `role` if it is given."""
    return [rating for rating in record.ratings if rating.aspect == aspect and role in ("", rating.role)]


def _scale_notes(ranges: dict[str, Range]) -> Iterable[str]:
    """Yield a note if some raters use another range than the others: no overlap, or many times as wide."""
    varied = [rater for rater, values in ranges.items() if values.low < values.high]
    varied.sort(key=lambda rater: (ranges[rater].high, rater))
    if not varied:
        return
    start = min(ranges[rater].low for rater in varied)
    for i in range(1, len(varied)):
        lower, upper = varied[:i], varied[i:]
        below, above = ranges[lower[-1]].high, ranges[upper[0]].high
        disjoint = below < min(ranges[rater].low for rater in upper)
        if disjoint or above - start >= WIDER * (below - start):
            yield (
                "raters use different ranges, as if on different scales: "
                f"{_format_span(lower, ranges)}, but {_format_span(upper, ranges)}; "
                "means mix them (meta, choose and compare put all raters on a common scale with --normalise z)"
            )
            return


def _format_span(raters: Sequence[str], ranges: dict[str, Range]) -> str:
    low = min(ranges[rater].low for rater in raters)
    high = max(ranges[rater].high for rater in raters)
    return f"{low:g} to {high:g} ({_shorten_list(sorted(raters))})"


def _constant_notes(ranges: dict[str, Range]) -> Iterable[str]:
    constant = []
    for rater, values in ranges.items():
        if values.low == values.high:
            constant.append(f"{rater} ({values.n} times {values.low:g})")
    if constant and len(constant) < len(ranges):
        yield f"always the same rating, which tells nothing about differences: {_shorten_list(constant)}"


def _name_notes(raters: Iterable[str]) -> Iterable[str]:
    by_name: dict[str, list[str]] = {}
    for rater in sorted(raters):
        by_name.setdefault(" ".join(rater.casefold().split()), []).append(rater)
    alike = [" and ".join(map(repr, names)) for names in by_name.values() if len(names) > 1]
    if alike:
        yield f"names of raters that differ only in case or spaces count as different people: {_shorten_list(alike)}"


def _shorten_list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    if len(names) > SHOWN:
        shown += f" and {len(names) - SHOWN} more"
    return shown


def normalise(
    records: Sequence[Record], how: Normalise, *, aspect: str, role: str = "", raters: set[str] | None = None
) -> tuple[list[Record], list[str]]:
    """Return the records with ratings of this aspect on a common scale, and notes on ratings that were left out.

    `z`: distance from the rater's mean rating, in the rater's standard deviations. `rank`: mean rank among the rater's
    ratings, from 0 to 1. Ratings without a rater's name, by raters with fewer than 5 ratings or only equal ones, and,
    if `raters` is given, by anyone else, are left out.
    """
    values: dict[str, list[float]] = {}
    for record in records:
        for rating in select_ratings(record, aspect, role):
            if rating.value is not None:
                values.setdefault(rating.rater, []).append(rating.value)
    scales: dict[str, dict[float, float]] = {}
    left_out = 0
    for rater, values_of_rater in values.items():
        is_wanted = rater and (raters is None or rater in raters)
        if is_wanted and len(values_of_rater) >= FEWEST and min(values_of_rater) < max(values_of_rater):
            scales[rater] = _scale(np.array(values_of_rater), how)
        else:
            left_out += len(values_of_rater)
    if values and not scales:
        raise InputError(
            f"no rater of {aspect!r} has a name and {FEWEST} ratings that differ, so ratings cannot be normalised",
            hint="compare them as they are, or name the raters",
        )
    what = {"z": "z-scores of each rater", "rank": "ranks within each rater, from 0 to 1"}[how]
    notes = [f"ratings are {what}; differences between the items that raters got are removed too"]
    if left_out:
        every = sum(map(len, values.values()))
        reasons = f"without a name, with fewer than {FEWEST} ratings, or always the same rating"
        if raters is not None:
            reasons = f"of one version only, {reasons}"
        notes.append(f"{left_out:,} of {count(every, 'rating')} left out, by raters {reasons}")
    return [_rescale(record, scales, aspect, role) for record in records], notes


def _scale(values: np.ndarray[tuple[int], np.dtype[np.float64]], how: Normalise) -> dict[float, float]:
    """Return the new value of each of a rater's values."""
    different = np.unique(values)
    if how == "z":
        scaled = (different - values.mean()) / values.std()
    else:
        ordered = np.sort(values)
        below = np.searchsorted(ordered, different, side="left")
        upto = np.searchsorted(ordered, different, side="right")
        scaled = (below + upto) / (2 * len(values))
    return dict(zip(different.tolist(), scaled.tolist(), strict=True))


def _rescale(record: Record, scales: dict[str, dict[float, float]], aspect: str, role: str) -> Record:
    chosen = select_ratings(record, aspect, role)
    ratings = []
    for rating in record.ratings:
        if rating not in chosen or rating.value is None:
            ratings.append(rating)
        elif rating.rater in scales:
            ratings.append(replace(rating, value=scales[rating.rater][rating.value]))
    return replace(record, ratings=tuple(ratings))
