"""Pairs from a file of dialogues."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Dialogue, InputError, Turn, write
from interloq.data.corpus.pairs_file import pairs_file
from interloq.data.records.jsonl import Rejected, header, load


def test_every_turn_after_the_first_answers(folder: Path) -> None:
    talks = [Dialogue("d", [Turn("a", "x"), Turn("b", "y"), Turn("c", "x")]), Dialogue("e", [Turn("alone")])]
    write("talks.jsonl", talks, kind="dialogues")
    with (folder / "talks.jsonl").open("a") as file:
        file.write("{broken\n")
    bad: list[Rejected] = []
    assert pairs_file("talks.jsonl", "pairs.jsonl", on_reject=bad.append) == 2
    assert [(pair.utterance, pair.response) for pair in load("pairs.jsonl", kind="pairs")] == [("a", "b"), ("b", "c")]
    assert header("pairs.jsonl")["kind"] == "pairs"
    assert len(bad) == 1
    with pytest.raises(InputError):
        pairs_file("talks.jsonl", "other.jsonl", strict=True)
    assert not Path("other.jsonl").exists()
