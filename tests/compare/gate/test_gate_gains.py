"""Gains, and how many more data would decide: with as many as stated, about 80 % of simulated gates do."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from interloq.agree.score_slope import in_ratings, score_slope
from interloq.compare.compare import compare
from interloq.compare.comparison import Comparison
from interloq.compare.gate.gate import gate
from interloq.compare.gate.gate_gains import ALPHA, Gain, rating_gain
from interloq.statistics.clustered import Clustered, difference
from interloq.statistics.prediction_powered import prediction_powered
from tests.made_versions import METRIC, version

MARGIN = 0.5
POWER = pytest.approx(0.8, abs=0.06)
Array = NDArray[np.float64]


def compared(n: int, loss: float) -> Comparison:
    """Scores with exactly this mean loss, and differences with a standard deviation of 1."""
    rng = np.random.default_rng(9)
    old, gaps = rng.normal(size=n), rng.normal(size=n)
    gaps = (gaps - gaps.mean()) / gaps.std(ddof=1)
    return compare(version("old", old), version("new", old + gaps - loss), slice_by=[])


def decided(loss: float, n: int, tests: int = 1) -> float:
    """Share of simulated sets of n differences that decide; with several tests, a loss above the margin."""
    gaps = np.random.default_rng(2).normal(-loss, 1, (2000, n))
    t = (gaps.mean(axis=1) + MARGIN) / gaps.std(axis=1, ddof=1) * math.sqrt(n)
    return float(np.mean(np.abs(t) > stats.t.ppf(1 - ALPHA / tests, n - 1)))


@pytest.mark.parametrize("loss", [0.3, 0.7])
def test_more_samples(loss: float) -> None:
    """A version within the margin passes, and one with a larger loss is a regression."""
    (verdict,) = gate(compared(30, loss), MARGIN).verdicts
    assert verdict.needed
    assert verdict.needed_of == "sample"
    assert f"about {verdict.needed - 30} more samples would decide with a probability of 80 %" in verdict.reason
    assert decided(loss, verdict.needed) == POWER


def test_more_samples_if_several_tests_are_adjusted() -> None:
    found = compared(30, 0.8)
    five = replace(found, changes=tuple(replace(found.changes[0], metric=f"m{i}") for i in range(5)))
    verdict = gate(five, MARGIN).verdicts[0]
    assert verdict.needed
    assert verdict.needed > (gate(found, MARGIN).verdicts[0].needed or 0)
    assert decided(0.8, verdict.needed, tests=5) == POWER


def slope(n: int, seed: int) -> Clustered:
    """Scores that rise by 0.5 per unit of rating."""
    rng = np.random.default_rng(seed)
    ratings = rng.normal(size=n)
    return score_slope(0.5 * ratings + rng.normal(size=n), ratings, [str(i) for i in range(n)])


def test_more_rated_samples() -> None:
    """More samples do not make the conversion of the margin more certain."""
    few = replace(known := slope(60, 4), influence={c: x * 0.5 / known.value for c, x in known.influence.items()})
    (verdict,) = gate(compared(2000, 0.35), MARGIN, slopes={METRIC: replace(few, value=0.5)}).verdicts
    assert (verdict.outcome, verdict.needed_of) == ("undecided", "rated sample")
    assert verdict.needed
    assert f"about {verdict.needed - 60} more rated samples would decide" in verdict.reason
    assert "(1 in ratings is 0.5 [0." in verdict.reason
    highs = []
    for seed in range(200):
        loss = np.random.default_rng(seed).normal(0.35, 1 / math.sqrt(2000))
        highs.append(in_ratings(-loss, 1 / math.sqrt(2000), 1999, slope(verdict.needed, seed + 1000))[1][1])
    assert float(np.mean(np.array(highs) < -MARGIN)) == pytest.approx(0.8, abs=0.12)


def test_neither_more_samples_nor_more_rated_samples_alone() -> None:
    (verdict,) = gate(compared(30, 0.27), MARGIN, slopes={METRIC: slope(60, 4)}).verdicts
    assert (verdict.outcome, verdict.needed) == ("undecided", None)
    assert "more samples or rated samples alone will hardly decide" in verdict.reason


def rated(n: int, loss: float, seed: int, units: int = 200) -> tuple[Array, Array]:
    """Scores of units and ratings of the first n, correlated at .7; the metric does not see the loss."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=units)
    ratings = 3 - loss + 0.7 * scores + math.sqrt(0.51) * rng.normal(size=units)
    ratings[n:] = math.nan
    return scores, ratings


