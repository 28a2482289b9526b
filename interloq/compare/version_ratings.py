# SPDX-License-Identifier: Apache-2.0
"""Ratings of several versions on one scale, and notes on their raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interloq.compare.version_units import Ratings
from interloq.data.records.raters import normalise, rater_notes, selected_ratings
from interloq.errors import InputError


def common_scale(records: Mapping[str, Sequence[Any]], ratings: Ratings) -> tuple[dict[str, list[Any]], list[str]]:
    """The samples or dialogues of each version with ratings that can be compared, and notes on the raters.

    Normalised ratings are those of raters who rated all versions. The others would hide the difference: the mean of a
    rater's z-scores is 0, whichever version they rated.
    """
    aspect, role = ratings.aspect or "overall", ratings.role
    every = [record for own in records.values() for record in own]
    notes = rater_notes(every, aspect=aspect, role=role, normalised=bool(ratings.normalise))
    if not ratings.normalise:
        return {side: list(own) for side, own in records.items()}, notes
    by_side = [_raters(own, aspect, role) for own in records.values()]
    rated_sides = [raters for raters in by_side if raters]
    shared = set.intersection(*rated_sides) if len(rated_sides) > 1 else set()
    if not shared:
        raise InputError(
            f"no rater of {aspect!r} rated both versions, so ratings normalised by rater cannot compare them",
            hint="omit --normalise, or let the same people rate both",
        )
    scaled, left_out = normalise(every, ratings.normalise, aspect=aspect, role=role, raters=shared)
    remaining = iter(scaled)
    return {side: [next(remaining) for _ in own] for side, own in records.items()}, [*notes, *left_out]


def _raters(records: Sequence[Any], aspect: str, role: str) -> set[str]:
    return {
        rating.rater
        for record in records
        for rating in selected_ratings(record, aspect, role)
        if rating.rater and rating.value is not None
    }
