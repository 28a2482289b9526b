from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from interloq import Sample, load, write
from interloq.cli.main import main
from interloq.data.embedded import embedded_path
from interloq.data.records.jsonl import header
from tests.cli.made_runs import pairs, run_json
from tests.made_pages import page_commands, run_code, run_commands

Captured = pytest.CaptureFixture[str]


def test_extend_writes_samples_with_references_and_counts(index: str, capsys: Captured) -> None:
    assert main(["extend", "samples.jsonl", "--index", index, "-o", "out.jsonl.gz"]) == 0
    said = capsys.readouterr().out
    assert "out.jsonl.gz: 11 samples with 165 retrieved replies" in said
    assert "utterance is a turn of the sample" in said
    before, after = load("samples.jsonl"), load("out.jsonl.gz")
    assert [s.id for s in after] == [s.id for s in before]
    assert {len(s.references) for s in after} == {17}
    assert "retrieved:p5" not in {r.source for r in after[-1].references}
    assert header("out.jsonl.gz")["dataset"] == "made"
    (extended,) = header("out.jsonl.gz")["extended"]
    assert extended["signature"]["parts"]["k"] == "15"


def test_options_reach_the_function(index: str, capsys: Captured) -> None:
    Path("ids.txt").write_text("p0\n\n p2 \n")
    command = ["extend", "samples.jsonl", "--index", index, "-o", "out.jsonl", "-k", "4", "--no-parrot", "--no-gold"]
    facts = run_json(capsys, *command, "--exclude", "ids.txt", "--diversity", "0.5", "--turns", "2")
    assert facts["counts"]["dropped"]["id"]["samples"] >= 1
    samples = load("out.jsonl")
    assert {len(s.references) for s in samples} == {4}
    sources = {r.source for s in samples for r in s.references}
    assert not {"gold", "parrot", "retrieved:p0", "retrieved:p2"} & sources
    plain = run_json(capsys, *command)
    assert plain["signature"] != facts["signature"]


def test_a_check_measures_the_log_and_writes_nothing(index: str, capsys: Captured) -> None:
    before = sorted(Path().iterdir())
    assert main(["extend", "samples.jsonl", "--index", index, "--check"]) == 0
    text = capsys.readouterr().out
    assert "11 contexts compared with 2,400 pairs" in text
    assert "(0.5: chance)" in text
    assert sorted(Path().iterdir()) == before
    overlap = run_json(capsys, "extend", "samples.jsonl", "--index", index, "--check")
    assert 0 <= overlap["utterance_ci"][0] <= overlap["utterance"] <= overlap["utterance_ci"][1] <= 1


def test_a_check_says_what_it_cannot_tell(index: str, capsys: Captured) -> None:
    assert main(["extend", "samples.jsonl", "--index", index, "--check", "-o", "extended.jsonl"]) == 2
    assert "--check writes nothing" in capsys.readouterr().err
    for name, samples in (("bare", [Sample("a", ["did you sleep well"], "yes")]), ("silent", [Sample("a", [], "yes")])):
        write(f"{name}.jsonl", samples, kind="samples")
        assert main(["extend", f"{name}.jsonl", "--index", index, "--check"]) == 1
        text = capsys.readouterr().out
        assert "no gold replies to compare" in text
        assert ("words shared" in text) == (name == "bare")
    samples = [Sample(str(i), [f"did you sleep {word}"], "yes", ["zebra"]) for i, word in enumerate(("well", "long"))]
    write("chance.jsonl", samples, kind="samples")
    assert main(["extend", "chance.jsonl", "--index", index, "--check"]) == 0
    assert "cannot be told from chance" in capsys.readouterr().out


def test_an_output_is_needed_to_extend(index: str, capsys: Captured) -> None:
    assert main(["extend", "samples.jsonl", "--index", index]) == 2
    assert "no output file is named; add -o FILE" in capsys.readouterr().err


def test_pipes(index: str, capsys: Captured) -> None:
    command = [sys.executable, "-m", "interloq.cli", "extend", "-", "--index", index, "-o", "-", "-k", "2"]
    done = subprocess.run(command, input=Path("samples.jsonl").read_bytes(), capture_output=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["kind"] == "samples"
    assert len(lines) == 12
    assert len(lines[1]["references"]) == 4


def test_mistakes_leave_no_file(index: str, capsys: Captured) -> None:
    assert main(["extend", "samples.jsonl", "-o", "out.jsonl", "--index", index, "--exclude", "none.txt"]) == 2
    assert "cannot read none.txt" in capsys.readouterr().err
    assert not Path("out.jsonl").exists()


def test_the_commands_and_the_code_of_the_page_run(folder: Path, capsys: Captured) -> None:
    (folder / "samples.jsonl").write_bytes(embedded_path("en").read_bytes())
    write("pairs.jsonl", pairs(200), kind="pairs")
    write("more_pairs.jsonl", pairs(50, start=200), kind="pairs")
    commands = page_commands("extend.md")
    assert len(commands) >= 8
    run_commands(commands, capsys)
    assert run_code("extend.md", capsys)[0].startswith("{")
