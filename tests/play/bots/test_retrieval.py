"""The bot `retrieval`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, create
from interloq.records import Pair
from interloq.retrieve.index import create_index
from interloq.servers.replies import Reply
from tests.play.made_turns import said, turns

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
