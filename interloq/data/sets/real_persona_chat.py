# SPDX-License-Identifier: Apache-2.0
"""RealPersonaChat (Yamashita et al., 2023): Japanese dialogues of people who know their own persona, rated by both.

`human` has dialogues between people, `system` dialogues of people with five GPT systems. Ratings were given by the
partners, from 1 to 5, with the partner's id as the rater; most dialogues have 30 utterances because that was the task.
A person's profile is the ten sentences of their persona (`profiles`).
A dialogue's id is its file name: the number inside is wrong in two files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interloq.data.files.archives import read_files, text
from interloq.data.files.opening import parse_json
from interloq.data.sets.items import DatasetItem, as_item, items
from interloq.records import INTERLOCUTOR, Dialogue, Rating, Turn

FILES = ("dialogues/*.json", "llm_dialogue_system/GPT-*.json")
PEOPLE = ("interlocutors.json",)


def dialogues(path: str | Path) -> Iterator[tuple[str, Dialogue]]:
    """Yield the dialogues of RealPersonaChat: between people, and with a system."""
    for file in read_files(path, FILES):
        if "GPT-" in file.name:
            for item in items(file):
                yield "system", _read_system_dialogue(item)
        else:
            item = as_item(parse_json(text(file), file.where), file.where)
            turns = item.turns("utterances", "text", "interlocutor_id", "timestamp")
            ratings: list[Rating] = []
            for judgment in item.objects("evaluations"):
                ratings += _ratings(judgment, judgment.text("interlocutor_id"))
            yield "human", Dialogue(f"real_persona_chat/{Path(file.name).stem.lstrip('0')}", turns, ratings=ratings)


def profiles(path: str | Path) -> dict[str, str]:
    """Return the persona of each person."""
    (file,) = read_files(path, PEOPLE)
    people = as_item(parse_json(text(file), file.where), file.where)
    return {name: " ".join(map(str, people.inner(name).sequence("persona"))) for name in people.value}


def _read_system_dialogue(item: DatasetItem) -> Dialogue:
    system, rater = item.text("system_id"), item.text("interlocutor_id")
    turns = []
    for turn in item.objects("utterances"):
        speaker = turn.text("interlocutor")
        turns.append(Turn(turn.text("text"), rater if speaker == "user" else speaker))
    ratings = list(_ratings(item.inner("evaluation"), rater))
    id = f"real_persona_chat/{system}/{item.number('dialogue_id'):.0f}"
    return Dialogue(id, turns, {"system": system}, ratings)


def _ratings(item: DatasetItem, rater: str) -> Iterator[Rating]:
    for aspect in item.value:
        if aspect != "interlocutor_id":
            yield Rating(item.number(aspect), rater, aspect, INTERLOCUTOR)
