from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from interloq.errors import InputError
from interloq.learn.job import train
from interloq.scorers.relevance.job import labelled, wins
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.scorers.relevance.settings import RelevanceSettings
from tests.made_relevance import SMALL, exchanges, scorer_job, stored, talks


def test_it_learns_what_belongs_together(tmp_path: Path) -> None:
    """Enough data and steps for any seed: of the first five the worst has .72 of the wins."""
    stored(tmp_path, exchanges(talks(600), most=1), turns=1, dev=90)
    folder, settings = tmp_path / "relevance", replace(SMALL, negatives="random")
    job = scorer_job(tmp_path, settings, turns=1, dev=90, epochs=20, patience=20)
    facts = train(job, folder, device="cpu")
    assert facts["wins"]["random"] > 0.65  # chance is .5, give or take .05
    scorer = RelevanceScorer.load(folder, device="cpu")
    good, bad = scorer.scores([["we like tea ."]] * 2, ["i really like tea .", "i really like trains ."])
    assert good > bad
    told = json.loads((folder / "calibration.json").read_text())
    assert told["temperature"] == facts["temperature"]
    assert len(json.loads((folder / "learning_curve.json").read_text())["epochs"]) == 20


def test_more_tokens_than_the_encoder_reads_are_refused(tmp_path: Path) -> None:
    stored(tmp_path, exchanges(talks(8)))
    with pytest.raises(InputError, match="reads 64 tokens, but context and reply have up to 147"):
        train(scorer_job(tmp_path, RelevanceSettings()), tmp_path / "out", device="cpu")


def test_wins_and_labels() -> None:
    logits = np.array([[1.0, 0.0, 2.0], [1.0, 1.0, 0.0]])
    assert wins(logits, RelevanceSettings(negatives="random,adversarial")) == {"random": 0.75, "adversarial": 0.5}
    values, labels = labelled(logits)
    assert values.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert labels.tolist() == [1, 1, 0, 0]
