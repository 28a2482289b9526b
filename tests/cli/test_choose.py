"""`interloq choose`, as a user runs it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import write
from interloq.cli.main import main
from tests.choose.test_choose_file import rated
from tests.cli.made_runs import run_json
from tests.made_pages import page_commands, run_code, run_commands

FAST = ["--bootstrap", "50", "--permutations", "50"]


@pytest.fixture
def files(folder: Path) -> Path:
    write("rated.jsonl", rated(), kind="samples")
    return folder


def test_the_table_the_spec_and_the_text(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["choose", "rated.jsonl", "-m", "chrf", "-m", "rouge_l", "-o", "chosen.json", *FAST]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for part in (
        "overall: Spearman's ρ with the mean judgment of 30 samples",
        "baseline: length",
        "expected: a metric chosen in this way",
        "ceiling set by the raters' reliability",
        "run it: interloq score REPLIES -m @chosen.json",
        "for a paper: We compared 2 metrics and 2 blends of them",
    ):
        assert part in out
    assert main(["score", "rated.jsonl", "-m", "@chosen.json", "--bootstrap", "0"]) == 0
    assert "chosen" in capsys.readouterr().out


def test_the_only_rated_aspect_is_used(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    renamed = [
        replace(sample, ratings=tuple(replace(r, aspect="natural") for r in sample.ratings if r.aspect == "overall"))
        for sample in rated()
    ]
    write("rated.jsonl", renamed, kind="samples")
    found = run_json(capsys, "choose", "rated.jsonl", "-m", "chrf", "--normalise", "z", *FAST)
    assert found["aspect"] == "natural"
    assert found["signature"]["parts"]["normalise"] == "z"
    assert "z-scores" in " ".join(found["notes"])


def test_functions_of_files_are_refused_before_anything_heavy_is_imported(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "interloq.choose.choose_file", None)
    assert main(["choose", "rated.jsonl", "-m", "chrf,mine.py:f"]) == 2
    assert "mine.py:f cannot be chosen" in capsys.readouterr().err


def test_a_metric_that_cannot_be_compared_is_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["choose", "rated.jsonl", "-m", "chrf", "-m", "distinct", *FAST]) == 1
    assert "not compared: distinct: it scores sets of replies" in capsys.readouterr().out


def test_the_page_in_docs_runs(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "samples.jsonl").write_bytes((files / "rated.jsonl").read_bytes())
    commands = page_commands("choose.md")
    assert len(commands) == 2
    run_commands(commands, capsys)
    assert run_code("choose.md", capsys)[0].split()[0] in ("chrf", "rouge_l", "blend")
