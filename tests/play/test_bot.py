"""What all bots share, and the small ones: checks, guarding, echo, eliza and functions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError, MissingDependencyError, create, spec
from interloq.models.replies import Reply, one_line
from interloq.play.bot import CRASHES, checked, crashed, guarded, roles
from interloq.records import Turn
from interloq.registry import names

SPECS = [
    "echo",
    "eliza",
    "eliza(language='ja')",
    "endpoint(url='http://localhost:8000/v1',model='m',key='',rate=30.0)",
    "function(path='bots:speak',batch=4)",
    "hf(model='folder',temperature=0.5,chat=False,separator='eos')",
    "process(command=('program', '--flag'),workers=2)",
    "replay(dialogues='file.jsonl',system='a')",
    "retrieval(index='index',k=3)",
]


def dialogue(*texts: str) -> list[Turn]:
    return [Turn(text, "ab"[i % 2]) for i, text in enumerate(texts)]


@pytest.mark.parametrize("text", SPECS)
def test_specs_come_back(text: str) -> None:
    bot = create(text, kind="bot")
    assert spec(bot) == text
    assert create(spec(bot), kind="bot") == bot
    assert {create(text, kind="bot"): 1}[bot] == 1


def test_every_registered_bot_is_among_these() -> None:
    assert set(names("bot")) == {text.split("(")[0] for text in SPECS}


# ---- checks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", "\u2003"])
def test_blank_text_is_empty(text: str) -> None:
    assert checked(Reply(text)) == Reply("", "empty")


def test_a_known_failure_is_kept_when_text_is_empty() -> None:
    assert checked(Reply("", "timed out")) == Reply("", "timed out")


def test_long_text_is_cut_with_a_note() -> None:
    assert checked(Reply("x" * 4_000)) == Reply("x" * 4_000)
    assert checked(Reply("x" * 4_001)) == Reply("x" * 4_000, "too long")
    assert checked(Reply("abc"), longest=2) == Reply("ab", "too long")
    assert checked(Reply("  abc"), longest=2) == Reply("", "too long")


def test_what_no_json_can_hold_is_replaced() -> None:
    reply = checked(Reply("a\0b\ud83dc"))
    assert reply.text == "a\ufffdb\ufffdc"
    assert "cannot be written" in reply.failure
    assert checked(Reply("\x1b[31mred\x07 😀\u202e")) == Reply(
        "\x1b[31mred\x07 😀\u202e"
    )  # shown escaped, kept as it is


@given(st.text(st.characters()) | st.text("\0\ud800\udfff a;\n", max_size=20), st.text(max_size=50))
def test_a_checked_reply_has_text_or_a_failure_and_can_be_written(text: str, failure: str) -> None:
    reply = checked(Reply(text, failure))
    assert orjson.loads(orjson.dumps([reply.text, reply.failure])) == [reply.text, reply.failure]
    assert reply.text.strip() or (reply.text == "" and reply.failure)
    assert checked(reply) == reply
    assert "\n" not in reply.failure


@pytest.mark.parametrize("wrong", [None, 7, "text", b"bytes", ["text"], Reply(None), Reply(b"x"), Reply("x", 3)])  # type: ignore[arg-type]
def test_wrong_types_are_failures(wrong: Any) -> None:
    reply = checked(wrong)
    assert reply.text == ""
    assert reply.failure.startswith("the bot gave")


def test_messages_stand_on_one_line() -> None:
    assert one_line("a\n\x1b[0m b\u2028c; d\ud800") == "a [0m b c, d"
    assert one_line("x" * 1_000) == "x" * 299 + "…"
    assert crashed(ValueError("")) == Reply("", "crashed: ValueError")


# ---- guarding --------------------------------------------------------------------------------------------------------


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
    found = guarded(bot, [dialogue(str(i)) for i in range(n)], list(range(n)))
    for i, reply in enumerate(found):
        assert reply == (Reply("", "crashed: ValueError: no way") if i in guilty else Reply(f"re {i}"))


def test_a_bot_that_always_crashes_is_soon_left_alone() -> None:
    calls: list[int] = []
    bot = raising({"x"}, RuntimeError("broken"), calls)
    assert guarded(bot, [dialogue("x")] * 512, [0] * 512) == [Reply("", "crashed: RuntimeError: broken")] * 512
    assert len(calls) < 2 * CRASHES


@pytest.mark.parametrize(
    "error", [SystemExit(3), RecursionError("deep"), MemoryError(), InputError("bad", hint="mend")]
)
def test_any_error_is_a_failure(error: BaseException) -> None:
    found = guarded(raising({"x"}, error), [dialogue("x"), dialogue("y")], [0, 1])
    assert found[0].failure.startswith(f"crashed: {type(error).__name__}")
    assert found[1] == Reply("re y")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MissingDependencyError("bot", "torch", "encoder")])
def test_what_no_dialogue_is_to_blame_for_stops_all(error: BaseException) -> None:
    with pytest.raises(type(error)):
        guarded(raising({"x"}, error), [dialogue("x")], [0])


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
    for reply in guarded(Made(speak), [dialogue("a"), dialogue("b")], [0, 1]):
        assert reply.text == ""
        assert failure in reply.failure


def test_a_batch_that_is_answered_short_is_asked_again_in_parts() -> None:
    bot = Made(lambda dialogues: [Reply("re " + turns[-1].text) for turns in dialogues[:2]])
    assert guarded(bot, [dialogue(c) for c in "abcde"], range(5)) == [Reply(f"re {c}") for c in "abcde"]


def test_no_dialogues_no_call() -> None:
    assert guarded(raising(set(), ValueError()), [], []) == []


# ---- roles -----------------------------------------------------------------------------------------------------------


def test_the_last_speaker_is_the_user() -> None:
    assert roles(dialogue("1", "2", "3")) == ["user", "assistant", "user"]
    assert roles([Turn("1", "a"), Turn("2", "a"), Turn("3", "b")]) == ["assistant", "assistant", "user"]


def test_without_names_turns_alternate() -> None:
    assert roles([Turn("1"), Turn("2")]) == ["assistant", "user"]
    assert roles([Turn("1", "a"), Turn("2", "a")]) == ["assistant", "user"]
    assert roles([Turn("1", "a"), Turn("2", "b"), Turn("3", "c")]) == ["user", "assistant", "user"]
    assert roles([]) == []


# ---- echo and eliza --------------------------------------------------------------------------------------------------


def test_echo_repeats() -> None:
    echo = create("echo", kind="bot")
    assert echo.replies([dialogue("a", "b"), []], [1, 2]) == [Reply("b"), Reply("", "nothing to answer")]
    assert echo.signature().name == "echo"


@given(st.lists(st.text(), min_size=1, max_size=4), st.integers(0, 2**63), st.sampled_from(["auto", "en", "ja", "zh"]))
def test_eliza_always_answers(texts: list[str], seed: int, language: str) -> None:
    eliza = create(f"eliza(language={language!r})", kind="bot")
    turns = [Turn(text) for text in texts]
    (reply,) = guarded(eliza, [turns], [seed])
    assert reply.text
    assert "{x}" not in reply.text or "{x}" in texts[-1]
    assert guarded(eliza, [dialogue("other"), turns], [3, seed])[1] == reply


def answers(text: str, language: str = "auto") -> set[str]:
    eliza = create(f"eliza(language={language!r})", kind="bot")
    return {reply.text for reply in eliza.replies([dialogue(text)] * 100, range(100))}


def test_eliza_turns_words_round() -> None:
    assert any("your mother" in answer for answer in answers("I want to see my mother."))
    assert any("feel you can trust me" in answer for answer in answers("I feel I can trust you"))
    assert any("ラーメンのどこ" in answer for answer in answers("ラーメンが好きです"))
    assert any("我的歌" in answer for answer in answers("我喜欢你的歌"))


def test_eliza_knows_the_language_by_its_letters() -> None:
    assert answers("寒い", "ja") == answers("寒いです", "ja")
    assert all(any("\u3040" <= c <= "\u30ff" for c in answer) for answer in answers("今日は寒いです"))
    assert all(any("\u4e00" <= c <= "\u9fff" for c in answer) for answer in answers("今天很冷"))
    assert all(answer.isascii() for answer in answers("It is cold"))


def test_eliza_says_nothing_twice_while_something_is_left() -> None:
    eliza = create("eliza", kind="bot")
    turns = dialogue("It rains.")
    said = []
    for _ in range(5):
        (reply,) = eliza.replies([turns], [1])
        said.append(reply.text)
        turns = [*turns, Turn(reply.text, "b"), Turn("It rains.", "a")]
    assert len(set(said)) == 5
    assert eliza.replies([turns], [1])[0].text in said
    assert eliza.replies([[]], [1]) == [Reply("", "nothing to answer")]


# ---- functions -------------------------------------------------------------------------------------------------------

BOTS = """
import sys
from interloq.models.replies import Reply

