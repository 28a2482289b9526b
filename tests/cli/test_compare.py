"""`interloq compare`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.cli.main import main


@pytest.fixture
def files(folder: Path) -> Path:
    for name, words in (("old", 2), ("new", 4)):
        samples = [Sample(str(i), [f"question {i}"], "word " * (words + i % 3), system="bot") for i in range(12)]
        write(f"{name}.jsonl", samples, kind="samples")
    return folder


def test_a_table_with_notes_is_printed(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "compare old.jsonl new.jsonl -m length --lower-is-better --worst 1 --markdown summary.md"
    assert main(command.split()) == 0
    printed = capsys.readouterr().out
    assert "bot → bot" in printed
    assert "worse" in printed
    assert "got worse most:\n  0: 2.0000 → 4.0000 (length)\n    prompt: question 0\n" in printed
    assert "note: 12 samples paired by id\n" in printed
    assert (files / "summary.md").read_text().startswith("**bot → bot**")


def test_json_has_all_numbers(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "old.jsonl", "new.jsonl", "-m", "length", "--json", "--no-slices"]) == 0
    found = json.loads(capsys.readouterr().out)
    (change,) = found["changes"]
    assert (change["difference"], change["old"]["n"], change["direction"]) == (2, 12, "neither")
    assert change["verdict"] == "changed"
    assert found["signature"]["name"] == "compare"


def test_the_json_is_stored_beside_the_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "old.jsonl", "new.jsonl", "-m", "length", "--quiet"]
    assert main([*command, "--json"]) == 0
    printed = capsys.readouterr().out
    assert main([*command, "-o", "comparison.json"]) == 0
    assert "bot → bot" in capsys.readouterr().out
    assert (files / "comparison.json").read_text() == printed
    assert main([*command, "-o", "-"]) == 0
    assert capsys.readouterr().out == printed


def test_markdown_to_standard_output_replaces_the_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "old.jsonl", "new.jsonl", "-m", "length", "--markdown", "-"]) == 0
    assert capsys.readouterr().out.startswith("**bot → bot**")


def test_units_without_a_partner_are_reported_by_the_exit_code(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (files / "new.jsonl").read_text().splitlines(keepends=True)
    (files / "new.jsonl").write_text("".join(lines[:-2]))
    assert main(["compare", "old.jsonl", "new.jsonl", "-m", "length", "--quiet"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "interloq: not used: 2 samples only in the old version\n"
    assert "10 samples paired by id; 2 samples only in the old version, not used in differences" in captured.out
