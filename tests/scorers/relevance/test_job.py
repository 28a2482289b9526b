from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from interloq.errors import InputError
from interloq.learn.job import train
from interloq.learn.start import Start
from interloq.models.pretrained import Subwords
from interloq.models.token_rows import Packed, TokenRows
from interloq.scorers.relevance.examples import NONE, Exchanges
from interloq.scorers.relevance.job import RelevanceTask, label_logits, wins
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.scorers.relevance.negatives import draw
from interloq.scorers.relevance.settings import RelevanceSettings
from tests.made_relevance import SMALL, exchanges, scorer_job, stored, talks
from tests.scorers.relevance.made_examples import texts


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
    values, labels = label_logits(logits)
    assert values.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert labels.tolist() == [1, 1, 0, 0]


def test_rows_are_those_that_the_scorer_reads(made: tuple[Exchanges, Subwords]) -> None:
    found, subwords = made
    settings = replace(SMALL, shuffled=0, dropped=0, repeated=0, cut=0)
    task = RelevanceTask(Start.of(subwords.folder).network(1, seed=0), found, settings, subwords)
    said = texts(found, subwords)
    scorer = RelevanceScorer(task.network, subwords, {"config": {"context": 24, "reply": 12}}, "cpu")
    examples = task.batches("train", 2)[0]
    batch = task.prepare("train", examples)
    assert isinstance(batch.rows, TokenRows)
    own, drawn = found.range("train"), draw(found, "train", 2, settings)
    n = len(found.talks[own])
    asked = []
    for i in (examples - 2 * n).tolist():
        context = tuple(said[turn] for turn in found.contexts[own.start + i] if turn != NONE)
        replies = [found.replies[own.start + i], *drawn.texts[i]]
        asked += [(context, said[reply]) for reply in replies]
    for row, (before, after) in enumerate(scorer._read(asked)):
        wanted = [subwords.start, *before, subwords.end, *after, subwords.end]
        ids, mask, kinds = (part[row].tolist() for part in (batch.rows.ids, batch.rows.mask, batch.rows.kinds))
        assert ids == wanted + [subwords.pad] * (len(ids) - len(wanted))
        assert sum(mask) == len(wanted)
        assert kinds == [0] * (len(before) + 2) + [1] * (len(after) + 1) + [0] * (len(ids) - len(wanted))


@pytest.mark.parametrize("loss", ["binary", "listwise"])
def test_loss_is_the_formula(made: tuple[Exchanges, Subwords], loss: Literal["binary", "listwise"]) -> None:
    found, subwords = made
    task = RelevanceTask(Start.of(subwords.folder).network(1, seed=0), found, replace(SMALL, loss=loss), subwords)
    task.network.eval()
    batch = task.prepare("dev", task.batches("dev", 0)[0])
    total = 0.0
    for true, *wrong in task.logits(batch).double().tolist():
        if loss == "listwise":
            total += np.log(sum(np.exp(z) for z in (true, *wrong))) - true
        else:
            others = [np.log1p(np.exp(z)) for z in wrong]
            total += (np.log1p(np.exp(-true)) + sum(others) / len(others)) / 2
    assert float(task.loss(batch).detach()) == pytest.approx(total, rel=1e-4)


def test_packed_rows_have_the_same_loss(made: tuple[Exchanges, Subwords]) -> None:
    found, subwords = made
    task = RelevanceTask(Start.of(subwords.folder).network(1, seed=0), found, SMALL, subwords)
    task.network.eval()
    examples = task.batches("dev", 0)[0]
    expected = float(task.loss(task.prepare("dev", examples)).detach())
    with task.network.packing.enable(torch.device("cpu")):
        batch = task.prepare("dev", examples)
        assert isinstance(batch.rows, Packed)
        assert float(task.loss(batch).detach()) == pytest.approx(expected, rel=1e-5)
