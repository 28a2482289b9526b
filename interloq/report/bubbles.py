# SPDX-License-Identifier: Apache-2.0
"""Contexts as conversations: one bubble per turn, on the left or the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from interloq.records import Turn
from interloq.report import text
from interloq.report.elements import Folded

RECENT = 3  # turns shown; the earlier ones are folded


@dataclass(frozen=True, slots=True)
class Bubble:
    """One turn of a context."""

    speaker: str
    side: Literal["left", "right"]
    text: Folded


@dataclass(frozen=True, slots=True)
class Bubbles:
    """A context; its earlier turns are folded."""

    earlier: tuple[Bubble, ...]
    recent: tuple[Bubble, ...]


def bubbles(context: Sequence[Turn]) -> Bubbles:
    """Lay out a context. The reply is on the right, so the last speaker is on the left; unnamed turns alternate."""
    named = any(turn.speaker for turn in context)
    turns: list[Bubble] = []
    for i, turn in enumerate(context):
        is_other = (len(context) - i) % 2 == 1
        if named:
            is_other = turn.speaker == context[-1].speaker
        turns.append(Bubble(turn.speaker, "left" if is_other else "right", text.folded(turn.text)))
    if len(turns) <= RECENT + 1:
        return Bubbles((), tuple(turns))
    return Bubbles(tuple(turns[:-RECENT]), tuple(turns[-RECENT:]))
