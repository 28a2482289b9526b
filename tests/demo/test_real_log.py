"""The filter of the demo's real log and replies from it, on made conversations; test_steps.py has the real ones."""

from __future__ import annotations

import pytest

from interloq.demo.real_log import SPEAKERS, filter_conversations, real_replies
from interloq.records import Dialogue, Pair, Turn

CROWD = [  # conversations that make words common: each is used by enough speakers
    Dialogue(f"crowd/{i}", [Turn("I like tea very much, do you?", f"a{i}"), Turn("my phone at 12 and 34", f"b{i}")])
    for i in range(SPEAKERS)
]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I like tea", ""),
        ("tea", "length"),
        ("I like tea " * 7, "length"),
        ("I like ann@example.org", "characters"),
        ("I like www.example.org/ann", "characters"),
        ("I like example.com very much", "characters"),
        ("I like t** very much", "characters"),
        ("do you like 12 34 12 34", "characters"),
        ("I like Miller very much", "rare word"),
        ("I like my phone", "unwanted word"),
    ],
)
def test_one_reason_per_pair(reply: str, reason: str) -> None:
    talk = Dialogue("set/0123456789", [Turn("Hello there! I like tea very much", "x"), Turn(reply, "y")])
    log = filter_conversations([*CROWD, talk])
    kept = [pair for pair in log.pairs if pair.thread == "01234567"]
    if reason:
        assert kept == []
        assert log.dropped - filter_conversations(CROWD).dropped == {reason: 1}
    else:
        assert kept == [Pair("01234567-1", "I like tea very much", reply, thread="01234567")]


def test_replies_are_of_different_people_to_one_question() -> None:
    question = "What do you like about tea?"
    pairs = [
        Pair("a-1", question, "I like the smell", thread="a"),
        Pair("a-2", question, "I said the smell", thread="a"),
        Pair("b-1", "what do you like about tea??", "It is so warm", thread="b"),
        Pair("c-1", "Hi, how are you doing?", "I am good", thread="c"),
        Pair("d-1", "Hi, how are you doing?", "Not bad at all", thread="d"),
    ]
    replies = {sample.system: sample for sample in real_replies(pairs)}
    assert [sample.references[0].text for sample in replies.values()] == ["I like the smell"] * 3
    assert {system: sample.response for system, sample in replies.items() if system != "random"} == {
        "person": "It is so warm",
        "parrot": question,
    }
    assert {sample.dialogue for sample in replies.values()} == {"a"}, "the conversation of the question"
    assert replies["random"].response in ("I am good", "Not bad at all")
    assert [sample.ratings[0].value for sample in replies.values()] == [1, 0, 0]
    assert list(replies) == ["person", "random", "parrot"]
