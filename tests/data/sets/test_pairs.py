"""Pairs of dialogue corpora."""

from __future__ import annotations

from interloq import Dialogue, Turn
from interloq.data.sets.pairs import pairs


def talk(id: str, *texts: str) -> Dialogue:
    return Dialogue(id, [Turn(text, "ab"[i % 2]) for i, text in enumerate(texts)])


def test_dialogues_have_pairs_and_no_groups() -> None:
    found, groups = pairs("dailydialog", [talk("d/1", "a", "b", "c"), talk("d/2", "a", "z")])
    assert [(pair.utterance, pair.response) for pair in found] == [("a", "b"), ("b", "c"), ("a", "z")]
    assert groups == []


def test_answers_to_one_question_of_one_language_are_a_group() -> None:
    made = [("en/x/0", "hi", "hello"), ("en/x/1", "hi", "hey"), ("de/x/0", "hi", "hallo"), ("en/x/2", "bye", "ciao")]
    found, groups = pairs("chatterbot", [talk(f"chatterbot/{id}", *texts) for id, *texts in made])
    assert len(found) == 4
    assert [pair.response for pair in groups] == ["hello", "hey"]
    assert len({pair.to for pair in groups}) == 1
