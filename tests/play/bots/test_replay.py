"""Bots that say what is recorded: transcripts and indexes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, create
from interloq.data.records import jsonl
from interloq.records import Dialogue
from tests.play.made_turns import said, turns

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
