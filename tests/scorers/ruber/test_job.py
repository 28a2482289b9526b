"""Training of RUBER's scorer."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from interloq.learn.gru import Pieces
from interloq.learn.job import train
from interloq.learn.pair_tokens import PairTokens
from interloq.scorers.ruber.job import RuberTask, random_replies, start
from interloq.scorers.ruber.settings import Unreferenced
from tests.scorers.ruber.made_pairs import FAST, SMALL, job, trained


def test_the_start_depends_on_the_seed_alone() -> None:
    before = torch.get_rng_state()
    first, again, other = (start(11, Unreferenced(hidden=4, seed=seed)).state_dict() for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["matrix"], other["matrix"])


def test_the_loss_is_the_hinge_of_literal_scores(store: PairTokens) -> None:
    task = RuberTask(start(200, SMALL), store, SMALL)
    examples = task.batches("train", 2)[1]
    rows, n = store.rows("train"), len(store.rows("train"))
    others = random_replies(rows, examples, 0)
    total = 0.0
    with torch.inference_mode():
        for example, other in zip(examples, others, strict=True):
            query, reply = rows[example % n]
            vectors = [
                gru(torch.from_numpy(tokens).long(), torch.from_numpy(lengths))
                for gru, text in ((task.network.query, query), (task.network.reply, reply), (task.network.reply, other))
                for tokens, lengths in [store.texts(np.array([text]))]
            ]
            true, random = (float(task.network(vectors[0], vectors[i])) for i in (1, 2))
            total += max(0.0, 0.5 - true + random)
        found = float(task.loss(task.prepare("train", examples)))
    assert found == pytest.approx(total, rel=1e-5)


def test_random_replies_are_of_other_utterances() -> None:
    """Two utterances with twenty replies each, and one reply that both have."""
    rows = np.array([[0, i] for i in range(20)] + [[1, i] for i in range(19, 40)], dtype=np.int32)
    for examples in (np.arange(41), np.arange(41, 82)):
        drawn = random_replies(rows, examples, 0)
        assert (drawn[:20] >= 19).all()
        assert (drawn[20:] <= 19).all()
        assert (drawn != rows[:, 1]).all()
        assert len(set(drawn.tolist())) > 15


def test_random_replies_depend_on_seed_and_example_alone(store: PairTokens) -> None:
    rows, examples = store.rows("train"), np.arange(100, 400)
    whole = random_replies(rows, examples, 0)
    order = np.random.default_rng(0).permutation(300)
    assert (random_replies(rows, examples[order], 0) == whole[order]).all()
    assert (random_replies(rows, examples, 1) != whole).mean() > 0.9
    assert (random_replies(rows, examples + len(rows), 0) != whole).mean() > 0.9


def test_random_replies_are_even_and_a_lone_one_stands() -> None:
    """Every reply is drawn about as often: χ² over 50 replies stays below its 99.99 % point of 96."""
    rows = np.column_stack([np.arange(50), np.arange(50)]).astype(np.int32)
    counts = np.bincount(random_replies(rows, np.arange(50_000), 3), minlength=50)
    assert ((counts - 1000) ** 2 / 1000).sum() < 96
    rows = np.array([[0, 9], [1, 9], [2, 9]], dtype=np.int32)
    assert random_replies(rows, np.arange(3), 0).tolist() == [9, 9, 9]


def test_batches_hold_every_pair_once(store: PairTokens) -> None:
    task = RuberTask(start(200, SMALL), store, SMALL)
    n = len(store.rows("train"))
    epochs = [np.concatenate(list(task.batches("train", epoch))) for epoch in (1, 2)]
    for epoch, examples in enumerate(epochs, 1):
        assert sorted(examples.tolist()) == list(range(epoch * n, (epoch + 1) * n))
    assert (epochs[0] % n != epochs[1] % n).mean() > 0.9
    assert sorted(np.concatenate(list(task.batches("dev", 0))).tolist()) == list(range(store.dev))


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
