# SPDX-License-Identifier: Apache-2.0
"""Scores of a dialogue's replies in the order in which they were given, to find the turn where the score fell most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class TurnScore:
    """The score of the reply at a turn, counted from 0; None if it is unscored."""

    turn: int
    text: str
    score: float | None


def largest_fall(course: Sequence[TurnScore]) -> tuple[TurnScore, float] | None:
    """The reply that scored furthest below the one before it, and by how much; None if no score fell."""
    scored = [(each, each.score) for each in course if each.score is not None]
    falls = [(later[0], earlier[1] - later[1]) for earlier, later in pairwise(scored)]
    found = max(falls, key=lambda fall: fall[1], default=None)
    return found if found and found[1] > 0 else None
