# SPDX-License-Identifier: Apache-2.0
"""Dialogues that the collector ended after a fixed number of turns: their last turn is not a valid label.

Of the dialogues that reach a length, some share ends there. In natural logs this share changes slowly with the length;
a fixed number of turns makes it jump. Recognised is a length at which at least half of the dialogues that reach it end,
three times the share at all other lengths, if it is the end of 20 dialogues and of 5 % of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

MIN_DIALOGUES = 20
MIN_SHARE = 0.05
MIN_ENDING = 0.5
MIN_RATIO = 3.0


@dataclass(frozen=True, slots=True)
class CutEnds:
    """A number of turns at which suspiciously many dialogues end."""

    turns: int
    dialogues: int  # that end there
    of: int  # all dialogues

    def __str__(self) -> str:
        share = self.dialogues / self.of
        return f"{self.dialogues:,} of {self.of:,} dialogues ({share:.0%}) end after exactly {self.turns} turns"


def cut_ends(lengths: Iterable[int]) -> CutEnds | None:
    """The number of turns after which the collector ended dialogues; None if there is no such number."""
    counts = Counter(lengths)
    of = reached = counts.total()
    at_risk = sum((length - min(counts) + 1) * n for length, n in counts.items())  # turns at which one could have ended
    found = []
    for length, n in sorted(counts.items()):
        elsewhere = (of - n) / max(1, at_risk - reached)
        if n >= max(MIN_DIALOGUES, MIN_SHARE * of) and n / reached >= max(MIN_ENDING, MIN_RATIO * elsewhere):
            found.append(CutEnds(length, n, of))
        reached -= n
    return max(found, key=lambda cut: cut.dialogues, default=None)
