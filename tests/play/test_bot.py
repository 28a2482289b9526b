"""What all bots share, and the small ones: checks, guarding, echo, eliza and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError, MissingDependencyError, create, spec
from interloq.play.bot import CRASHES, ask_bot
from interloq.records import Turn
from interloq.registry import names
from interloq.servers.replies import Reply, roles
from tests.play.made_talks import dialogue

SPECS = [
    "echo",
    "eliza",
    "eliza(language='ja')",
    "endpoint(url='http://localhost:8000/v1',model='m',key='',rate=30.0)",
    "function(path='bots:speak',batch=4)",
    "hf(model='folder',temperature=0.5,chat=False,separator='eos')",
    "mmi(forward=hf(model='folder',beams=16),backward='other',weight=0.3)",
    "process(command=('program', '--flag'),workers=2)",
    "replay(dialogues='file.jsonl',system='a')",
    "retrieval(index='index',k=3)",
    "scripted(file='lines.txt',order='sequence')",
    "seq2seq(model='folder',beams=4)",
]


@pytest.mark.parametrize("text", SPECS)
def test_specs_come_back(text: str) -> None:
    bot = create(text, kind="bot")
    assert spec(bot) == text
    assert create(spec(bot), kind="bot") == bot
    assert {create(text, kind="bot"): 1}[bot] == 1


def test_every_registered_bot_is_among_these() -> None:
    assert set(names("bot")) == {text.split("(")[0] for text in SPECS}


@dataclass(frozen=True)
class Made:
    """A bot from a function of the whole batch."""

    speak: Callable[[Sequence[Sequence[Turn]]], Any]

    def replies(self, dialogues: Sequence[Sequence[Turn]], seeds: Sequence[int]) -> list[Reply]:
        assert len(dialogues) == len(seeds)
        found: list[Reply] = self.speak(dialogues)
        return found

    def signature(self) -> str:
        return "made"


def raising(guilty: set[str], error: BaseException, calls: list[int] | None = None) -> Made:
    def speak(dialogues: Sequence[Sequence[Turn]]) -> list[Reply]:
        if calls is not None:
            calls.append(len(dialogues))
        if any(turns[-1].text in guilty for turns in dialogues):
            raise error
        return [Reply("re " + turns[-1].text) for turns in dialogues]

    return Made(speak)


@given(st.sets(st.integers(0, 19), max_size=4), st.integers(1, 20))
def test_only_guilty_dialogues_fail(guilty: set[int], n: int) -> None:
    bot = raising({str(i) for i in guilty}, ValueError("no\nway"))
    found = ask_bot(bot, [dialogue(str(i)) for i in range(n)], list(range(n)))
    for i, reply in enumerate(found):
        assert reply == (Reply("", "crashed: ValueError: no way") if i in guilty else Reply(f"re {i}"))


def test_a_bot_that_always_crashes_is_soon_left_alone() -> None:
    calls: list[int] = []
    bot = raising({"x"}, RuntimeError("broken"), calls)
    assert ask_bot(bot, [dialogue("x")] * 512, [0] * 512) == [Reply("", "crashed: RuntimeError: broken")] * 512
    assert len(calls) < 2 * CRASHES


@pytest.mark.parametrize(
    "error", [SystemExit(3), RecursionError("deep"), MemoryError(), InputError("bad", hint="mend")]
)
def test_any_error_is_a_failure(error: BaseException) -> None:
    found = ask_bot(raising({"x"}, error), [dialogue("x"), dialogue("y")], [0, 1])
    assert found[0].failure.startswith(f"crashed: {type(error).__name__}")
    assert found[1] == Reply("re y")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MissingDependencyError("bot", "torch", "encoder")])
def test_what_no_dialogue_is_to_blame_for_stops_all(error: BaseException) -> None:
    with pytest.raises(type(error)):
        ask_bot(raising({"x"}, error), [dialogue("x")], [0])


@pytest.mark.parametrize(
    ("speak", "failure"),
    [
        (lambda _: [], "gave 0 replies to 1"),
        (lambda _: [Reply("x")] * 3, "gave 3 replies to 1"),
        (lambda dialogues: "x" * len(dialogues), "gave str, not a list"),
        (lambda _: None, "gave NoneType, not a list"),
        (lambda dialogues: ["x"] * len(dialogues), "gave str, not a Reply"),
        (lambda dialogues: (Reply("x") for _ in dialogues), "gave generator, not a list"),
    ],
)
def test_wrong_answers_are_failures(speak: Callable[..., Any], failure: str) -> None:
    for reply in ask_bot(Made(speak), [dialogue("a"), dialogue("b")], [0, 1]):
        assert reply.text == ""
        assert failure in reply.failure


def test_a_batch_that_is_answered_short_is_asked_again_in_parts() -> None:
    bot = Made(lambda dialogues: [Reply("re " + turns[-1].text) for turns in dialogues[:2]])
    assert ask_bot(bot, [dialogue(c) for c in "abcde"], range(5)) == [Reply(f"re {c}") for c in "abcde"]


def test_no_dialogues_no_call() -> None:
    assert ask_bot(raising(set(), ValueError()), [], []) == []


def test_the_last_speaker_is_the_user_and_without_names_turns_alternate() -> None:
    assert roles(dialogue("1", "2", "3")) == ["user", "assistant", "user"]
    assert roles([Turn("1", "a"), Turn("2", "a"), Turn("3", "b")]) == ["assistant", "assistant", "user"]
    assert roles([Turn("1"), Turn("2")]) == ["assistant", "user"]
    assert roles([Turn("1", "a"), Turn("2", "a")]) == ["assistant", "user"]
    assert roles([Turn("1", "a"), Turn("2", "b"), Turn("3", "c")]) == ["user", "assistant", "user"]
    assert roles([]) == []
