"""The modules of `interloq.play.bots`: echo, eliza, replay, retrieval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError, create
from interloq.data.records import jsonl
from interloq.play.bot import ask_bot
from interloq.play.bots.echo import Echo
from interloq.play.schedule import self_play
from interloq.play.talk import failures, talk
from interloq.records import Dialogue, Pair, Turn
from interloq.retrieve.index import create_index
from interloq.servers.replies import Reply
from tests.play.made_talks import OPENINGS, dialogue, said


def test_an_echo_repeats_and_is_noted() -> None:
    (dialogue,) = talk(self_play("a", OPENINGS[:1]), {"a": Echo()})
    assert dialogue.failure == "a: repeats itself at turn 7; a (2): repeats itself at turn 8"
    assert failures(dialogue) == [("a", "repeats itself at turn 7"), ("a", "repeats itself at turn 8")]


def test_echo_repeats() -> None:
    echo = create("echo", kind="bot")
    assert echo.replies([dialogue("a", "b"), []], [1, 2]) == [Reply("b"), Reply("", "nothing to answer")]
    assert echo.signature().name == "echo"


@given(st.lists(st.text(), min_size=1, max_size=4), st.integers(0, 2**63), st.sampled_from(["auto", "en", "ja", "zh"]))
def test_eliza_always_answers(texts: list[str], seed: int, language: str) -> None:
    eliza = create(f"eliza(language={language!r})", kind="bot")
    turns = [Turn(text) for text in texts]
    (reply,) = ask_bot(eliza, [turns], [seed])
    assert reply.text
    assert "{x}" not in reply.text or "{x}" in texts[-1]
    assert ask_bot(eliza, [dialogue("other"), turns], [3, seed])[1] == reply


def answers(text: str, language: str = "auto") -> set[str]:
    eliza = create(f"eliza(language={language!r})", kind="bot")
    return {reply.text for reply in eliza.replies([dialogue(text)] * 100, range(100))}


def test_eliza_turns_words_round_in_the_language_of_the_letters() -> None:
    assert any("your mother" in answer for answer in answers("I want to see my mother."))
    assert any("feel you can trust me" in answer for answer in answers("I feel I can trust you"))
    assert any("ラーメンのどこ" in answer for answer in answers("ラーメンが好きです"))
    assert any("我的歌" in answer for answer in answers("我喜欢你的歌"))
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


RECORDED = [
    Dialogue("1", dialogue("hi", "hello", "a1", "b1", "a2", "b2", speakers="ab"), {"a": "A", "b": "B"}, given=2),
    Dialogue("2", dialogue("hi", "hello", "a1", "b1'", "a2'", speakers="ab"), {"a": "A", "b": "B"}, given=2),
    Dialogue("3", dialogue("well", "b3", "a3", speakers="ab"), {"a": "A", "b": "B"}),
]


@pytest.fixture
def recorded(folder: Path) -> str:
    jsonl.write(folder / "file.jsonl", RECORDED, kind="dialogues")
    return "file.jsonl"


def replay(system: str = "A", file: str = "file.jsonl") -> Any:
    return create(f"replay(dialogues={file!r},system={system!r})", kind="bot")


def test_lines_come_one_after_the_other(recorded: str) -> None:
    bot = replay("B")
    assert said(bot, dialogue("hi", "hello", "anything")) == {"b1", "b1'"}
    assert said(bot, dialogue("hi", "hello", "anything", "b1", "else")) == {"b2"}
    assert said(bot, dialogue("hi", "hello", "anything", "b1'", "else")) == {"transcript ended"}


def test_a_transcript_that_fits_wholly_comes_first(recorded: str) -> None:
    bot = replay("A")
    assert said(bot, dialogue("hi", "hello")) == {"a1"}
    assert said(bot, dialogue("hi", "hello", "a1", "b1'")) == {"a2'"}
    assert said(bot, dialogue("hi", "hello", "a1", "unheard of")) == {"a2", "a2'"}
    assert said(bot, dialogue("hi", "hello", "a1", "b1", "a2", "b2")) == {"transcript ended"}


def test_an_opening_that_was_not_marked(recorded: str) -> None:
    assert said(replay("B"), dialogue("well")) == {"b3"}
    # all that A said before its first own line is the opening: nothing, because A began
    assert said(replay("A"), dialogue("what?")) == {"well"}
    assert said(replay("B"), dialogue("what?")) == {"no transcript has this opening"}


def test_both_sides_of_a_system_that_played_itself(folder: Path) -> None:
    played = Dialogue("s", dialogue("hi", "p1", "q1", "p2", speakers="pq"), {"p": "S", "q": "S"}, given=1)
    jsonl.write(folder / "self.jsonl", [played], kind="dialogues")
    bot = replay("", "self.jsonl")
    assert said(bot, dialogue("hi")) == {"p1", "q1"}
    assert said(bot, dialogue("hi", "p1", "q1")) == {"p2"}


def test_what_is_not_a_transcript_is_reported_early(recorded: str, folder: Path) -> None:
    with pytest.raises(InputError, match="by 2 systems; add system=… with one of A, B"):
        replay("").signature()
    with pytest.raises(InputError, match="no turn of a system 'C'"):
        replay("C").signature()
    with pytest.raises(InputError, match="no file"):
        replay("A", "nothing.jsonl").signature()


def test_the_signature_is_the_contents(recorded: str, folder: Path) -> None:
    before = replay("A").signature()
    (folder / "copy.jsonl").write_bytes((folder / recorded).read_bytes())
    assert replay("A", "copy.jsonl").signature() == before
    jsonl.write(folder / "file.jsonl", RECORDED[:1], kind="dialogues")
    assert replay("A").signature() != before


PAIRS = [
    Pair("1", "how is the weather today", "it rains"),
    Pair("2", "the weather today", "It  RAINS"),
    Pair("3", "weather today", "the sun is out"),
    Pair("4", "today", "which day is it"),
    Pair("5", "do you like dogs", "dogs are fine"),
    Pair("6", "do you like cats", " "),
]


@pytest.fixture
def index(folder: Path) -> str:
    create_index("index", "bm25").add(PAIRS, source="pairs")
    return "index"


def retrieval(k: int = 1, index: str = "index") -> Any:
    return create(f"retrieval(index={index!r},k={k})", kind="bot")


def test_the_nearest_utterances_response(index: str) -> None:
    query = dialogue("x", "how is the weather today")
    assert said(retrieval(), query) == {"it rains"}
    assert said(retrieval(k=2), query) == {"it rains", "the sun is out"}  # what is the same counts once
    assert said(retrieval(k=9), query) == {"it rains", "the sun is out", "which day is it"}


def test_nothing_is_said_twice(index: str) -> None:
    assert said(retrieval(), dialogue("It rains", "how is the weather today")) == {"the sun is out"}
    assert said(retrieval(), dialogue("which day is it", "dogs are fine", "do you like dogs")) == {"nothing found"}
    assert said(retrieval(), dialogue("zzz")) == {"nothing found"}
    assert said(retrieval(), dialogue("...")) == {"nothing found"}
    assert retrieval().replies([[]], [0]) == [Reply("", "nothing to answer")]


def test_retrieval_alone_and_in_a_batch(index: str) -> None:
    dialogues = [dialogue(text) for text in ("weather", "today", "dogs", "like", "")]
    bot = retrieval(k=3)
    together = bot.replies(dialogues, [5, 6, 7, 8, 9])
    assert together == [bot.replies([d], [seed])[0] for d, seed in zip(dialogues, [5, 6, 7, 8, 9], strict=True)]


def test_what_is_not_an_index_is_reported_early(index: str, folder: Path) -> None:
    with pytest.raises(InputError, match="interloq index build"):
        retrieval(index="nothing").signature()
    create_index("both", "bm25(target='both')").add(PAIRS, source="pairs")
    with pytest.raises(InputError, match="target='utterance'"):
        retrieval(index="both").signature()
    with pytest.raises(InputError, match="k must be"):
        retrieval(k=0)


def test_an_index_signs_its_size_not_its_place(index: str, folder: Path) -> None:
    before = retrieval().signature()
    assert before.parts["pairs"] == "6"
    (folder / "index").rename(folder / "moved")
    assert retrieval(index="moved").signature() == before
    create_index("moved", "bm25").add([Pair("7", "more", "and more")], source="others")
    assert retrieval(index="moved").signature() != before


def test_a_small_log_is_indexed_by_the_bot(folder: Path) -> None:
    pytest.importorskip("numba")
    pairs = [Pair("1", "how was the food ?", "very good ."), Pair("2", "how was the song ?", "too loud .")]
    jsonl.write(folder / "pairs.jsonl", pairs, kind="pairs")
    jsonl.write(folder / "char.jsonl", pairs, kind="pairs", retriever="bm25(tokenizer='char')")
    plain, char = (create(f"retrieval(index='{name}.jsonl')", kind="bot") for name in ("pairs", "char"))
    for bot in (plain, char):
        assert said(bot, dialogue("what about the food ?")) == {"very good ."}
    parts = dict(char.signature().parts)
    assert parts["retriever"].startswith("bm25(")
    assert "tokenizer='char" in parts["retriever"]
    assert parts["pairs"] == "2"
    assert "13a" in dict(plain.signature().parts)["retriever"]
    assert said(create("retrieval(index='pairs.jsonl',k=2)", kind="bot"), dialogue("how was the")) == {
        "very good .",
        "too loud .",
    }
    with pytest.raises(InputError, match=r"no index 'missing\.jsonl'"):
        create("retrieval(index='missing.jsonl')", kind="bot").signature()
