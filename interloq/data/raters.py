# SPDX-License-Identifier: Apache-2.0
"""Raters who cannot be averaged as they are: on different scales, without differences, or under two names.

`normalise` puts the ratings of each rater on a scale of their own. It needs several ratings by each rater, and it also
removes real differences: a rater who happened to get the better items looks lenient.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
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
        """Notes on raters whose ratings should not be averaged as they are; only on their names if `normalised`."""
        notes = []
        for aspect, by_rater in sorted(self.ranges.items()) if not normalised else ():
            known = {rater: own for rater, own in sorted(by_rater.items()) if own.n >= FEWEST}
            notes += [f"{aspect}: {text}" for text in (*_scale_notes(known), *_constant_notes(known))]
        return [*notes, *_name_notes({rater for by_rater in self.ranges.values() for rater in by_rater})]


def rater_notes(
    records: Iterable[Sample | Dialogue], *, aspect: str, role: str = "", normalised: bool = False
) -> list[str]:
    """The notes on raters of one aspect."""
    ranges = RaterRanges()
    for record in records:
        ranges.add(selected_ratings(record, aspect, role))
    return ranges.notes(normalised=normalised)


def selected_ratings(record: Sample | Dialogue, aspect: str, role: str = "") -> list[Rating]:
    """The ratings of one aspect, only by people in `role` if it is given."""
    return [rating for rating in record.ratings if rating.aspect == aspect and role in ("", rating.role)]


def _scale_notes(known: dict[str, Range]) -> Iterable[str]:
    """A note if some raters use another range than the others: no overlap, or many times as wide."""
    varied = sorted(((own.high, rater, own) for rater, own in known.items() if own.low < own.high), key=lambda x: x[:2])
    start = min((own.low for _, _, own in varied), default=0.0)
    for i, ((below, _, _), (above, _, _)) in enumerate(pairwise(varied), start=1):
        lower, upper = varied[:i], varied[i:]
        disjoint = below < min(own.low for _, _, own in upper)
        if disjoint or above - start >= WIDER * (below - start):
            groups = [{rater: own for _, rater, own in group} for group in (lower, upper)]
            yield (
                f"raters use different ranges, as if on different scales: {_span(groups[0])}, but {_span(groups[1])}; "
                "means mix them (meta, choose and compare put all raters on a common scale with --normalise z)"
            )
            return


def _span(group: dict[str, Range]) -> str:
    low, high = min(own.low for own in group.values()), max(own.high for own in group.values())
    return f"{low:g} to {high:g} ({_listed(sorted(group))})"


def _constant_notes(known: dict[str, Range]) -> Iterable[str]:
    constant = {rater: own for rater, own in known.items() if own.low == own.high}
    if constant and len(constant) < len(known):
        raters = _listed([f"{rater} ({own.n} times {own.low:g})" for rater, own in constant.items()])
        yield f"always the same rating, which tells nothing about differences: {raters}"


def _name_notes(raters: Iterable[str]) -> Iterable[str]:
    by_name: dict[str, list[str]] = {}
    for rater in sorted(raters):
        by_name.setdefault(" ".join(rater.casefold().split()), []).append(rater)
    alike = [" and ".join(map(repr, names)) for names in by_name.values() if len(names) > 1]
    if alike:
        yield f"names of raters that differ only in case or spaces count as different people: {_listed(alike)}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


# ---- a common scale --------------------------------------------------------------------------------------------------


def normalise(
    records: Sequence[Record], how: Normalise, *, aspect: str, role: str = "", raters: set[str] | None = None
) -> tuple[list[Record], list[str]]:
    """The records with ratings of this aspect on a common scale, and notes on ratings that were left out.

    `z`: distance from the rater's mean rating, in the rater's standard deviations. `rank`: mean rank among the rater's
    ratings, from 0 to 1. Ratings without a rater's name, by raters with fewer than 5 ratings or with equal ones only,
    and by raters other than `raters`, if given, are left out.
    """
    values: dict[str, list[float]] = {}
    for record in records:
        for rating in selected_ratings(record, aspect, role):
            if rating.value is not None:
                values.setdefault(rating.rater, []).append(rating.value)
    usable = {
        rater: np.array(own)
        for rater, own in values.items()
        if rater and len(own) >= FEWEST and min(own) < max(own) and (raters is None or rater in raters)
    }
    if values and not usable:
        raise InputError(
            f"no rater of {aspect!r} has a name and {FEWEST} ratings that differ, so ratings cannot be normalised",
            hint="compare them as they are, or name the raters",
        )
    scales = {rater: _scale(own, how) for rater, own in usable.items()}
    left_out = sum(len(own) for rater, own in values.items() if rater not in usable)
    what = {"z": "z-scores of each rater", "rank": "ranks within each rater, from 0 to 1"}[how]
    notes = [f"ratings are {what}; differences between the items that raters got are removed too"]
    if left_out:
        every = sum(map(len, values.values()))
        reasons = f"without a name, with fewer than {FEWEST} ratings, or always the same rating"
        if raters is not None:
            reasons = f"of one version only, {reasons}"
        notes.append(f"{left_out:,} of {count(every, 'rating')} left out, by raters {reasons}")
    return [_rescaled(record, scales, aspect, role) for record in records], notes


def _scale(values: np.ndarray[tuple[int], np.dtype[np.float64]], how: Normalise) -> dict[float, float]:
    """The new value of each of a rater's values."""
    different = np.unique(values)
    if how == "z":
        scaled = (different - values.mean()) / values.std()
    else:
        below, upto = (np.searchsorted(np.sort(values), different, side=side) for side in ("left", "right"))
        scaled = (below + upto) / (2 * len(values))
    return dict(zip(different.tolist(), scaled.tolist(), strict=True))


def _rescaled(record: Record, scales: dict[str, dict[float, float]], aspect: str, role: str) -> Record:
    chosen = selected_ratings(record, aspect, role)
    ratings = []
    for rating in record.ratings:
        if rating not in chosen or rating.value is None:
            ratings.append(rating)
        elif rating.rater in scales:
            ratings.append(replace(rating, value=scales[rating.rater][rating.value]))
    return replace(record, ratings=tuple(ratings))
