"""Training of RUBER's scorer."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from interloq.errors import InputError
from interloq.learn.job import train
from interloq.learn.pieces import Pieces
from interloq.scorers.ruber.model import RuberScorer
from tests.made_ruber import topic_pairs
from tests.scorers.ruber.made_pairs import FAST, job, trained


def losses(folder: Path) -> list[tuple[float, float]]:
    curve = json.loads((folder / "learning_curve.json").read_text())["epochs"]
    return [(epoch["train_loss"], epoch["dev_loss"]) for epoch in curve]


def test_it_learns_which_replies_belong(learned: Path) -> None:
    curve = losses(learned)
    assert curve[0][0] > 0.35  # at the margin of .5 to begin with
    assert min(dev for _, dev in curve) < 0.2
    facts = json.loads((learned / "model.json").read_text())
    assert facts["wins"] > 0.8
    assert facts["best"]["dev_loss"] == min(dev for _, dev in curve)
    assert sorted(path.name for path in learned.iterdir()) == [
        "learning_curve.json",
        "model.json",
        "model.safetensors",
        "pieces.model",
        "training_times.json",
    ]


def test_true_replies_outscore_random_ones(learned: Path) -> None:
    """On pairs from another draw of the log; a random reply has the topic by chance once in eight times."""
    pairs = topic_pairs(400, seed=1)
    scorer = RuberScorer.load(learned, device="cpu")
    utterances, replies = [p.utterance for p in pairs], [p.response for p in pairs]
    true, random = scorer.scores(utterances, replies), scorer.scores(utterances, replies[1:] + replies[:1])
    assert (true > random).mean() > 0.8
    assert true.mean() - random.mean() > 0.3


def test_a_job_that_failed_at_its_pairs_blocks_nobody(pieces: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ruber"
    with pytest.raises(InputError, match="different utterance"):
        train(job(1, FAST, pieces), folder)
    once = dataclasses.replace(FAST, epochs=1)
    facts = train(job(60, once, pieces), folder, device="cpu")
    assert facts["pairs"]["train"] + facts["pairs"]["dev"] == 60


def test_a_tokenizer_is_trained_where_none_is_given(tmp_path: Path) -> None:
    said: list[str] = []
    once = dataclasses.replace(FAST, epochs=1)
    train(job(200, once, None), tmp_path / "a", device="cpu", report=said.append)
    size = Pieces(tmp_path / "a" / "pieces.model").size
    assert 20 < size < 16_000
    assert said[0] == f"these texts yield a tokenizer of only {size:,} pieces"


def test_it_says_when_nothing_was_learned(pieces: Path, tmp_path: Path) -> None:
    said: list[str] = []
    still = dataclasses.replace(FAST, epochs=1, learning_rate=1e-9)
    trained(tmp_path / "still", pieces, still, report=said.append)
    assert said[-1].startswith("the network learned nothing")
