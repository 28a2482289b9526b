"""`interloq train relevance` and `train valid` as a user runs them; one folder of examples for all parts of USL-H."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from interloq import Sample, evaluate, load, write
from interloq.cli.main import main
from tests.cli.made_runs import run_json
from tests.made_relevance import talks, tiny_encoder

SMALL = ["--batch", "32", "--context", "24", "--reply", "12", "--learning-rate", ".003", "--device", "cpu"]
SMALL += ["--encoder", "encoder", "--epochs", "1"]
QUICK = ["--learning-rate", ".003", "--device", "cpu", "--epochs", "1", "--batch", "32"]
SCORER = ["--encoder", "encoder", "--reply", "12", *QUICK]


@pytest.fixture
def work(folder: Path) -> Path:
    tiny_encoder(folder / "encoder")
    rows = [{"id": f"talk{i}", "turns": [{"text": text} for text in turns]} for i, turns in enumerate(talks(40))]
    write_lines(folder / "talks.jsonl", rows)
    found = [{"utterance": first, "response": second} for first, second in talks(40, turns=2, seed=1)]
    write_lines(folder / "pairs.jsonl", found)
    return folder


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(*arguments: str) -> int:
    return main(["train", "relevance", *arguments, *SMALL])


def test_dialogues_pairs_and_written_replies_become_a_scorer(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hard = {"context": ["we like tea ?"], "positive_responses": ["tea .", "so tea ."]}
    hard["adversarial_negative_responses"] = ["tea tea tea tea .", "the tea the tea ."]
    write_lines(work / "hard.jsonl", [hard, {**hard, "context": ["rain ?"]}])
    assert run("talks.jsonl", "pairs.jsonl", "--hard", "hard.jsonl", "-o", "out") == 0
    said = capsys.readouterr().out
    assert said.startswith("out: Relevance(negatives='random,retrieved,adversarial',")
    assert "true replies beat" in said
    facts = json.loads((work / "out" / "model.json").read_text())
    assert facts["examples"]["exchanges"] == 40 * 3 + 40 + 4
    assert not (work / "out" / "work").exists()
    names = {path.name for path in (work / "out").iterdir()}
    assert {"model.json", "model.safetensors", "config.json", "tokenizer.json", "calibration.json"} <= names


# ---- train valid -----------------------------------------------------------------------------------------------------


def train(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    return run_json(capsys, "train", *arguments)


def test_similar_replies_are_searched_only_if_they_are_used(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`valid` only spoils replies; it needs neither the search nor numba."""
    monkeypatch.setitem(sys.modules, "interloq.retrieve.similar", None)
    assert main(["train", "valid", "talks.jsonl", "-o", "out", *SCORER]) == 0
    assert main(["train", "relevance", "talks.jsonl", "-o", "other", "--context", "24", *SCORER]) == 2


def test_one_folder_of_examples_will_do_for_all_parts(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = train(capsys, "valid", "talks.jsonl", "-o", "first", "--examples", "kept", *SCORER)
    (work / "talks.jsonl").unlink()
    again = train(capsys, "valid", "-o", "valid", "--examples", "kept", *SCORER)
    assert first["weights"] == again["weights"]
    train(capsys, "relevance", "-o", "next", "--examples", "kept", "--negatives", "random", "--context", "24", *SCORER)
    facts = train(capsys, "adapt", "--model", "encoder", "-o", "mlm", "--examples", "kept", *QUICK)
    assert facts["pairs"]["train"] + facts["pairs"]["dev"] == 40 * 3
    write("samples.jsonl", [Sample("a", ["tea ?"], "we like tea .")], kind="samples")
    parts = "valid=valid(model='valid'),next=relevance(model='next'),mlm=mlm(model='mlm',mode='surprise')"
    assert 0 < evaluate(f"usl_h({parts})", load("samples.jsonl")).value < 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["valid", "-o", "a", *SCORER], "nothing to train on"),
        (["relevance", "-o", "a", "--examples", "none", *SCORER], "no examples in the folder"),
        (["relevance", "talks.jsonl", "-o", "a", "--negatives", "worst", *SCORER], "unknown kind of negatives 'worst'"),
        (["relevance", "talks.jsonl", "-o", "a", "--context", "0", *SCORER], "only spoiled replies are wrong"),
        (["adapt", "-o", "a", "--model", "encoder", *QUICK], "give logs to train on or --examples"),
        (["adapt", "talks.jsonl", "--examples", "kept", "-o", "a", "--model", "encoder", *QUICK], "not both"),
        (["adapt", "--examples", "none", "-o", "a", "--model", "encoder", *QUICK], "cannot read the exchanges"),
    ],
)
@pytest.mark.usefixtures("work")
def test_mistakes_are_named(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *arguments]) == 2
    assert message in capsys.readouterr().err
