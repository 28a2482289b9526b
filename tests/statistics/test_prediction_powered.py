"""Prediction-powered means, by simulation: honest intervals, narrower if scores follow the ratings."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from interloq.statistics.clustered import Array
from interloq.statistics.prediction_powered import LEAST, are_selected, prediction_powered, tune_weight

NAMES = [str(i) for i in range(1030)]


def draw_ratings(rng: np.random.Generator, noise: float, labels: int = 30, n: int = 430) -> tuple[Array, Array]:
    """Ratings with mean 3, of which `labels` are known, and scores on another scale that follow them."""
    ratings = 3 + rng.normal(size=n)
    scores = 0.1 * (ratings + noise * rng.normal(size=n)) - 7
    ratings[labels:] = np.nan
    return ratings, scores


@pytest.mark.parametrize(("noise", "narrower"), [(0.5, 0.6), (1.5, 0.9), (50.0, 1.1)])
def test_intervals_cover_the_mean_and_are_narrower_if_scores_are_good(noise: float, narrower: float) -> None:
    rng = np.random.default_rng(3)
    covered, ratio = [], []
    for _ in range(300):
        ratings, scores = draw_ratings(rng, noise)
        found = prediction_powered(ratings, scores, NAMES[: len(scores)])
        assert found.powered
        assert found.powered.ci
        assert found.labels_alone.ci
        low, high = found.powered.ci
        covered.append(low <= 3 <= high)
        ratio.append((high - low) / (found.labels_alone.ci[1] - found.labels_alone.ci[0]))
    assert np.mean(covered) == pytest.approx(0.95, abs=0.035)
    assert np.mean(ratio) < narrower
    assert max(ratio) < 1.03  # useless scores cost almost nothing


def test_dialogues_shared_by_labelled_and_other_replies_are_one_cluster() -> None:
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        mood = np.repeat(rng.normal(size=60), 5)
        ratings = 3 + mood + rng.normal(size=300)
        scores = mood + rng.normal(size=300)
        ratings[np.arange(300) % 5 > 1] = np.nan
        found = prediction_powered(ratings, scores, [str(i // 5) for i in range(300)])
        assert found.powered
        assert found.powered.ci
        covered.append(found.powered.ci[0] <= 3 <= found.powered.ci[1])
    assert np.mean(covered) == pytest.approx(0.95, abs=0.035)


def test_labels_alone_if_there_is_nothing_to_add() -> None:
    ratings, scores = draw_ratings(np.random.default_rng(1), 1.0)
    few = np.where(np.arange(430) < LEAST - 1, ratings, np.nan)
    for given, judged in ((few, scores), (ratings, np.where(np.isnan(ratings), np.nan, scores))):
        found = prediction_powered(given, judged, NAMES[:430])
        assert found.powered is None
        assert found.labels_alone.n == (~np.isnan(given)).sum()


def test_constant_scores_leave_the_labels() -> None:
    ratings, _ = draw_ratings(np.random.default_rng(1), 1.0)
    found = prediction_powered(ratings, np.full(430, 0.1), NAMES[:430])
    assert found.weight == 0
    assert found.powered
    assert found.powered.value == pytest.approx(found.labels_alone.value)
    assert tune_weight(np.arange(3.0), np.ones(3), np.ones(4)) == 0


def label_units(scores: Array, rated: NDArray[np.intp]) -> Array:
    """Ratings of these units; NaN for the others."""
    ratings = np.full(len(scores), np.nan)
    ratings[rated] = 3.0
    return ratings


def test_labels_that_were_chosen_by_score_are_noticed() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=400)
    order = np.argsort(scores)
    for chosen in (order[:30], order[-30:], np.concatenate([order[:15], order[-15:]]), order[185:215]):
        assert are_selected(label_units(scores, chosen), scores)
    random = [are_selected(label_units(scores, rng.permutation(400)[:30]), scores) for _ in range(300)]
    assert sum(random) / 300 < 0.06
    assert not are_selected(label_units(scores, order[:9]), scores)  # too few to tell
    assert not are_selected(label_units(scores, order), scores)  # all units are rated
    assert are_selected(label_units(scores, order[:200]), (scores > np.median(scores)).astype(float))
    assert not are_selected(label_units(scores, order[:30]), np.ones(400))


def test_the_fewest_labels_are_enough() -> None:
    ratings, scores = draw_ratings(np.random.default_rng(1), 1.0, labels=LEAST)
    assert prediction_powered(ratings, scores, NAMES[:430]).powered
    weight = tune_weight(ratings[:LEAST], scores[:LEAST], scores[LEAST : LEAST + 1])  # one other has no variance
    spread = scores[:LEAST].var(ddof=1)
    assert weight == pytest.approx(np.cov(ratings[:LEAST], scores[:LEAST])[0, 1] / (spread + LEAST * spread))
