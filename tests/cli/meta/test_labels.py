from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from interloq import write
from interloq.cli.main import main
from tests.made_continuity import informed, part

COMMAND = ["meta", "scores.jsonl", "--samples", "test.jsonl", "--aspect", "continued", "--labels", "--bootstrap", "20"]


@pytest.fixture
def files(folder: Path) -> Path:
    """Labelled samples in three parts, and scores of a model."""
    for seed, name in enumerate(("train", "dev", "test")):
        write(folder / f"{name}.jsonl", part(name, 40, seed=seed), kind="samples")
    scores = [*informed(part("dev", 40, seed=1)), *informed(part("test", 40, seed=2))]
    write(folder / "scores.jsonl", scores, kind="scores")
    return folder


def test_one_table_shows_the_model_and_the_baselines(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--train", "train.jsonl", "--dev", "dev.jsonl", "--groups", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"dcp +reply-ratio \(0\.\d+\) +0\.\d+ \[0\.\d+, 0\.\d+\]", out)
    assert re.search(r"turn_index +half \(0\.500\)", out)
    assert "accuracy by training samples per user" in out
    assert "macro-F1 by training samples per user" in out
    assert re.search(r"\d+–\d+: \d users, \d+ samples", out)
    assert "note: always predicting the more frequent label is right for" in out


def test_json_has_every_group(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--train", "train.jsonl", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert [row["threshold"] for row in table["rows"]] == ["half"] * 4
    assert sum(group["samples"] for group in table["groups"]) == table["samples"]


def test_options_that_do_not_fit_are_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--by", "user"]) == 2
    assert "--by cannot be combined with --labels" in capsys.readouterr().err
    assert main(["meta", "scores.jsonl", "--samples", "test.jsonl", "--dev", "dev.jsonl"]) == 2
    assert "--train and --dev are only used with --labels" in capsys.readouterr().err