def gain_by_ratings(n: int, units: int, margin: float, seed: int = 1) -> tuple[int, str] | None:
    """What would decide on a loss of 0.2."""
    sides = [rated(n, loss, seed + i, units) for i, loss in enumerate((0.0, 0.2))]
    old, new = (version("a", s, ratings=list(r), prefix=str(i)) for i, (s, r) in enumerate(sides))
    found = compare(old, new, slice_by=[], n_permutations=0)
    return replace(rating_gain(found.changes[0], found, margin), value=-0.2).estimate_needed(ALPHA)


def test_more_labels() -> None:
    stated = [gain_by_ratings(25, 200, 0.6, seed) for seed in range(0, 30, 2)]
    assert {what for _, what in filter(None, stated)} == {"label"}
    n = int(np.median([labels for labels, _ in filter(None, stated)])) // 2  # in each version
    assert 25 < n < 200
    lows = []
    for seed in range(300):
        means = [prediction_powered(r, s, [f"{i} {j}" for j in range(200)]).powered
                 for i, (s, r) in enumerate((rated(n, 0.0, 2 * seed), rated(n, 0.2, 2 * seed + 1)))]  # fmt: skip
        assert means[0]
        assert means[1]
        lows.append((difference(means[1], means[0]).ci or (-math.inf,))[0])
    assert float(np.mean(np.array(lows) > -0.6)) == pytest.approx(0.8, abs=0.09)


def test_more_labels_than_units() -> None:
    needed = gain_by_ratings(40, 60, 0.3)
    assert needed
    assert needed[0] > 2 * 60
    variance = 2 / (0.1 / (stats.norm.ppf(0.975) + stats.norm.ppf(0.8))) ** 2  # labels of all units
    assert needed[0] == pytest.approx(2 * variance, rel=0.35)


def test_only_scores_of_unlabelled_units_leave_a_part_of_the_variance_to_more_scores() -> None:
    for n, units in ((40, 40), (40, 200)):
        sides = [rated(n, loss, 1 + i, units) for i, loss in enumerate((0.0, 0.2))]
        old, new = (version("a", s, ratings=list(r), prefix=str(i)) for i, (s, r) in enumerate(sides))
        found = compare(old, new, slice_by=[], n_permutations=0)
        gain = rating_gain(found.changes[0], found, 0.3)
        (error,) = (m.error for m in found.people if m.which == "difference" and bool(m.metric) == (units > n))
        assert gain.shrinking + gain.fixed == pytest.approx(error**2)
        assert (gain.fixed > 0, gain.most) == ((True, 400) if units > n else (False, math.inf))


def test_a_gain_without_error_is_certain() -> None:
    gain = Gain(METRIC, "", -0.3, (-0.3, -0.3), 0.3, "score", 20, "sample", 19, 0.0)
    assert [replace(gain, value=value).p for value in (-0.4, -0.3, 0.0)] == [0, 1, 1]
    assert gain.estimate_needed(ALPHA) is None


def test_scores_that_do_not_help_leave_the_number_to_the_labels() -> None:
    gain = Gain(METRIC, "", -0.2, (-0.4, 0.0), 0.3, "rating", 80, "label", 78, 0.01, 0.0, 120)
    assert gain.estimate_needed(ALPHA) == replace(gain, most=math.inf).estimate_needed(ALPHA)
    assert (gain.estimate_needed(ALPHA) or (0,))[0] > 120
