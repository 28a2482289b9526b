# SPDX-License-Identifier: Apache-2.0
"""Ratings of whole dialogues: each dialogue becomes one rated item, with the mean of its utterances' scores.

The item has no text of its own. Dialogues on one occasion (see dialogue_scores.py) share a context. The number of turns
is scored as well, as the metric `turns`: people often rate longer dialogues higher, and a metric should do better.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from interloq.agree.dialogue_scores import DialogueScore, dialogue_scores, metrics_of
from interloq.errors import InputError
from interloq.play.samples import system_ratings
from interloq.records import Dialogue, Sample, Score

TURNS = "turns"


def rated_dialogues(scores: Iterable[Score], dialogues: Sequence[Dialogue]) -> tuple[list[Score], list[Sample]]:
    """Scores of dialogues by each metric and by their number of turns, and the dialogues as rated items."""
    if not any(dialogue.ratings for dialogue in dialogues):
        raise InputError("no dialogue has ratings", hint='give dialogues "ratings": [{"value": 4, …}]')
    scores, by_id = list(scores), {dialogue.id: dialogue for dialogue in dialogues}
    found: list[Score] = []
    items: dict[tuple[str, str], Sample] = {}
    for metric in metrics_of(scores):
        for row in dialogue_scores(scores, dialogues, metric=metric):
            value = None if row.reason else row.value
            found.append(Score(row.dialogue, metric, value, row.reason, row.system))
            items.setdefault((row.dialogue, row.system), _item(row, by_id[row.dialogue]))
    turns = [Score(id, TURNS, float(len(by_id[id].turns)), system=system) for id, system in items]
    return [*found, *turns], list(items.values())


def _item(row: DialogueScore, dialogue: Dialogue) -> Sample:
    context = () if row.pairing == "none" else (row.occasion,)
    return Sample(row.dialogue, context, system=row.system, ratings=system_ratings(dialogue, row.system))