def speak(turns, seed):
    return f"{turns[-1].text} {seed}"

def many(dialogues, seeds):
    return [speak(*each) for each in zip(dialogues, seeds)]

def short(dialogues, seeds):
    return many(dialogues, seeds)[1:]

def crash(turns, seed):
    if turns[-1].text == "bad":
        raise KeyError("no; such\\nthing")
    if turns[-1].text == "exit":
        sys.exit(1)
    return Reply("fine", "a note")

def wrong(turns, seed):
    return 7

class Bots:
    @staticmethod
    def hello(turns, seed):
        turns.clear()
        return "hello"

NUMBER = 3
"""


@pytest.fixture
def module(folder: Path) -> Any:
    (folder / "functions_of_a_user.py").write_text(BOTS)
    yield
    sys.modules.pop("functions_of_a_user", None)


def function(name: str, batch: int = 0) -> Any:
    return create(f"function(path='functions_of_a_user:{name}',batch={batch})", kind="bot")


def test_a_function_speaks(module: None) -> None:
    expected = [Reply("a 1"), Reply("b 2"), Reply("c 3")]
    dialogues = [dialogue(c) for c in "abc"]
    assert function("speak").replies(dialogues, [1, 2, 3]) == expected
    assert function("many", batch=2).replies(dialogues, [1, 2, 3]) == expected
    turns = dialogue("a")
    assert function("Bots.hello").replies([turns], [1]) == [Reply("hello")]
    assert len(turns) == 1


def test_functions_fail_for_their_own_dialogue_only(module: None) -> None:
    found = guarded(function("crash"), [dialogue("bad"), dialogue("ok"), dialogue("exit")], [0] * 3)
    assert [reply.failure for reply in found] == [
        "crashed: KeyError: 'no, such\\nthing'",
        "a note",
        "crashed: SystemExit: 1",
    ]
    assert function("wrong").replies([dialogue("x")], [0]) == [Reply("", "the function gave int, not text")]
    (reply,) = guarded(function("short", batch=4), [dialogue("x")], [0])
    assert "gave 0 replies to 1 dialogues" in reply.failure


@pytest.mark.parametrize("path", ["functions_of_a_user:nothing", "no_such_module:f", "functions_of_a_user:NUMBER"])
def test_what_is_no_function_is_said_early(module: None, path: str) -> None:
    with pytest.raises(InputError, match="module:function"):
        create(f"function(path={path!r})", kind="bot").signature()


def test_a_path_without_a_function() -> None:
    with pytest.raises(InputError, match="names no function"):
        create("function(path='functions_of_a_user')", kind="bot")


def test_a_functions_signature_follows_its_file(module: None, folder: Path) -> None:
    before = function("speak").signature()
    assert function("speak").signature() == before
    (folder / "functions_of_a_user.py").write_text(BOTS + "\n# changed\n")
    assert function("speak").signature() != before
    assert sys.path.count(str(folder)) == 0
