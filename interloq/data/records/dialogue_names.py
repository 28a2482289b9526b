# SPDX-License-Identifier: Apache-2.0
"""Which samples belong to one dialogue: the one they name, or else one found in contexts that continue each other.

A sample continues another one of its system if its context starts with the context of the other, or with that context
and the other's reply. Each sample is continued by at most one other, so that conversations that merely start with the
same greeting are not taken for one. Samples with the same context of at least LONG turns belong together. Such a
dialogue is named after its first sample. Ids never count: `ticket#1` and `ticket#2` may be two conversations.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace

from interloq.records import Sample

LONG = 3  # turns of a context that two conversations hardly share


def name_dialogues(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples, each with its dialogue if it is known and has several samples."""
    finder = DialogueFinder()
    finder.add(samples)
    names = finder.names()
    return [replace(s, dialogue=name) if name else s for s, name in zip(samples, names, strict=True)]


def natural(id: str) -> list[tuple[int, str]]:
    """Return a sort key that puts opening-2 before opening-10."""
    parts = re.split(r"([0-9]{1,18})", id)  # every other part is a number
    return [(int(part), "") if i % 2 else (-1, part) for i, part in enumerate(parts)]


class DialogueFinder:
    """Finds the dialogues of samples that are added in parts; of their texts, only hashes are kept."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._systems: list[str] = []
        self._names: list[str] = []  # dialogues that samples name
        self._starts = array("q")  # hashes of the first 1, 2, … turns of each context, one context after the other
        self._ends = array("q", [0])  # where the hashes of each context end
        self._answered = array("q")  # hash of each context with its reply

    def add(self, samples: Iterable[Sample]) -> None:
        """Add further samples."""
        for sample in samples:
            last = 0
            for turn in sample.context:
                last = hash((last, turn.text))
                self._starts.append(last)
            self._ends.append(len(self._starts))
            self._answered.append(hash((last, sample.response)))
            self._ids.append(sample.id)
            self._systems.append(sample.system)
            self._names.append(sample.dialogue)

    def names(self) -> list[str]:
        """Return the dialogue of each sample in the order they were added; empty if it is unknown."""
        unnamed: dict[str, list[int]] = {}
        for i, name in enumerate(self._names):
            if not name:
                unnamed.setdefault(self._systems[i], []).append(i)
        names = list(self._names)
        for group in unnamed.values():
            if all(self._length(i) == 1 for i in group):
                continue  # no context can continue another
            for dialogue in self._chains(group):
                if len(dialogue) > 1:
                    for i in dialogue:
                        names[i] = self._ids[dialogue[0]]
        return names

    def _length(self, i: int) -> int:
        return self._ends[i + 1] - self._ends[i]

    def _chains(self, group: Sequence[int]) -> list[list[int]]:
        """Return samples of one system, by dialogue; those with short contexts come first."""
        after_reply: dict[int, list[int]] = {}  # hash of context and reply → samples that none continues so far
        after_context: dict[int, list[int]] = {}
        same_context: dict[int | None, int] = {}
        dialogue_of: dict[int, list[int]] = {}
        continued: set[int] = set()
        for i in sorted(group, key=lambda i: (self._length(i), self._ids[i])):
            starts = self._starts[self._ends[i] : self._ends[i + 1]]
            context = starts[-1] if starts else None
            previous = same_context.get(context)
            if previous is None:
                previous = _take(starts, after_reply, continued)
            if previous is None:
                previous = _take(starts[:-1], after_context, continued)
            dialogue_of[i] = [] if previous is None else dialogue_of[previous]
            dialogue_of[i].append(i)
            after_reply.setdefault(self._answered[i], []).append(i)
            if context is not None:
                after_context.setdefault(context, []).append(i)
            if len(starts) >= LONG:
                same_context.setdefault(context, i)
        return list({id(dialogue): dialogue for dialogue in dialogue_of.values()}.values())


def _take(starts: Sequence[int], waiting: dict[int, list[int]], continued: set[int]) -> int | None:
    """Return the sample that a context with these starts continues, preferring the longest match; each only once."""
    for start in reversed(starts):
        candidates = waiting.get(start, [])
        while candidates:
            sample = candidates.pop(0)
            if sample not in continued:
                continued.add(sample)
                return sample
    return None
