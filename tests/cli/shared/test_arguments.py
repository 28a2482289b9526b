"""Options that several verbs have, above all --map."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from interloq import Rating, write
from interloq.cli.main import main
from interloq.cli.shared.arguments import add_common, add_drop_own_replies, add_without_system

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


def test_options_of_every_verb() -> None:
    parser = argparse.ArgumentParser()
    for add in (add_common, add_drop_own_replies, add_without_system):
        add(parser)
    given = parser.parse_args(["--json", "--without-system", "a", "--without-system", "b"])
    assert (given.json, given.strict, given.quiet, given.drop_own_replies) == (True, False, False, False)
    assert given.without_system == ["a", "b"]
