"""Small verbs as a user runs them: cite, describe, new, probe, signature."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.cli import demo
from interloq.cli.main import main
from interloq.demo.logs import DemoStep
from interloq.describe import describe_all
from interloq.registry import names
from tests.cli.made_runs import run_json
from tests.made_scored import score

Captured = pytest.CaptureFixture[str]


# ---- cite ------------------------------------------------------------------------------------------------------------


def test_bibtex_and_json(folder: Path, samples: list[Sample], capsys: Captured) -> None:
    write("samples.jsonl", samples, kind="samples")
    for name in ("bleu", "meteor"):
        assert main(["score", "samples.jsonl", "-m", name, "-o", f"{name}.jsonl", "--bootstrap", "0"]) == 0
    capsys.readouterr()
    assert main(["cite", "bleu.jsonl", "meteor.jsonl"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("% bleu: papineni-etal-2002-bleu")
    assert "@inproceedings{banerjee-lavie-2005-meteor," in out
    assert run_json(capsys, "cite", "bleu.jsonl")["metrics"] == {"bleu": ["papineni-etal-2002-bleu", "post-2018-call"]}
    assert main(["cite", "samples.jsonl"]) == 2
    assert "a file of samples, not of scores" in capsys.readouterr().err


# ---- describe --------------------------------------------------------------------------------------------------------


def test_a_metric_tells_its_paper_formula_needs_and_fields(capsys: Captured) -> None:
    assert main(["describe", "bertscore"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("bertscore (metric): BERTScore (Zhang et al., 2020)")
    assert "P = Σ_a s_a · max_b cos(a, b)" in out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for line in (
        "better: higher",
        "needs: references; model: an encoder; interloq[ready or encoder]",
        "spec: bertscore(model=…)",
    ):
        assert line in lines
    assert any(line.startswith("part 'p', 'r' or 'f' 'f'") for line in lines)


def test_json_is_the_same_for_machines(capsys: Captured) -> None:
    found = run_json(capsys, "describe", "BLEU(order=2)")
    assert (found["kind"], found["name"], found["settings"][0]["default"]) == ("metric", "bleu", "4")
    assert len(run_json(capsys, "describe")) == len(describe_all())


def test_alone_it_lists_everything_by_kind(capsys: Captured) -> None:
    assert main(["describe"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")][:-1] == [
        "bots:", "metrics:", "raters:", "retrievers:", "tokenizers:"
    ]  # fmt: skip
    assert {line.split()[0] for line in lines if line.startswith("  ")} >= {*names("metric"), *names("bot")}


# ---- new -------------------------------------------------------------------------------------------------------------


def test_a_new_folder(folder: Path, capsys: Captured) -> None:
    assert main(["new", "mine", "--language", "ja"]) == 0
    assert "Start with mine/README.md" in capsys.readouterr().out
    assert "tokenizer='char'" in Path("mine", "Makefile").read_text()
    assert main(["new", "mine"]) == 2
    assert capsys.readouterr().err.startswith("interloq: mine already exists")


# ---- probe -----------------------------------------------------------------------------------------------------------


def test_probe_prints_a_table_with_verdicts(capsys: Captured) -> None:
    assert main(["probe", "chrf", "--bootstrap", "100"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("chrf: 30 replies, each changed in 19 ways")
    assert "like a harmless change" in out
    assert "signature: " in out


def test_exit_codes_of_probe(folder: Path, capsys: Captured) -> None:
    write("bare.jsonl", [Sample("1", ["hi"], "hello there")], kind="samples")
    assert main(["probe", "bleu", "bare.jsonl"]) == 1
    assert "unscored: shuffle: 1 reply" in capsys.readouterr().out
    assert main(["probe", "blue"]) == 2
    assert capsys.readouterr().err == "interloq: unknown metric 'blue'; did you mean 'bleu'?\n"


# ---- signature -------------------------------------------------------------------------------------------------------


@pytest.fixture
def scored(folder: Path) -> None:
    samples = [Sample(str(i), ["hi"], "hello there you", ["hello you there"]) for i in range(3)]
    write("samples.jsonl", samples, kind="samples")
    score("bleu,length", "first.jsonl")


def test_one_file_is_explained_part_by_part(scored: None, capsys: Captured) -> None:
    capsys.readouterr()
    assert main(["signature", "first.jsonl"]) == 0
    shown = capsys.readouterr().out
    assert "are left blank): bleu(order=4," in shown
    assert "  references (references per sample): 1\n" in shown
    assert shown.count("(version of Interloq)") == 2
    facts = run_json(capsys, "signature", "first.jsonl")
    assert facts["bleu"]["parts"]["seed"] == "0"
    assert f"bleu: {facts['bleu']['short']}" in shown


def test_what_differs_is_named(scored: None, capsys: Captured) -> None:
    score("bleu,chrf", "second.jsonl", "--seed", "7")
    capsys.readouterr()
    facts = run_json(capsys, "signature", "first.jsonl", "second.jsonl", code=1)
    assert not facts["same"]
    assert facts["differences"][0] == {"metric": "bleu", "part": "seed", "first": "0", "second": "7"}
    assert [(d["metric"], d["part"], d["first"] is None) for d in facts["differences"][1:]] == [
        ("length", "whole signature", False),
        ("chrf", "whole signature", True),
    ]
    assert main(["signature", "first.jsonl", "second.jsonl"]) == 1
    assert capsys.readouterr().out.startswith("bleu: seed\n  first.jsonl   0\n  second.jsonl  7\n")


def test_two_files_of_one_metric_each_are_compared_under_any_name(scored: None, capsys: Captured) -> None:
    score("bleu", "one.jsonl")
    score("B=bleu", "other.jsonl")
    capsys.readouterr()
    assert main(["signature", "one.jsonl", "other.jsonl"]) == 0


def test_lines_of_an_earlier_version_are_told_and_compared_whole(scored: None, capsys: Captured) -> None:
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


def test_the_json_is_stored_beside_the_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "old.jsonl", "new.jsonl", "-m", "length", "--quiet"]
    facts = run_json(capsys, *command, "--no-slices")
    (change,) = facts["changes"]
    assert (change["difference"], change["old"]["n"], change["verdict"]) == (2, 12, "changed")
    assert main([*command, "-o", "comparison.json", "--no-slices"]) == 0
    assert "bot → bot" in capsys.readouterr().out
    assert json.loads((files / "comparison.json").read_text()) == facts
    assert main([*command, "-o", "-", "--no-slices"]) == 0
    assert json.loads(capsys.readouterr().out) == facts


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


def test_a_step_says_why_shows_its_command_and_prints_its_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[object] = []
    monkeypatch.setattr(demo, "_show", lambda _, result: shown.append(result))
    demo._run(DemoStep("to see", ["score", "a b.jsonl"], lambda _: 7), quiet=True)
    assert capsys.readouterr().out == "\n# to see\n$ interloq score 'a b.jsonl'\n"
    assert shown == [7]
