"""`interloq signature`: a score file explained, and two compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Sample, evaluate, load, write
from interloq.cli.main import main
from interloq.score.score_file import score_file
from interloq.score.signatures import read_signatures
from tests.made_scored import score


@pytest.fixture(autouse=True)
def scored(folder: Path) -> None:
    samples = [Sample(str(i), ["hi"], "hello there you", ["hello you there"]) for i in range(3)]
    write("samples.jsonl", samples, kind="samples")
    score("bleu,length", "first.jsonl")


Captured = pytest.CaptureFixture[str]


def test_the_same_scores_have_the_same_signatures(capsys: Captured) -> None:
    score("bleu,length", "second.jsonl")
    capsys.readouterr()
    assert main(["signature", "first.jsonl", "second.jsonl"]) == 0
    assert "first.jsonl and second.jsonl have the same signatures" in capsys.readouterr().out


def test_python_and_the_command_line_sign_alike() -> None:
    assert main(["score", "samples.jsonl", "-m", "bleu", "-o", "second.jsonl", "--quiet"]) == 0
    found = read_signatures("second.jsonl")["bleu"]
    assert found == evaluate("bleu", load("samples.jsonl")).signature
    assert found == score_file("samples.jsonl", ["bleu"]).results[0][""].signature
