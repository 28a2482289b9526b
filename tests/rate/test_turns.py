from __future__ import annotations

from interloq.data.corpus.dialogues import pairs_of_dialogue
from interloq.rate.turns import BETWEEN, with_contexts
from interloq.records import Dialogue, Pair, Turn


def contexts(pairs: list[Pair], most: int) -> list[list[str]]:
    return [pair.utterance.split(BETWEEN) for pair in with_contexts(pairs, most)]


def test_the_turns_before_an_utterance_are_those_of_its_dialogue() -> None:
    turns = [Turn(text, speaker) for text, speaker in zip("abcd", "xyxy", strict=True)]
    pairs = [pair for name in "12" for pair in pairs_of_dialogue(Dialogue(name, turns))]
    assert contexts(pairs, 2) == [["a"], ["a", "b"], ["b", "c"]] * 2
    assert [pair.response for pair in with_contexts(pairs, 2)] == list("bcdbcd")


def test_a_missing_pair_ends_the_context() -> None:
    pairs = list(pairs_of_dialogue(Dialogue("1", [Turn(text) for text in "abcd"])))
    assert contexts([pairs[0], pairs[2]], 3) == [["a"], ["c"]]


def test_answers_to_one_post_share_its_context() -> None:
    pairs = [Pair("2", "a", "b", "1", "t"), Pair("3", "b", "c", "2", "t"), Pair("4", "b", "d", "2", "t")]
    assert contexts(pairs, 3) == [["a"], ["a", "b"], ["a", "b"]]
    assert contexts([Pair("2", "a", "b", "1"), Pair("3", "b", "c", "2")], 3) == [["a"], ["b"]]  # without threads


def test_an_utterance_without_text_stays_empty() -> None:
    pairs = [Pair("2", "a", "b", "1", "t"), Pair("3", " ", "c", "2", "t")]
    assert [pair.utterance for pair in with_contexts(pairs, 3)] == ["a", " "]
