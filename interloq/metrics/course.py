# SPDX-License-Identifier: Apache-2.0
"""Scores of a dialogue's replies in the order in which they were given, to find the turn where the score fell most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TurnScore:
    """The score of the reply at a turn, counted from 0; None if it is unscored."""

    turn: int
    text: str
    score: float | None


def largest_fall(course: Sequence[TurnScore]) -> tuple[TurnScore, float] | None:
    """The reply that scored furthest below the one before it, and by how much; None if no score fell."""
    largest: tuple[TurnScore, float] | None = None
    before = None
    for reply in course:
        if reply.score is None:
            continue
        if before is not None and before - reply.score > (largest[1] if largest else 0):
            largest = (reply, before - reply.score)
        before = reply.score
    return largest
