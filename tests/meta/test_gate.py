"""Verdicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from interloq import InputError
from interloq.meta.compare import compare
from interloq.meta.gate import EXIT_CODES, Gate, gate
from interloq.meta.score_slope import score_slope
from tests.meta.made_versions import METRIC, drawn, version


def judged(shift: float, margin: float, *, n: int = 40, noise: float = 1.0, lower: bool | None = None) -> Gate:
    rng = np.random.default_rng(0)
    new = [v + shift + noise * rng.normal() for v in drawn(n=n)]
    found = compare(version("old", drawn(n=n)), version("new", new), slice_by=[], lower_is_better=lower)
    return gate(found, margin)


@pytest.mark.parametrize(
    ("shift", "outcome"), [(0.0, "pass"), (-0.3, "pass"), (-0.9, "undecided"), (-2.0, "regression")]
)
def test_three_verdicts(shift: float, outcome: str) -> None:
    found = judged(shift, 1.0)
    assert found.outcome == outcome
    assert found.exit_code == {"pass": 0, "undecided": 4, "regression": 3}[outcome]
    assert 1 not in EXIT_CODES.values()


def test_lower_may_be_better() -> None:
    assert judged(2.0, 1.0, lower=True).outcome == "regression"
    assert judged(-2.0, 1.0, lower=True).outcome == "pass"


def test_the_number_that_would_decide_decides_in_80_percent() -> None:
    (verdict,) = judged(-0.7, 1.0).verdicts
    assert verdict.needed
    assert verdict.needed > 40
    assert f"about {verdict.needed - 40} more samples would decide with a probability of 80 %" in verdict.reason
    spread = (verdict.ci[1] - verdict.ci[0]) / 2 / stats.t.ppf(0.975, 39) * np.sqrt(40)
    gains = np.random.default_rng(2).normal(verdict.gain, spread, (1000, verdict.needed))
    low = stats.ttest_1samp(gains, 0, axis=1).confidence_interval().low
    assert float(np.mean(low > -1.0)) == pytest.approx(0.8, abs=0.05)


def test_a_gain_at_the_margin_needs_too_many() -> None:
    found = judged(-0.9, 1.0)
    (close,) = gate(found.comparison, -found.verdicts[0].gain + 1e-9).verdicts
    assert (close.outcome, close.needed) == ("undecided", None)
    assert "so close to the margin that more samples will hardly decide" in close.reason


def test_one_regression_is_enough() -> None:
    old = version("old", drawn())
    new = version("new", drawn(seed=2))
    good = compare(old, new, slice_by=[])
    (change,) = good.changes
    bad = replace(change, metric="bleu", difference=-5.0, ci=(-5.1, -4.9), error=0.05)
    assert gate(replace(good, changes=(change, bad)), 0.5).outcome == "regression"


def test_the_margin_in_ratings_by_a_slope() -> None:
    rng = np.random.default_rng(1)
    ratings = rng.normal(size=200)
    slope = score_slope(10 * ratings + rng.normal(size=200), ratings, [str(i) for i in range(200)])
    found = judged(-2.0, 1.0).comparison
    (verdict,) = gate(found, 0.5, slopes={METRIC: slope}).verdicts
    assert (verdict.outcome, verdict.scale) == ("pass", "rating")
    assert verdict.gain == pytest.approx(-0.2, abs=0.03)
    with pytest.raises(InputError, match="do not get better with higher ratings"):
        gate(found, 0.5, slopes={METRIC: slope.times(-1)})


def test_the_margin_in_ratings_of_both_versions() -> None:
    ratings = [3 + x for x in drawn(n=30)]
    old, new = version("old", drawn(n=200), ratings=ratings), version("new", drawn(n=200), ratings=ratings)
    found = gate(compare(old, new, slice_by=[]), 0.3, by_ratings=True)
    (verdict,) = found.verdicts
    assert (found.outcome, verdict.scale, verdict.counted, verdict.n) == ("pass", "rating", "label", 60)
    with pytest.raises(InputError, match="no ratings of both versions"):
        gate(judged(0.0, 1.0).comparison, 0.3, by_ratings=True)


@pytest.mark.parametrize("margin", [0.0, -1.0, float("nan"), float("inf")])
def test_other_margins_are_refused(margin: float) -> None:
    with pytest.raises(InputError, match="the margin must be a positive number"):
        judged(0.0, margin)


def test_a_single_unit_gives_no_verdict() -> None:
    with pytest.raises(InputError, match="only 1 independent unit"):
        gate(compare(version("old", [1.0]), version("new", [1.0])), 1.0)
