"""`interloq train valid` as a user runs it, and one folder of examples for all three parts of USL-H."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from interloq import evaluate, load, write
from interloq.cli.main import main
from interloq.errors import InputError
from interloq.records import Sample
from tests.made_relevance import talks, tiny_encoder

QUICK = ["--learning-rate", ".003", "--device", "cpu", "--epochs", "1", "--batch", "32"]
SCORER = ["--encoder", "encoder", "--reply", "12", *QUICK]


@pytest.fixture
def work(folder: Path) -> Path:
    tiny_encoder(folder / "encoder")
    rows = [{"id": f"talk{i}", "turns": [{"text": text} for text in turns]} for i, turns in enumerate(talks(40))]
    (folder / "talks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
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
    first = shown(capsys, "valid", "talks.jsonl", "-o", "first", "--examples", "kept", *SCORER)
    (work / "talks.jsonl").unlink()
    again = shown(capsys, "valid", "-o", "valid", "--examples", "kept", *SCORER)
    assert first["weights"] == again["weights"]
    shown(capsys, "relevance", "-o", "next", "--examples", "kept", "--negatives", "random", "--context", "24", *SCORER)
    facts = shown(capsys, "adapt", "--model", "encoder", "-o", "mlm", "--examples", "kept", *QUICK)
    assert facts["pairs"]["train"] + facts["pairs"]["dev"] == 40 * 3
    write("samples.jsonl", [Sample("a", ["tea ?"], "we like tea .")], kind="samples")
    parts = "valid=valid(model='valid'),next=relevance(model='next'),mlm=mlm(model='mlm',mode='surprise')"
    assert 0 < evaluate(f"usl_h({parts})", load("samples.jsonl")).value < 1


def test_what_is_wrong_is_said(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown(capsys, "valid", "talks.jsonl", "-o", "out", "--examples", "kept", *SCORER)
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
