"""`interloq gate`, as a build runs it: 0 pass, 2 refusal, 3 regression, 4 undecided, never 1."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.cli.main import main

GATE = ["gate", "old.jsonl", "new.jsonl", "-m", "length", "--higher-is-better", "--no-slices", "--quiet"]


@pytest.fixture
def files(folder: Path) -> Path:
    for name, words, more in (("old", 4, 1), ("new", 2, 2)):
        samples = [Sample(str(i), [f"question {i}"], "word " * (words + i // more % 2), system=name) for i in range(12)]
        write(f"{name}.jsonl", samples, kind="samples")
    return folder


@pytest.mark.parametrize(("margin", "code"), [("3", 0), ("0.5", 3), ("2", 4), ("0", 2)])
def test_exit_codes(files: Path, margin: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*GATE, "--margin", margin]) == code
    captured = capsys.readouterr()
    assert captured.err.count("\n") == (code == 2)
    assert bool(captured.out) == (code != 2)


def test_refusals_are_one_line_and_exit_2(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (files / "new.jsonl").open("a") as file:
        file.write('{"broken": \n')
    for command in (
        [*GATE, "--margin", "1"],
        GATE,
        ["gate", "old.jsonl", *GATE[1:], "--margin", "1"],
        [*GATE, "--bless"],
    ):
        assert main(command) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1


def test_files_for_builds_are_written(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*GATE, "--margin", "0.5", "--junit", "gate.xml", "--markdown", "gate.md", "-o", "gate.json"]) == 3
    assert "gate: regression" in capsys.readouterr().out
    found = json.loads((files / "gate.json").read_bytes())
    assert (found["exit_code"], found["outcome"]) == (3, "regression")
    assert found["verdicts"][0]["reason"].endswith("worse by more than the margin")
    assert found["comparison"]["changes"][0]["metric"] == "length"
    assert 'failures="1"' in (files / "gate.xml").read_text()
    assert (files / "gate.md").read_text().startswith("**gate: regression**")


def test_a_function_of_a_file_is_gated_if_it_is_trusted(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "import interloq\ndef words(sample): return len(sample.response.split())\n"
    (files / "mine.py").write_text(f"{code}fewer = interloq.metric(words, name='fewer', direction='lower')\n")
    rated = [Sample(str(i), [f"q {i}"], "word " * (i + 1), ratings=[i % 5 + i / 5]) for i in range(12)]
    write("rated.jsonl", rated, kind="samples")
    command = ["gate", "old.jsonl", "new.jsonl", "--no-slices", "--quiet", "--rated", "rated.jsonl", "--margin", "0.2"]
    assert main([*command, "-m", "mine.py:words"]) == 2
    assert capsys.readouterr().err.endswith("if you trust its author, add --trust\n")
    assert main([*command, "-m", "mine.py:words", "--trust"]) == 3
    assert main([*command, "-m", "mine.py:fewer", "--trust"]) == 2
    assert "scores of fewer do not get better with higher ratings" in capsys.readouterr().err
    assert main([*command[:-4], "--margin", "0.2", "-m", "mine.py:fewer", "--trust"]) == 0, "fewer words are better"


def test_markdown_to_standard_output_replaces_the_tables(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*GATE, "--margin", "0.5", "--markdown", "-"]) == 3
    printed = capsys.readouterr().out
    assert printed.startswith("**gate: regression**")
    assert printed.count("gate: regression") == 1


def test_a_version_is_blessed_and_gated(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--baseline", "base.jsonl", "--higher-is-better", "--quiet"]
    assert main(["gate", "old.jsonl", "-m", "length", "--bless", *options]) == 0
    assert capsys.readouterr().out == "base.jsonl: old, 12 samples scored by length\n"
    assert main(["gate", "new.jsonl", "--margin", "0.5", *options]) == 3
    assert main(["gate", "old.jsonl", "--margin", "0.5", *options]) == 4
    assert "note: both versions have the same replies" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--json"], [], ["-o", "-"], ["--markdown", "-"]])
def test_a_reader_that_stops_does_not_change_the_exit_code(files: Path, options: list[str]) -> None:
    program = [sys.executable, "-m", "interloq.cli", *GATE, "--margin", "0.5", *options]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.close()
        assert process.wait() == 3
