"""Bots that say what is recorded: transcripts and indexes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, create
from interloq.data import jsonl
from interloq.models.replies import Reply
from interloq.records import Dialogue, Pair, Turn
from interloq.retrieve.index import create_index


def turns(speakers: str, *texts: str) -> list[Turn]:
    return [Turn(text, speakers[i % 2]) for i, text in enumerate(texts)]


RECORDED = [
    Dialogue("1", turns("ab", "hi", "hello", "a1", "b1", "a2", "b2"), {"a": "A", "b": "B"}, given=2),
    Dialogue("2", turns("ab", "hi", "hello", "a1", "b1'", "a2'"), {"a": "A", "b": "B"}, given=2),
    Dialogue("3", turns("ab", "well", "b3", "a3"), {"a": "A", "b": "B"}),
]


@pytest.fixture
def recorded(folder: Path) -> str:
    jsonl.write(folder / "file.jsonl", RECORDED, kind="dialogues")
    return "file.jsonl"


def replay(system: str = "A", file: str = "file.jsonl") -> Any:
    return create(f"replay(dialogues={file!r},system={system!r})", kind="bot")


def said(bot: Any, dialogue: Sequence[Turn], seeds: int = 20) -> set[str]:
    return {reply.text or reply.failure for reply in bot.replies([dialogue] * seeds, range(seeds))}


def test_lines_come_one_after_the_other(recorded: str) -> None:
    bot = replay("B")
    assert said(bot, turns("xy", "hi", "hello", "anything")) == {"b1", "b1'"}
    assert said(bot, turns("xy", "hi", "hello", "anything", "b1", "else")) == {"b2"}
    assert said(bot, turns("xy", "hi", "hello", "anything", "b1'", "else")) == {"transcript ended"}


def test_a_transcript_that_fits_wholly_comes_first(recorded: str) -> None:
    bot = replay("A")
    assert said(bot, turns("xy", "hi", "hello")) == {"a1"}
    assert said(bot, turns("xy", "hi", "hello", "a1", "b1'")) == {"a2'"}
    assert said(bot, turns("xy", "hi", "hello", "a1", "unheard of")) == {"a2", "a2'"}
    assert said(bot, turns("xy", "hi", "hello", "a1", "b1", "a2", "b2")) == {"transcript ended"}


def test_an_opening_that_was_not_marked(recorded: str) -> None:
    assert said(replay("B"), turns("xy", "well")) == {"b3"}
    # all that A said before its first own line is the opening: nothing, because A began
    assert said(replay("A"), turns("xy", "what?")) == {"well"}
    assert said(replay("B"), turns("xy", "what?")) == {"no transcript has this opening"}


def test_both_sides_of_a_system_that_played_itself(folder: Path) -> None:
    played = Dialogue("s", turns("pq", "hi", "p1", "q1", "p2"), {"p": "S", "q": "S"}, given=1)
    jsonl.write(folder / "self.jsonl", [played], kind="dialogues")
    bot = replay("", "self.jsonl")
    assert said(bot, turns("xy", "hi")) == {"p1", "q1"}
    assert said(bot, turns("xy", "hi", "p1", "q1")) == {"p2"}


def test_what_is_no_transcript_is_said_early(recorded: str, folder: Path) -> None:
    with pytest.raises(InputError, match="of 2 systems; add system=… with one of A, B"):
        replay("").signature()
    with pytest.raises(InputError, match="no line of a system 'C'"):
        replay("C").signature()
    with pytest.raises(InputError, match="no file"):
        replay("A", "nothing.jsonl").signature()


def test_the_signature_is_the_contents(recorded: str, folder: Path) -> None:
    before = replay("A").signature()
    (folder / "copy.jsonl").write_bytes((folder / recorded).read_bytes())
    assert replay("A", "copy.jsonl").signature() == before
    jsonl.write(folder / "file.jsonl", RECORDED[:1], kind="dialogues")
    assert replay("A").signature() != before


# ---- retrieval -------------------------------------------------------------------------------------------------------

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
    query = turns("ab", "x", "how is the weather today")
    assert said(retrieval(), query) == {"it rains"}
    assert said(retrieval(k=2), query) == {"it rains", "the sun is out"}  # what is the same counts once
    assert said(retrieval(k=9), query) == {"it rains", "the sun is out", "which day is it"}


def test_nothing_is_said_twice(index: str) -> None:
    assert said(retrieval(), turns("ab", "It rains", "how is the weather today")) == {"the sun is out"}
    assert said(retrieval(), turns("ab", "which day is it", "dogs are fine", "do you like dogs")) == {"nothing found"}
    assert said(retrieval(), turns("ab", "zzz")) == {"nothing found"}
    assert said(retrieval(), turns("ab", "...")) == {"nothing found"}
    assert retrieval().replies([[]], [0]) == [Reply("", "nothing to answer")]


def test_retrieval_alone_and_in_a_batch(index: str) -> None:
    dialogues = [turns("ab", text) for text in ("weather", "today", "dogs", "like", "")]
    bot = retrieval(k=3)
    together = bot.replies(dialogues, [5, 6, 7, 8, 9])
    assert together == [bot.replies([d], [seed])[0] for d, seed in zip(dialogues, [5, 6, 7, 8, 9], strict=True)]


def test_what_is_no_index_is_said_early(index: str, folder: Path) -> None:
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
