"""Ratings per unit of score."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from interloq import InputError
from interloq.meta.rating_slope import check_slope, in_ratings, rating_slope

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=80)
RATINGS = 3 + 2 * SCORES + RNG.normal(size=80)
NAMES = [str(i) for i in range(80)]


def test_the_slope_is_that_of_least_squares() -> None:
    found, expected = rating_slope(SCORES, RATINGS, NAMES), stats.linregress(SCORES, RATINGS)
    assert found.value == pytest.approx(expected.slope)
    assert found.error == pytest.approx(expected.stderr, rel=0.25)
    repeated = rating_slope(np.tile(SCORES, 2), np.tile(RATINGS, 2), NAMES * 2)
    assert repeated.error == pytest.approx(found.error)


def test_a_difference_in_ratings_has_the_errors_of_both() -> None:
    slope = rating_slope(SCORES, RATINGS, NAMES)
    value, error = in_ratings(0.5, 0.1, slope)
    drawn = RNG.normal(0.5, 0.1, 20_000) * RNG.normal(slope.value, slope.error, 20_000)
    assert value == pytest.approx(drawn.mean(), abs=0.01)
    assert error == pytest.approx(drawn.std(), rel=0.03)


def test_a_metric_that_does_not_follow_ratings_is_refused() -> None:
    slope = rating_slope(SCORES, RATINGS, NAMES)
    check_slope(slope, "chrf", lower_is_better=False)
    with pytest.raises(InputError, match="better scores of chrf do not go with higher ratings"):
        check_slope(slope, "chrf", lower_is_better=True)
    with pytest.raises(InputError, match="do not go with higher ratings"):
        check_slope(rating_slope(RNG.normal(size=80), RATINGS, NAMES), "chrf", lower_is_better=False)
    for scores, message in ((SCORES[:9], "only 9 rated samples"), (np.ones(80), "the same score")):
        with pytest.raises(InputError, match=message):
            rating_slope(scores, RATINGS[: len(scores)], NAMES[: len(scores)])
