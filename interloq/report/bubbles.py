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
    """Turns of a context. The reply is on the right, so the last speaker is on the left; unnamed turns alternate."""
    named = any(turn.speaker for turn in context)
    found = []
    for i, turn in enumerate(context):
        with_last = turn.speaker == context[-1].speaker if named else (len(context) - i) % 2 == 1
        found.append(Bubble(turn.speaker, "left" if with_last else "right", text.folded(turn.text)))
    fold = len(found) - RECENT if len(found) > RECENT + 1 else 0
    return Bubbles(tuple(found[:fold]), tuple(found[fold:]))
