# SPDX-License-Identifier: Apache-2.0
"""Which samples belong to one dialogue: the one they name, or else one found in contexts that continue each other.

A sample continues another one of its system if its context starts with the context of the other, or with that context
and the other's reply. Each sample is continued by one other at most, so that conversations that merely start with the
same greeting are not taken for one. Samples with the same context of at least LONG turns belong together. Such a
dialogue is named after its first sample. Ids never count: `ticket#1` and `ticket#2` may be two conversations.
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from interloq.records import Sample

LONG = 3  # turns of a context that two conversations hardly share


def name_dialogues(samples: Sequence[Sample]) -> list[Sample]:
    """The samples, each with its dialogue if it is known; of a dialogue of one sample it stays empty."""
    finder = DialogueFinder()
    finder.add(samples)
    names = finder.names()
    return [replace(s, dialogue=name) if name else s for s, name in zip(samples, names, strict=True)]


def natural(id: str) -> list[tuple[int, str]]:
    """Sort key that puts opening-2 before opening-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]{1,18})", id)]


@dataclass(slots=True)
class _Seen:
    """What is kept of a sample: hashes instead of texts."""

    id: str
    system: str
    dialogue: str
    starts: array[int]  # hash of the first 1, 2, … turns of its context
    answered: int  # hash of its context and reply


class DialogueFinder:
    """Finds the dialogues of samples that are added in parts, without keeping their texts."""

    def __init__(self) -> None:
        self._seen: list[_Seen] = []

    def add(self, samples: Iterable[Sample]) -> None:
        """Add further samples."""
        for sample in samples:
            starts, last = array("q"), 0
            for turn in sample.context:
                last = hash((last, turn.text))
                starts.append(last)
            answered = hash((last, sample.response))
            self._seen.append(_Seen(sample.id, sample.system, sample.dialogue, starts, answered))

    def names(self) -> list[str]:
        """The dialogue of each sample in the order of adding; empty if nothing tells it."""
        unnamed: dict[str, list[int]] = {}
        for i, seen in enumerate(self._seen):
            if not seen.dialogue:
                unnamed.setdefault(seen.system, []).append(i)
        names = [seen.dialogue for seen in self._seen]
        for group in unnamed.values():
            for dialogue in self._chains(group):
                if len(dialogue) > 1:
                    for i in dialogue:
                        names[i] = self._seen[dialogue[0]].id
        return names

    def _chains(self, group: Sequence[int]) -> list[list[int]]:
        """Samples of one system, by dialogue; those with short contexts come first."""
        order = sorted(group, key=lambda i: (len(self._seen[i].starts), natural(self._seen[i].id)))
        after_reply: dict[int, deque[int]] = {}  # hash of context and reply → samples that none continues so far
        after_context: dict[int, deque[int]] = {}
        same_context: dict[int | None, int] = {}
        dialogue_of: dict[int, list[int]] = {}
        continued: set[int] = set()
        for i in order:
            seen = self._seen[i]
            context = seen.starts[-1] if seen.starts else None
            previous = same_context.get(context)
            if previous is None:
                previous = _take(seen.starts, after_reply, continued)
            if previous is None:
                previous = _take(seen.starts[:-1], after_context, continued)
            dialogue_of[i] = [] if previous is None else dialogue_of[previous]
            dialogue_of[i].append(i)
            after_reply.setdefault(seen.answered, deque()).append(i)
            if context is not None:
                after_context.setdefault(context, deque()).append(i)
            if len(seen.starts) >= LONG:
                same_context.setdefault(context, i)
        return list({id(dialogue): dialogue for dialogue in dialogue_of.values()}.values())


def _take(starts: Sequence[int], waiting: dict[int, deque[int]], continued: set[int]) -> int | None:
    """The sample that a context with these starts continues, the longest match first; it is continued only once."""
    for start in reversed(starts):
        candidates = waiting.get(start, ())
        while candidates:
            found = candidates.popleft()
            if found not in continued:
                continued.add(found)
                return found
    return None
