"""The utterance–response pairs of a published dialogue corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from interloq.data.corpus.dialogues import group_of, pairs_of_dialogue
from interloq.data.sets.registry import dataset
from interloq.records import Dialogue, Pair


def pairs(name: str, dialogues: Sequence[Dialogue]) -> tuple[list[Pair], list[Pair]]:
    """The pairs of dialogues, and groups of several answers to one question if the corpus has such."""
    found = [pair for dialogue in dialogues for pair in pairs_of_dialogue(dialogue)]
    if not dataset(name).questions:
        return found, []
    answers: dict[tuple[str, str], list[Pair]] = {}
    for pair in found:
        language = pair.id.split("/")[1]
        answers.setdefault((language, pair.utterance), []).append(pair)
    asked = [[replace(pair, to=group[0].to) for pair in group] for group in answers.values()]
    return [pair for group in asked for pair in group], [pair for group in asked for pair in group_of(group)]
