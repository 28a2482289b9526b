"""Questions that two people answered."""

from __future__ import annotations

from interloq.demo.real_replies import real_replies
from interloq.records import Pair


def test_replies_are_of_different_people_to_one_question() -> None:
    question = "What do you like about tea?"
    pairs = [
        Pair("a-1", question, "I like the smell", thread="a"),
        Pair("a-2", question, "I said the smell", thread="a"),
        Pair("b-1", "what do you like about tea??", "It is so warm", thread="b"),
        Pair("c-1", "Hi, how are you doing?", "I am good", thread="c"),
        Pair("d-1", "Hi, how are you doing?", "Not bad at all", thread="d"),
    ]
    found = {sample.system: sample for sample in real_replies(pairs)}
    assert [sample.references[0].text for sample in found.values()] == ["I like the smell"] * 3
    assert {system: sample.response for system, sample in found.items() if system != "random"} == {
        "person": "It is so warm",
        "parrot": question,
    }
    assert {sample.dialogue for sample in found.values()} == {"a"}, "the conversation of the question"
    assert found["random"].response in ("I am good", "Not bad at all")
    assert {system: sample.ratings[0].value for system, sample in found.items()} == {
        "person": 1,
        "random": 0,
        "parrot": 0,
    }
