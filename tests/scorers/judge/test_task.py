from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq.scorers.judge.rated import RatedSets
from interloq.scorers.judge.replies import RatedReplies
from interloq.scorers.judge.settings import TuneSettings
from interloq.scorers.judge.task import TuneTask
from interloq.scorers.relevance.model import RelevanceScorer
from tests.made_judge import rated

SETTINGS = TuneSettings(least=10, replies=32, batch=8)


@pytest.fixture(scope="module")
def loaded(scorer: Path) -> RelevanceScorer:
    return RelevanceScorer.load(scorer, device="cpu")


def made(loaded: RelevanceScorer, *sizes: int, **changes: Any) -> TuneTask:
    sets = RatedSets.of_sets([(str(i), rated(n, seed=i)) for i, n in enumerate(sizes)])
    settings = replace(SETTINGS, **changes)
    replies = RatedReplies.of(sets, loaded, settings, lambda _: None)
    return TuneTask(loaded.network, replies, settings, loaded.subwords)


def groups(task: TuneTask, part: Any, epoch: int) -> list[list[int]]:
    task.batches(part, epoch)
    return [group.tolist() for group in task._current[part]]


def test_every_set_has_the_same_number_of_batches(loaded: RelevanceScorer) -> None:
    task = made(loaded, 200, 20)
    found = groups(task, "train", 1)
    sets = [set(task.replies.sets[group].tolist()) for group in found]
    assert [len(group) for group in found] == [8] * 8
    assert all({*first, *second} == {0, 1} for first, second in zip(sets[::2], sets[1::2], strict=True))
    assert not task.replies.dev[np.concatenate(found)].any()
    assert len({i for group in found for i in group if task.replies.sets[i] == 0}) == 32, "none twice while others wait"


def test_batches_depend_on_epoch_and_seed_only(loaded: RelevanceScorer) -> None:
    task = made(loaded, 60, 40)
    assert groups(task, "train", 1) == groups(made(loaded, 60, 40), "train", 1)
    assert groups(task, "train", 1) != groups(task, "train", 2)
    assert groups(task, "train", 1) != groups(made(loaded, 60, 40, seed=1), "train", 1)
    assert groups(task, "dev", 1) == groups(task, "dev", 2)


def test_dev_is_every_held_out_reply_once(loaded: RelevanceScorer) -> None:
    task = made(loaded, 200, 30)
    found = groups(task, "dev", 0)
    assert sorted(i for group in found for i in group) == np.flatnonzero(task.replies.dev).tolist()
    assert all(len(set(task.replies.sets[group].tolist())) == 1 for group in found)


def test_a_set_smaller_than_a_batch_is_read_whole(loaded: RelevanceScorer) -> None:
    task = made(loaded, 60, 12, batch=32, replies=64)
    small = [group for group in groups(task, "train", 1) if task.replies.sets[group[0]] == 1]
    assert [sorted(group) for group in small] == [task.sets["train"][1].tolist()] * 2


def test_the_loss_is_that_of_the_formula(loaded: RelevanceScorer) -> None:
    task = made(loaded, 60)
    task.network.eval()
    batch = task.batches("train", 1)[0]
    group = task._current["train"][0]
    with torch.inference_mode():
        found = float(task.loss(task.prepare("train", batch)))
        z = task.network(task._rows(group))[:, 0].tolist()
    y = task.replies.targets[group]
    pairs = [(i, j) for i in range(8) for j in range(8)]
    wanted = sum(math.log1p(math.exp(-(z[i] - z[j]) * np.sign(y[i] - y[j]))) * abs(y[i] - y[j]) for i, j in pairs)
    assert found == pytest.approx(8 * wanted / sum(abs(y[i] - y[j]) for i, j in pairs), rel=1e-5)


def test_losses_of_several_processes_add_up(loaded: RelevanceScorer) -> None:
    task = made(loaded, 60, 60)
    task.network.eval()
    with torch.inference_mode():
        for part in ("train", "dev"):
            for batch in task.batches(part, 1):
                whole, *shares = (float(task.loss(task.prepare(part, b))) for b in (batch, batch[::2], batch[1::2]))
                assert sum(shares) == pytest.approx(whole, rel=1e-5)


def test_every_set_counts_the_same_in_the_dev_loss(loaded: RelevanceScorer) -> None:
    task = made(loaded, 200, 40, batch=64)
    task.network.eval()
    with torch.inference_mode():
        prepared = [task.prepare("dev", batch) for batch in task.batches("dev", 0)]
        losses = [float(task.loss(replace(one, scale=1.0))) / len(one.targets) for one in prepared]
        total = sum(float(task.loss(one)) for one in prepared)
    assert len(prepared) == 2
    assert total / task.replies.dev.sum() == pytest.approx(np.mean(losses), rel=1e-5)


def test_equal_ratings_have_no_loss(loaded: RelevanceScorer) -> None:
    task = made(loaded, 60)
    prepared = task.prepare("train", task.batches("train", 1)[0])
    assert task.loss(replace(prepared, targets=torch.zeros(8))).item() == 0.0


def test_the_head_gives_expected_ranks(loaded: RelevanceScorer) -> None:
    task = made(loaded, 200, 100)
    replies, head, logits = task.replies, task.head, task.logits(np.arange(len(task.replies.targets)))
    own = loaded.network.head.weight.detach().double().numpy()[0]
    slope = float(head.weights[0] / own[0])
    assert head.weights == pytest.approx(slope * own)
    offset = head.offset - slope * loaded.network.head.bias.item()
    fitted = [(replies.sets == i) & ~replies.dev for i in range(2)]
    centred = [logits[own] - logits[own].mean() for own in fitted]
    top = np.mean([np.mean(z * replies.targets[own]) for z, own in zip(centred, fitted, strict=True)])
    assert slope == pytest.approx(top / np.mean([np.mean(z**2) for z in centred]), rel=1e-3)
    assert np.mean([np.mean(slope * logits[own] + offset) for own in fitted]) == pytest.approx(0, abs=1e-6)
    assert head.ci[0] <= head.spearman <= head.ci[1]
