"""`interloq train relevance` and `train valid` as a user runs them; one folder of examples for all parts of USL-H."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Sample, evaluate, load, write
from interloq.cli.main import main
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


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(*arguments, "--json") == 0
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


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


def test_a_turn_of_the_same_speaker_is_no_reply(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": str(i), "turns": [{"speaker": s, "text": f"{text} {s}"} for s, text in zip("aabab", turns, strict=True)]}
        for i, turns in enumerate(talks(20, turns=5))
    ]
    write_lines(work / "named.jsonl", rows)
    assert shown(capsys, "named.jsonl", "-o", "a")["examples"]["exchanges"] == 20 * 3


def test_what_test_samples_share_is_left_out(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = talks(40)[:3]
    samples = [
        {"id": "copy", "context": first[:2], "response": "no"},  # two turns in a row: the dialogue is a copy
        {"id": "turn", "context": [second[1].upper()], "response": "no"},  # in the context of two exchanges
        {"id": "gold", "context": ["hm ?"], "response": "no", "references": [third[3]]},  # the reply of one
    ]
    write_lines(work / "tested.jsonl", samples)
    assert run("talks.jsonl", "-o", "a", "--without", "tested.jsonl") == 0
    assert "6 pairs excluded that overlap test samples" in capsys.readouterr().err
    facts = json.loads((work / "a" / "model.json").read_text())
    assert facts["examples"]["exchanges"] == 40 * 3 - 6


def test_what_is_wrong_is_said(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(work / "broken.jsonl", [{"context": ["a"], "positive_responses": "b"}])
    for arguments, says in (
        (["-o", "a"], "nothing to train on"),
        (["--hard", "broken.jsonl", "-o", "a"], "positive_responses must be a list of texts"),
        (["pairs.jsonl", "-o", "a", "--negatives", "worst"], "unknown kind of negatives 'worst'"),
        (["pairs.jsonl", "-o", "a", "--turns", "0"], "turns must be above 0"),
        (["-o", "a", "--examples", "none"], "no examples in the folder"),
    ):
        assert run(*arguments) == 2
        assert says in capsys.readouterr().err


# ---- train valid -----------------------------------------------------------------------------------------------------


def train(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["train", *arguments, "--json"]) == 0, capsys.readouterr().err
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def test_dialogues_become_a_scorer(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "valid", "talks.jsonl", "-o", "out", *SCORER]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out.startswith("out: Relevance(negatives='spoiled',")
    assert "of spoiled replies" in out
    assert "epoch 1 of 1" in err
    assert not (work / "out" / "work").exists()
    assert json.loads((work / "out" / "model.json").read_text())["kind"] == "valid"
    write("samples.jsonl", [Sample("a", (), "we like tea .")], kind="samples")
    assert main(["score", "samples.jsonl", "-m", "valid(model='out')"]) == 0
    assert main(command) == 0
    assert "out is already trained" in capsys.readouterr().err


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


def test_what_is_wrong_with_valid_is_said(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(capsys, "valid", "talks.jsonl", "-o", "out", "--examples", "kept", *SCORER)
    tiny_encoder(work / "other")
    text = (work / "other" / "tokenizer.json").read_text().replace('"tea"', '"tee"')
    (work / "other" / "tokenizer.json").write_text(text)
    for arguments, says in (
        (["valid", "-o", "a", *SCORER], "nothing to train on"),
        (["valid", "none.jsonl", "-o", "a", *SCORER], "no file 'none.jsonl'"),
        (["valid", "talks.jsonl", "-o", "a", "--shuffled", "-1", *SCORER], "must not be negative"),
        (["valid", "talks.jsonl", "-o", "a", "--encoder", "encoder", "--reply", "0", *QUICK], "reply must be above 0"),
        (
            ["relevance", "talks.jsonl", "-o", "out", "--context", "24", *SCORER],
            "contains a 'valid', not a 'relevance'",
        ),
        (["relevance", "talks.jsonl", "-o", "a", "--context", "0", *SCORER], "only spoiled replies are wrong"),
        (["adapt", "-o", "a", "--model", "encoder", *QUICK], "give logs to train on or --examples"),
        (["adapt", "talks.jsonl", "--examples", "kept", "-o", "a", "--model", "encoder", *QUICK], "not both"),
        (["adapt", "--examples", "none", "-o", "a", "--model", "encoder", *QUICK], "cannot read the exchanges"),
        (["adapt", "--examples", "kept", "-o", "a", "--model", "other", *QUICK], "made with another tokenizer"),
    ):
        assert main(["train", *arguments]) != 0
        assert says in capsys.readouterr().err


def test_bad_settings_reach_python_users_too() -> None:
    from interloq.scorers.relevance.settings import RelevanceSettings

    with pytest.raises(InputError, match="only spoiled replies are wrong"):
        RelevanceSettings(context=0)
