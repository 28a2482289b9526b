"""Scoring a file of samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.cli.main import main
from interloq.data.jsonl import Rejected
from interloq.pipelines.score_file import score_file


def test_bad_lines_go_to_the_caller_or_stop(files: Path) -> None:
    with Path("samples.jsonl").open("a") as file:
        file.write("{\n")
    rejected: list[Rejected] = []
    scored = score_file("samples.jsonl", ["length"], on_reject=rejected.append)
    assert scored.results[0][""].n == 4
    assert [(bad.path, bad.where) for bad in rejected] == [("samples.jsonl", "samples.jsonl:6")]
    with pytest.raises(InputError, match="not valid JSON"):
        score_file("samples.jsonl", ["length"], strict=True)


def test_bad_lines_of_each_file_are_counted(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, metric in (("a.jsonl", "length"), ("b.jsonl", "bleu")):
        score_file("samples.jsonl", [metric], name)
        with Path(name).open("a") as file:
            file.write("{\n")
    assert main(["meta", "a.jsonl", "b.jsonl", "--samples", "samples.jsonl", "--bootstrap", "0", "--no-compare"]) == 1
    said = capsys.readouterr().err
    assert "1 bad line of a.jsonl set aside in a.rejected.jsonl" in said
    assert "1 bad line of b.jsonl set aside in b.rejected.jsonl" in said
