"""The verb signature."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.cli.main import main
from tests.made_scored import score


@pytest.fixture(autouse=True)
def scored(folder: Path) -> None:
    samples = [Sample(str(i), ["hi"], "hello there you", ["hello you there"]) for i in range(3)]
    write("samples.jsonl", samples, kind="samples")
    score("bleu,length", "first.jsonl")


Captured = pytest.CaptureFixture[str]


def test_one_file_is_explained_part_by_part(capsys: Captured) -> None:
    capsys.readouterr()
    assert main(["signature", "first.jsonl"]) == 0
    shown = capsys.readouterr().out
    assert "are left blank): bleu(order=4," in shown
    assert "  references (references per sample): 1\n" in shown
    assert shown.count("(version of Interloq)") == 2
    assert main(["signature", "first.jsonl", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["bleu"]["parts"]["seed"] == "0"
    assert f"bleu: {facts['bleu']['short']}" in shown


def test_what_differs_is_named(capsys: Captured) -> None:
    score("bleu,chrf", "second.jsonl", "--seed", "7")
    capsys.readouterr()
    assert main(["signature", "first.jsonl", "second.jsonl", "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert not facts["same"]
    assert facts["differences"][0] == {"metric": "bleu", "part": "seed", "first": "0", "second": "7"}
    assert [(d["metric"], d["part"], d["first"] is None) for d in facts["differences"][1:]] == [
        ("length", "whole signature", False),
        ("chrf", "whole signature", True),
    ]
    assert main(["signature", "first.jsonl", "second.jsonl"]) == 1
    assert capsys.readouterr().out.startswith("bleu: seed\n  first.jsonl   0\n  second.jsonl  7\n")


def test_two_files_of_one_metric_each_are_compared_under_any_name(capsys: Captured) -> None:
    score("bleu", "one.jsonl")
    score("B=bleu", "other.jsonl")
    capsys.readouterr()
    assert main(["signature", "one.jsonl", "other.jsonl"]) == 0


def test_lines_of_an_earlier_version_are_told_and_compared_whole(capsys: Captured) -> None:
    line = "bleu(order=4)|samples:abc|version:0.1.0"
    write("old.jsonl", [], kind="scores", results=[{"metric": "bleu", "signature": line}])
    write("older.jsonl", [], kind="scores", metric="bleu", signature=line)
    capsys.readouterr()
    assert main(["signature", "old.jsonl"]) == 0
    assert f"score again to see its parts): {line}" in capsys.readouterr().out
    assert main(["signature", "old.jsonl", "older.jsonl"]) == 0
    score("bleu", "one.jsonl")
    capsys.readouterr()
    assert main(["signature", "old.jsonl", "one.jsonl"]) == 1
    assert capsys.readouterr().out.startswith("bleu: whole signature\n")


def test_a_file_without_signatures_is_refused(capsys: Captured) -> None:
    assert main(["signature", "samples.jsonl"]) == 2
    assert "samples.jsonl: this is a file of samples, not of scores" in capsys.readouterr().err
