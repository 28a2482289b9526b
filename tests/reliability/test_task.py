"""The training task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from interloq.learn.fit import fit
from interloq.learn.settings import Training
from interloq.reliability.labelled_sets import LabelledSets
from interloq.reliability.network import ReliabilityNetwork, TunedReliabilityNetwork
from interloq.reliability.settings import ReliabilitySettings
from interloq.reliability.task import ReliabilityTask, dev_scores
from tests.reliability.made_model import SMALL, small_sets


def made_task(settings: ReliabilitySettings = SMALL, sets: LabelledSets | None = None) -> ReliabilityTask:
    sets = sets or small_sets(settings)
    vectors = torch.from_numpy(np.random.default_rng(0).normal(size=(len(sets.pairs), 6)).astype(np.float16))
    torch.manual_seed(0)
    network = TunedReliabilityNetwork(ReliabilityNetwork(6, settings.hidden, settings.ensemble))
    return ReliabilityTask(network, sets, lambda which: vectors[which], settings)


def test_every_set_is_in_one_batch_of_an_epoch() -> None:
    task = made_task()
    for part in ("train", "dev"):
        n = len(task.rows[part])
        batches = [task.batches(part, epoch) for epoch in (0, 2)]
        assert [sorted(np.concatenate(found) % n) for found in batches] == [list(range(n))] * 2
        assert {len(batch) for batch in batches[0][:-1]} <= {SMALL.batch}
    assert not np.array_equal(task.batches("train", 1)[0] % n, task.batches("train", 2)[0] % n)


def test_the_loss_is_that_of_the_paper() -> None:
    task = made_task(replace(SMALL, ensemble=1))
    prepared = task.prepare("dev", np.arange(20))
    scores = task.scores(prepared).detach().double()[0]
    expected = 0.0
    for row, value, there in zip(scores, prepared.values, prepared.there, strict=True):
        short = [max(0.0, 0.1 - float(row[0]) + float(row[1 + t])) for t in range(3) if there[t]]
        expected += (float(row[0]) - float(value)) ** 2 + sum(short) / len(short)
    assert float(task.loss(prepared).detach()) == pytest.approx(expected, rel=1e-5)


def test_without_negatives_it_is_regression() -> None:
    task = made_task(replace(SMALL, ensemble=1, negatives=0))
    prepared = task.prepare("dev", np.arange(20))
    expected = ((task.scores(prepared)[0, :, 0] - prepared.values) ** 2).sum()
    assert float(task.loss(prepared).detach()) == pytest.approx(float(expected.detach()))


def test_scores_are_those_of_the_sets_alone() -> None:
    task = made_task()
    prepared = task.prepare("dev", np.arange(12))
    found = task.scores(prepared)
    assert found.shape == (3, 12, 4)
    for i, row in enumerate(task.rows["dev"][:12]):
        own = task.sets.sets[row]
        alone = task.network(task.take(own[own >= 0]), torch.arange(int((own >= 0).sum()))[None])
        torch.testing.assert_close(found[:, i, 0], alone[:, 0], atol=1e-5, rtol=0)


def test_members_learn_as_if_they_were_alone() -> None:
    task = made_task()
    prepared = task.prepare("train", np.arange(30))
    task.loss(prepared).backward()
    own = task.network.sets.members[1].attention.weight.grad.clone()
    task.network.zero_grad()
    found = task.scores(prepared)[1:2]
    short = torch.relu(0.1 - found[..., :1] + found[..., 1:]) * prepared.there
    losses = (found[..., 0] - prepared.values) ** 2 + short.sum(dim=-1) / prepared.there.sum(dim=-1).clamp(min=1)
    (prepared.weights[1] * losses).sum().backward()
    torch.testing.assert_close(own, task.network.sets.members[1].attention.weight.grad)


def test_queries_weigh_differently_in_training_only() -> None:
    task = made_task()
    train, dev = (task.prepare(part, np.arange(40)) for part in ("train", "dev"))
    assert train.weights.std(dim=0).min() > 0
    assert (dev.weights == 1).all()
    assert (made_task(replace(SMALL, ensemble=1)).prepare("train", np.arange(40)).weights == 1).all()
    queries = task.sets.query[task.rows["train"][:40]]
    for query in np.unique(queries):
        assert train.weights[:, queries == query].std(dim=1).max() == 0


def test_it_learns_labels_that_vectors_explain(tmp_path: Path) -> None:
    """The label of a set is the largest first coordinate of its pairs: max-pooling can express it."""
    settings = replace(SMALL, negatives=0, batch=32)
    sets = small_sets(settings, queries=40)
    vectors = np.random.default_rng(0).uniform(-0.7, 0.7, size=(len(sets.pairs), 6)).astype(np.float16)
    values = np.where(sets.sets < 0, -1, vectors[sets.sets, 0]).max(axis=1)
    sets = replace(sets, values=values.astype(np.float64))
    task = made_task(settings, sets)
    task.take = lambda which: torch.from_numpy(vectors[which])
    fit(task, Training(epochs=30, learning_rate=0.01, patience=30), tmp_path, job="made", device="cpu")
    found, _ = dev_scores(task)
    held_out = sets.values[task.rows["dev"]]
    assert np.mean((found[:, 0] - held_out) ** 2) < 0.2 * np.var(held_out)
