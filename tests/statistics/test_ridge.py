"""The closed form against a literal one, and what is held out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from interloq.statistics.ridge import (
    SHRINKAGE,
    STRENGTHS,
    Head,
    RatedStates,
    heads,
    learn_correction,
    learn_head,
    ranks,
    score_held_out,
    spearman,
)


def make_states(*sizes: int, dimensions: int = 6, noise: float = 0.5, seed: int = 0) -> RatedStates:
    """Ratings depend on the first two dimensions; states of each set are shifted. Two replies per context."""
    rng, n = np.random.default_rng(seed), sum(sizes)
    sets = np.repeat(np.arange(len(sizes)), sizes)
    states = rng.normal(size=(n, dimensions))
    values = states[:, 0] - states[:, 1] + noise * rng.normal(size=n)
    targets = np.concatenate([ranks(values[sets == k]) for k in range(len(sizes))])
    return RatedStates(states + 3.0 * sets[:, None], targets, sets, np.arange(n) // 2)


def test_ranks_run_from_minus_one_to_one() -> None:
    assert ranks(np.array([5.0, 1.0, 3.0, 3.0])).tolist() == [0.75, -0.75, 0.0, 0.0]
    assert ranks(np.array([np.nan, 1.0, 2.0])).tolist() == [0.0, -0.5, 0.5]
    assert ranks(np.array([np.nan])).tolist() == [0.0]


def test_the_closed_form() -> None:
    rated = make_states(30, 50)
    parts = [rated[rated.sets == k] for k in (0, 1)]
    scale = np.sqrt(sum(part.states.var(axis=0) for part in parts) / 2) + 1e-6
    columns = [(part.states - part.states.mean(axis=0)) / scale for part in parts]
    left = sum(x.T @ x / len(x) for x in columns) / 2
    right = sum(x.T @ part.targets / len(x) for x, part in zip(columns, parts, strict=True)) / 2
    middle = sum(part.states.mean(axis=0) for part in parts) / 2
    for strength, head in zip(STRENGTHS, heads(rated), strict=True):
        weights = np.linalg.solve(left + strength * np.eye(6), right)
        wanted = ((rated.states - middle) / scale) @ weights
        assert head.strength == strength
        assert head(rated.states) == pytest.approx(wanted, abs=1e-9)


def test_a_set_is_scored_by_the_others() -> None:
    rated = make_states(40, 60, 50)
    scores = score_held_out(rated)
    for k in range(3):
        own = rated.sets == k
        for row, head in zip(scores, heads(rated[~own]), strict=True):
            assert row[own] == pytest.approx(head(rated.states[own]))


def test_replies_to_a_held_out_context_are_not_learned_from() -> None:
    rated = make_states(40, 60)
    shared = replace(rated, contexts=np.where(rated.contexts == 25, 0, rated.contexts))  # a context of both sets
    own, known = shared.sets == 0, shared.contexts == 0
    for row, head in zip(score_held_out(shared), heads(shared[~own & ~known]), strict=True):
        assert row[own] == pytest.approx(head(shared.states[own]))


def test_one_set_or_the_same_contexts_are_held_out_by_context() -> None:
    one = make_states(80)
    for rated in (one, replace(one, sets=np.arange(80) % 2)):
        scores = score_held_out(rated)
        held = rated.contexts % 5 == 3
        for row, head in zip(scores, heads(rated[~held]), strict=True):
            assert row[held] == pytest.approx(head(rated.states[held]))


def test_the_best_strength_and_its_agreement() -> None:
    rated = make_states(60, 90)
    scores, head = score_held_out(rated), learn_head(rated)
    best = STRENGTHS.index(head.strength)
    found = [spearman(rated, row) for row in scores]
    assert head.spearman == max(found) == found[best]
    halves = [spearmanr(scores[best][rated.sets == k], rated.targets[rated.sets == k]).statistic for k in (0, 1)]
    assert head.spearman == pytest.approx(np.mean(halves))
    assert head.ci[0] < head.spearman < head.ci[1]
    assert head.spearman > 0.7
    assert head.weights == pytest.approx(list(heads(rated))[best].weights)


def test_ratings_of_nothing_agree_with_nothing() -> None:
    rated = make_states(60, 60)
    noise = replace(rated, targets=np.random.default_rng(3).permutation(rated.targets))
    assert learn_head(noise).ci[0] < 0.1


def test_constant_states_have_no_correlation() -> None:
    rated = make_states(20, 20)
    head = learn_head(replace(rated, states=np.ones_like(rated.states)))
    assert np.isnan([head.spearman, *head.ci]).all()
    assert head(np.ones((1, 6))) == pytest.approx([0.0], abs=1e-9)


def _fifths(rated: RatedStates) -> list[Any]:
    return [rated.contexts % 5 == k for k in range(5)]


HALF = Head(np.array([2.0, 0, 0, 0, 0, 0]), 5.0, np.inf)  # knows one of the two dimensions that ratings depend on


def test_a_head_is_corrected_by_ratings() -> None:
    rated = make_states(120)
    learned = learn_correction(rated, HALF)
    folds = [spearmanr(rated.states[part, 0], rated.targets[part]).statistic for part in _fifths(rated)]
    assert learned.before == pytest.approx(np.mean(folds))
    assert learned.is_better
    assert learned.after > learned.before + 0.1
    low, high = learned.difference
    assert 0 < low < learned.after - learned.before < high
    head = learned.head
    assert head.spearman == learned.after
    assert head.strength in [k * 6 / 120 for k in SHRINKAGE]
    scores = HALF(rated.states)
    slope, _ = np.polyfit(scores, rated.targets, 1)
    unexplained = replace(rated, targets=rated.targets - slope * (scores - scores.mean()))
    (own,) = heads(unexplained, [head.strength])
    wanted = slope * (scores - scores.mean()) + own(rated.states)
    assert head(rated.states) == pytest.approx(wanted, abs=1e-4)


def test_its_figure_is_from_replies_that_it_was_not_learned_from() -> None:
    """With more dimensions than replies any ratings can be learned by heart, and correlate with nothing held out."""
    rated = make_states(60, dimensions=200)
    noise = replace(rated, targets=np.random.default_rng(1).permutation(rated.targets))
    assert abs(learn_correction(noise, Head(np.ones(200), 0.0, np.inf)).after) < 0.25


def test_a_head_that_ratings_do_not_improve_is_only_scaled() -> None:
    rated = make_states(60, dimensions=100)
    best = Head(np.array([1.0, -1, *np.zeros(98)]), 0.0, np.inf)
    learned = learn_correction(rated, best)
    assert not learned.is_better
    assert learned.head.spearman == learned.before >= learned.after
    scores = learned.head(rated.states)
    assert np.argsort(scores).tolist() == np.argsort(best(rated.states)).tolist()
    slope, middle = np.polyfit(scores, rated.targets, 1)
    assert (slope, middle) == pytest.approx((1, 0), abs=1e-4), "scores are expected ranks"
    against = learn_correction(replace(rated, targets=-rated.targets), best)
    assert against.is_better or np.ptp(against.head(rated.states)) < 1e-3, "nothing is expected of such scores"


def test_two_contexts_are_enough_for_a_correction() -> None:
    rated = make_states(4)
    assert np.isfinite(learn_correction(rated, HALF).head.weights).all()
