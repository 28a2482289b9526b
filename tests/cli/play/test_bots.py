"""Bots as the command line names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, spec
from interloq.cli.play.bots import named_bots


def test_names_come_from_the_option_or_the_component() -> None:
    found = named_bots(["mine=eliza", "echo", " x = echo"], None, "target")
    assert {name: spec(bot) for name, bot in found.items()} == {"mine": "eliza", "echo": "echo", "x": "echo"}
    assert found["echo"] is found["x"], "equal specs are one bot"


@pytest.mark.parametrize(
    ("file", "text"), [("b.toml", 'a = "eliza"\nb = "echo"\n'), ("b.json", '{"a": "eliza", "b": "echo"}')]
)
def test_a_file_names_bots_too(folder: Path, file: str, text: str) -> None:
    (folder / file).write_text(text)
    assert list(named_bots(["c=echo"], file, "partner")) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("b.json", '{"a": "echo", "a": "eliza"}'),
        ("b.json", "[1]"),
        ("b.json", '"a"'),
        ("b.json", '{"a": 1}'),
        ("b.json", "{"),
        ("b.toml", "a = [\n"),
        ("b.toml", "a = 1\n"),
    ],
)
def test_what_names_no_bots_is_refused(folder: Path, file: str, text: str) -> None:
    (folder / file).write_text(text)
    with pytest.raises(InputError):
        named_bots([], file, "partner")


def test_a_name_is_used_once() -> None:
    with pytest.raises(InputError, match="two targets are called 'a'"):
        named_bots(["a=echo", "a=eliza"], None, "target")
