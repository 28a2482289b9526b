"""Candidates learned from rated samples, tested on contexts they were not learned from."""

from __future__ import annotations

import numpy as np
import pytest

from interloq.choose.cross_validation import (
    EQUAL,
    RIDGE,
    RatedScores,
    best,
    candidates,
    chooser,
    score_held_out,
    spearman,
)
from interloq.metrics.metric import Array


def rated(n: int = 60, *, noise: float = 1.0, seed: int = 0, metrics: int = 3) -> RatedScores:
    """The first two metrics follow the judgments, each with its own noise; the others are noise."""
    rng = np.random.default_rng(seed)
    people = rng.normal(size=n)
    scores = rng.normal(size=(n, metrics))
    scores[:, :2] = people[:, None] + noise * scores[:, :2]
    return RatedScores((scores - scores.mean(axis=0)) / scores.std(axis=0), people, np.arange(n) // 3)


def test_no_context_is_learned_from_and_tested_on() -> None:
    data = rated()
    seen: list[set[int]] = []

    def learn(part: RatedScores) -> Array:
        seen.append(set(part.contexts.tolist()))
        return np.ones(3)

    assert score_held_out(learn, data, seed=1) == pytest.approx(data.scores.sum(axis=1))
    assert len(seen) == 10
    left = [set(range(20)) - part for part in seen]
    assert sorted(context for part in left for context in part) == list(range(20))


def test_a_single_metric_learns_nothing() -> None:
    data = rated()
    learners = candidates(["a", "b", "c"])
    assert score_held_out(learners["b"], data, seed=0) == pytest.approx(data.scores[:, 1])
    assert list(learners) == ["a", "b", "c", EQUAL, RIDGE]
    assert list(candidates(["a"])) == ["a"]
    assert list(candidates(["a", "b"], blend=False)) == ["a", "b"]


def test_weights_learned_from_ratings_leave_noise_out() -> None:
    data = rated(200, metrics=6)
    weights = np.abs(candidates(list("abcdef"))[RIDGE](data))
    assert weights[:2].min() > 3 * weights[2:].max()
    found = {
        name: spearman(score_held_out(one, data, 0), data.people) for name, one in candidates(list("abcdef")).items()
    }
    assert max(found, key=lambda name: found[name]) == RIDGE
    assert best(candidates(list("abcdef")), data, 0) == RIDGE


def test_a_blend_that_is_hardly_better_is_not_chosen() -> None:
    rng = np.random.default_rng(3)
    people = rng.normal(size=200)
    good = people + 0.3 * rng.normal(size=200)
    twins = RatedScores(np.column_stack([good, good + 0.05 * rng.normal(size=200)]), people, np.arange(200))
    learners = candidates(["a", "b"])
    found = {name: spearman(score_held_out(one, twins, 0), people) for name, one in learners.items()}
    assert max(found.values()) - min(found.values()) < 0.02
    assert best(learners, twins, 0) in ("a", "b")


def test_scores_that_know_nothing_are_expected_to_agree_with_nobody() -> None:
    """The best of many looks good on the samples it was chosen on; the nested figure does not."""
    looks, expected = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        noise = RatedScores(rng.normal(size=(40, 8)), rng.normal(size=40), np.arange(40))
        learners = candidates(list("abcdefgh"), blend=False)
        chosen = best(learners, noise, seed)
        looks.append(spearman(score_held_out(learners[chosen], noise, seed), noise.people))
        expected.append(spearman(score_held_out(chooser(learners, seed), noise, seed), noise.people))
    assert np.mean(looks) > 0.15
    assert abs(np.mean(expected)) < 0.1
