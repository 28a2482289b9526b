"""Samples from a file of dialogues."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Dialogue, InputError, Turn, load, write
from interloq.data.records.jsonl import header
from interloq.play.samples_file import samples_file


@pytest.fixture
def talks(folder: Path) -> Path:
    turns = [Turn("hi", "x"), Turn("hello", "y"), Turn("bye", "x")]
    facts = {"partners": "abc", "scheme": "bipartite", "openings": "o", "exchanges": 1}
    write("talks.jsonl", [Dialogue("d", turns, {"x": "mine", "y": "theirs"})], kind="dialogues", **facts)
    return folder


def test_what_systems_said_is_written_with_the_partner_set(talks: Path) -> None:
    samples_file("talks.jsonl", "samples.jsonl", targets=["mine"])
    assert {(sample.system, sample.response) for sample in load("samples.jsonl")} <= {("mine", "hi"), ("mine", "bye")}
    assert header("samples.jsonl")["partners"] == "abc"


def test_nobody_of_that_name_is_refused(talks: Path) -> None:
    with pytest.raises(InputError, match="mime"):
        samples_file("talks.jsonl", "samples.jsonl", targets=["mime"])
    assert not (talks / "samples.jsonl").exists()
