"""`interloq train relevance` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interloq.cli.main import main
from tests.made_relevance import talks, tiny_encoder

SMALL = ["--batch", "32", "--context", "24", "--reply", "12", "--learning-rate", ".003", "--device", "cpu"]
SMALL += ["--encoder", "encoder", "--epochs", "1"]


@pytest.fixture
def work(folder: Path) -> Path:
    tiny_encoder(folder / "encoder")
    rows = [{"id": f"talk{i}", "turns": [{"text": text} for text in turns]} for i, turns in enumerate(talks(40))]
    write(folder / "talks.jsonl", rows)
    found = [{"utterance": first, "response": second} for first, second in talks(40, turns=2, seed=1)]
    write(folder / "pairs.jsonl", found)
    return folder


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(*arguments: str) -> int:
    return main(["train", "relevance", *arguments, *SMALL])


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(*arguments, "--json") == 0
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def test_dialogues_pairs_and_written_replies_become_a_scorer(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hard = {"context": ["we like tea ?"], "positive_responses": ["tea .", "so tea ."]}
    hard["adversarial_negative_responses"] = ["tea tea tea tea .", "the tea the tea ."]
    write(work / "hard.jsonl", [hard, {**hard, "context": ["rain ?"]}])
    assert run("talks.jsonl", "pairs.jsonl", "--hard", "hard.jsonl", "-o", "out") == 0
    said = capsys.readouterr().out
    assert said.startswith("out: Relevance(negatives='random,retrieved,adversarial',")
    assert "true replies beat" in said
    facts = json.loads((work / "out" / "model.json").read_text())
    assert facts["examples"]["exchanges"] == 40 * 3 + 40 + 4
    assert not (work / "out" / "work").exists()
    names = {path.name for path in (work / "out").iterdir()}
    assert {"model.json", "model.safetensors", "config.json", "tokenizer.json", "calibration.json"} <= names


def test_examples_are_made_once_and_need_no_logs_then(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = shown(capsys, "talks.jsonl", "-o", "a", "--examples", "kept")
    (work / "talks.jsonl").unlink()
    second = shown(capsys, "-o", "b", "--examples", "kept")
    third = shown(capsys, "-o", "c", "--examples", "kept", "--negatives", "random")
    assert first["weights"] == second["weights"]
    assert list(third["wins"]) == ["random"]


def test_a_turn_of_the_same_speaker_is_no_reply(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": str(i), "turns": [{"speaker": s, "text": f"{text} {s}"} for s, text in zip("aabab", turns, strict=True)]}
        for i, turns in enumerate(talks(20, turns=5))
    ]
    write(work / "named.jsonl", rows)
    assert shown(capsys, "named.jsonl", "-o", "a")["examples"]["exchanges"] == 20 * 3


def test_what_test_samples_share_is_left_out(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = talks(40)[:3]
    samples = [
        {"id": "copy", "context": first[:2], "response": "no"},  # two turns in a row: the dialogue is a copy
        {"id": "turn", "context": [second[1].upper()], "response": "no"},  # in the context of two exchanges
        {"id": "gold", "context": ["hm ?"], "response": "no", "references": [third[3]]},  # the reply of one
    ]
    write(work / "tested.jsonl", samples)
    assert run("talks.jsonl", "-o", "a", "--without", "tested.jsonl") == 0
    assert "6 pairs excluded that overlap test samples" in capsys.readouterr().err
    facts = json.loads((work / "a" / "model.json").read_text())
    assert facts["examples"]["exchanges"] == 40 * 3 - 6


def test_what_is_wrong_is_said(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(work / "broken.jsonl", [{"context": ["a"], "positive_responses": "b"}])
    for arguments, says in (
        (["-o", "a"], "nothing to train on"),
        (["--hard", "broken.jsonl", "-o", "a"], "positive_responses must be a list of texts"),
        (["pairs.jsonl", "-o", "a", "--negatives", "worst"], "unknown kind of negatives 'worst'"),
        (["pairs.jsonl", "-o", "a", "--turns", "0"], "turns must be above 0"),
        (["-o", "a", "--examples", "none"], "no examples in the folder"),
    ):
        assert run(*arguments) == 2
        assert says in capsys.readouterr().err
