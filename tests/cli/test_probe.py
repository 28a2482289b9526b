"""`interloq probe` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.cli.main import main


def test_a_table_with_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "chrf", "--bootstrap", "100"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("chrf: 30 replies, each changed in 14 ways")
    assert "like a harmless change" in out
    assert "signature: " in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "bleu", "--language", "ja", "--json", "--bootstrap", "0"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["metric"], facts["n"], len(facts["perturbations"])) == ("bleu", 8, 14)
    assert facts["perturbations"][0].keys() >= {"perturbation", "change", "worse", "verdict", "is_expected"}
    assert [note["name"] for note in facts["notes"]] == ["language", "length"]


def test_exit_codes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("bare.jsonl", [Sample("1", ["hi"], "hello there")], kind="samples")
    assert main(["probe", "bleu", "bare.jsonl"]) == 1
    assert "unscored: shuffle: 1 reply" in capsys.readouterr().out
    assert main(["probe", "blue"]) == 2
    assert capsys.readouterr().err == "interloq: unknown metric 'blue'; did you mean 'bleu'?\n"
