"""Options that several verbs have, above all --map."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import Rating, write
from interloq.cli.main import main

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    "arguments",
    [
        ["score", "FILE", "-m", "length"],
        ["explain", "7", "FILE"],
        ["data", "check", "FILE"],
        ["data", "convert", "FILE", "-o", "out.jsonl"],
        ["meta", "--samples", "FILE", "--list-aspects"],
        ["rate", "FILE", "--rater", "human(ratings='people.jsonl')", "-o", "out.jsonl"],
    ],
)
def test_every_verb_that_reads_samples_takes_a_mapping(folder: Path, arguments: list[str], capsys: Captured) -> None:
    record = {"id": "7", "said": "fine", "who": "bot", "references": ["fine"], "ratings": [4]}
    Path("replies.jsonl").write_text(json.dumps(record) + "\n")
    write("people.jsonl", [Rating(4.0, "ann", item="7/0", system="bot")], kind="ratings")
    given = [text.replace("FILE", "replies.jsonl") for text in arguments]
    assert main([*given, "--map", "response=said,system=who"]) == 0
    assert main([*given, "--map", "response=sadi"]) == 2
    said = capsys.readouterr().err
    assert "response is missing" in said or "'sadi'" in said
