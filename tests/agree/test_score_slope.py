"""Differences of scores in human ratings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from interloq import InputError
from interloq.agree.score_slope import check_slope, in_ratings, score_slope

RNG = np.random.default_rng(0)
RATINGS = RNG.normal(3, 1, size=80)
SCORES = 2 * RATINGS + RNG.normal(size=80)
NAMES = [str(i) for i in range(80)]


def test_the_slope_is_that_of_least_squares() -> None:
    found, expected = score_slope(SCORES, RATINGS, NAMES), stats.linregress(RATINGS, SCORES)
    assert found.value == pytest.approx(expected.slope)
    assert found.error == pytest.approx(expected.stderr, rel=0.25)
    repeated = score_slope(np.tile(SCORES, 2), np.tile(RATINGS, 2), NAMES * 2)
    assert repeated.error == pytest.approx(found.error)


def test_intervals_in_ratings_contain_the_true_difference() -> None:
    """Two versions differ by 0.5 in ratings; the metric measures ratings with noise larger than their spread."""
    covered = []
    for _ in range(300):
        ratings = RNG.normal(3, 1, size=200)
        slope = score_slope(0.1 * ratings + 0.15 * RNG.normal(size=200), ratings, [str(i) for i in range(200)])
        gaps = 0.1 * 0.5 + 0.2 * RNG.normal(size=60)
        _, (low, high) = in_ratings(gaps.mean(), gaps.std(ddof=1) / math.sqrt(60), 59, slope)
        covered.append(low <= 0.5 <= high)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.035)


def test_a_weak_metric_has_wide_intervals() -> None:
    weak = score_slope(SCORES + 4 * RNG.normal(size=80), RATINGS, NAMES)
    strong = score_slope(SCORES, RATINGS, NAMES)
    widths = [np.ptp(in_ratings(0.0, error, 79, slope)[1]) for error, slope in ((0.5, weak), (0.1, strong))]
    assert widths[0] > 3 * widths[1]
    value, ci = in_ratings(1.0, 0.1, 1, weak)
    assert ci == (-math.inf, math.inf)  # one degree of freedom
    assert value == pytest.approx(1 / weak.value)


def test_a_metric_that_does_not_follow_ratings_is_refused() -> None:
    slope = score_slope(SCORES, RATINGS, NAMES)
    check_slope(slope, "chrf", lower_is_better=False)
    with pytest.raises(InputError, match="scores of chrf do not get better with higher ratings"):
        check_slope(slope, "chrf", lower_is_better=True)
    with pytest.raises(InputError, match="do not get better with higher ratings"):
        check_slope(score_slope(RNG.normal(size=80), RATINGS, NAMES), "chrf", lower_is_better=False)
    for n, ratings, message in ((9, RATINGS, "only 9 rated samples"), (80, np.ones(80), "the same rating")):
        with pytest.raises(InputError, match=message):
            score_slope(SCORES[:n], ratings[:n], NAMES[:n])
