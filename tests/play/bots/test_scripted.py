"""A bot that says the lines of a text file."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, create
from interloq.play.bot import Bot
from interloq.records import Turn
from interloq.registry import spec
from tests.made_files import put

SCRIPT = "# a comment\nfood | eat\tWhat do you cook?\n\nFirst.\n  Second.  \nネコ\tネコですか。\nThird.\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return put(tmp_path / "script.txt", SCRIPT)


def bot(file: Path, order: str = "random") -> Bot:
    made: Bot = create(f"scripted(file={str(file)!r},order={order!r})", kind="bot")
    assert create(spec(made), kind="bot") == made
    return made


def talk(speaker: Bot, *texts: str, seed: int = 0) -> list[str]:
    """What the bot says in a dialogue in which the other says these texts."""
    turns: list[Turn] = []
    said = []
    for text in texts:
        turns.append(Turn(text, "you"))
        said.append(speaker.replies([turns], [seed])[0].text)
        turns.append(Turn(said[-1], "me"))
    return said


def test_lines_in_order_begin_again(file: Path) -> None:
    assert talk(bot(file, "sequence"), *"abcde") == ["First.", "Second.", "Third.", "First.", "Second."]


def test_no_line_is_repeated_before_all_were_said(file: Path) -> None:
    orders = {tuple(talk(bot(file), *"abc", seed=seed)) for seed in range(40)}
    assert len(orders) == 6
    assert {tuple(sorted(order)) for order in orders} == {("First.", "Second.", "Third.")}


@pytest.mark.parametrize("order", ["random", "sequence"])
def test_words_are_answered_once(file: Path, order: str) -> None:
    speaker = bot(file, order)
    said = talk(speaker, "I love FOOD.", "What did you eat?", "seafoods", "子ネコがいる")
    assert said[0] == "What do you cook?"
    assert "What do you cook?" not in said[1:]
    assert said[3] == "ネコですか。"


def test_the_signature_is_of_the_lines(file: Path, tmp_path: Path) -> None:
    moved = put(tmp_path / "moved.txt", SCRIPT)
    assert bot(file).signature() == bot(moved).signature()
    assert bot(file).signature() != bot(put(tmp_path / "other.txt", "Other.\n")).signature()
    assert bot(file).signature() != bot(file, "sequence").signature()


def test_bad_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        bot(tmp_path / "missing.txt").signature()
    with pytest.raises(InputError, match="no line that is always possible"):
        bot(put(tmp_path / "a.txt", "# only\nfood\tanswers\n")).signature()
    with pytest.raises(InputError, match="UTF-8"):
        bot(put(tmp_path / "b.txt", b"\xff\n")).signature()
