# SPDX-License-Identifier: Apache-2.0
"""Dialogues in which continuity can be labelled: two named people, in turns, with times that do not run backwards."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from interloq.data.corpus.clean import NO_TIME
from interloq.data.corpus.dialogues import merged
from interloq.data.corpus.times import microseconds
from interloq.errors import InputError
from interloq.records import Dialogue, Turn

UNUSABLE = {  # reason → meaning
    "no_speaker": "a turn has no speaker",
    "one_speaker": "only one person speaks, so the interlocutor is unknown",
    "several_speakers": "more than two people speak",
    "renamed_speaker": "two speakers have names such as ann and ann_, probably of one person",
    "bad_time": "a time cannot be read",
    "backwards": "a turn is dated before the turn that precedes it",
}
_AWAY = re.compile(r"[|\[{(].*$")


def unusable(dialogue: Dialogue) -> str:
    """Why nothing can be learned from how this dialogue ended; empty if something can. See UNUSABLE."""
    speakers = {turn.speaker for turn in dialogue.turns}
    if not speakers or "" in speakers:
        return "no_speaker"
    if len({_plain(name) for name in speakers}) < len(speakers):
        return "renamed_speaker"
    if len(speakers) != 2:
        return "one_speaker" if len(speakers) == 1 else "several_speakers"
    if has_bad_time(dialogue):
        return "bad_time"
    return "backwards" if any(later < earlier for earlier, later in pairwise(times(dialogue.turns))) else ""


def has_bad_time(dialogue: Dialogue) -> bool:
    """Whether the time of a turn cannot be read."""
    try:
        list(times(dialogue.turns))
    except InputError:
        return True
    return False


def times(turns: Iterable[Turn]) -> Iterable[int]:
    """The times of turns that have one, in microseconds."""
    return (time for turn in turns if (time := microseconds(turn.time)) != NO_TIME)


def start(dialogue: Dialogue) -> int:
    """The first known time of a dialogue; NO_TIME without any."""
    return next(iter(times(dialogue.turns)), NO_TIME)


def end(dialogue: Dialogue) -> int:
    """The last known time of a dialogue; NO_TIME without any."""
    return next(iter(times(reversed(dialogue.turns))), NO_TIME)


def alternating(dialogue: Dialogue) -> Dialogue:
    """The dialogue with consecutive turns of one speaker joined, so that every turn answers the one before it."""
    return replace(dialogue, turns=tuple(merged(dialogue.turns)), given=0)


def fades(dialogue: Dialogue) -> bool:
    """Whether the rate of replies falls: the pauses between turns tend to grow (Kendall's tau above 0)."""
    pauses = [later - earlier for earlier, later in pairwise(times(dialogue.turns))]
    later_minus_earlier = (b - a for i, a in enumerate(pauses) for b in pauses[i + 1 :])
    return sum((difference > 0) - (difference < 0) for difference in later_minus_earlier) > 0


def _plain(name: str) -> str:
    """A nick without what people add to it while they are away or connect again: `Ann_` and `ann|away` → `ann`."""
    return _AWAY.sub("", name).rstrip("_`^").casefold() or name
