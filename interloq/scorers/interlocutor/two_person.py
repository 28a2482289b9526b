# SPDX-License-Identifier: Apache-2.0
"""Dialogues in which continuity can be labelled: two named people, in turns, with times that do not run backwards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, pairwise

from interloq.data.corpus.clean import NO_TIME
from interloq.data.corpus.dialogues import merge_turns
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
    for earlier, later in pairwise(times(dialogue.turns)):
        if later < earlier:
            return "backwards"
    return ""


def has_bad_time(dialogue: Dialogue) -> bool:
    """Whether the time of a turn cannot be read."""
    try:
        list(times(dialogue.turns))
    except InputError:
        return True
    return False


def times(turns: Iterable[Turn]) -> Iterator[int]:
    """The times of turns that have one, in microseconds."""
    for turn in turns:
        time = microseconds(turn.time)
        if time != NO_TIME:
            yield time


def start(dialogue: Dialogue) -> int:
    """The first known time of a dialogue; NO_TIME without any."""
    return next(times(dialogue.turns), NO_TIME)


def end(dialogue: Dialogue) -> int:
    """The last known time of a dialogue; NO_TIME without any."""
    return next(times(reversed(dialogue.turns)), NO_TIME)


def alternating(dialogue: Dialogue) -> Dialogue:
    """The dialogue with consecutive turns of one speaker joined, so that every turn answers the one before it."""
    return replace(dialogue, turns=tuple(merge_turns(dialogue.turns)), given=0)


def fades(dialogue: Dialogue) -> bool:
    """Whether the rate of replies falls: the pauses between turns tend to grow (Kendall's tau above 0)."""
    pauses = [later - earlier for earlier, later in pairwise(times(dialogue.turns))]
    growing = 0
    for earlier, later in combinations(pauses, 2):
        growing += (later > earlier) - (later < earlier)
    return growing > 0


def _plain(name: str) -> str:
    """A nick without what people add to it while they are away or connect again: `Ann_` and `ann|away` → `ann`."""
    return _AWAY.sub("", name).rstrip("_`^").casefold() or name
