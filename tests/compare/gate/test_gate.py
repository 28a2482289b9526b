"""Verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from interloq import InputError
from interloq.agree.score_slope import score_slope
from interloq.compare.compare import compare
from interloq.compare.comparison import Comparison
from interloq.compare.gate.gate import EXIT_CODES, Gate, gate
from tests.made_versions import METRIC, drawn, version


def judged(shift: float, margin: float, *, n: int = 40, noise: float = 1.0, lower: bool | None = None) -> Gate:
    rng = np.random.default_rng(0)
    new = [v + shift + noise * rng.normal() for v in drawn(n=n)]
    metric = METRIC if lower is None else "made"
    versions = version("old", drawn(n=n), metric=metric), version("new", new, metric=metric)
    found = compare(*versions, slice_by=[], lower_is_better=lower)
    return gate(found, margin)


@pytest.mark.parametrize(
    ("shift", "lower", "outcome"),
    [
        (0.0, None, "pass"),
        (-0.3, None, "pass"),
        (-0.9, None, "undecided"),
        (-2.0, None, "regression"),
        (2.0, True, "regression"),
        (-2.0, True, "pass"),
    ],
)
def test_three_verdicts(shift: float, lower: bool | None, outcome: str) -> None:
    found = judged(shift, 1.0, lower=lower)
    assert found.outcome == outcome
    assert found.exit_code == {"pass": 0, "undecided": 4, "regression": 3}[outcome]
    assert 1 not in EXIT_CODES.values()


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
    bad = replace(change, metric="bleu", difference=-5.0, ci=(-5.1, -4.9), error=0.05, p=0.001, p_adjusted=0.002)
    assert gate(replace(good, changes=(change, bad)), 0.5).outcome == "regression"


def test_adjustment_for_more_tests_needs_more_units() -> None:
    found = judged(-1.1, 1.0)
    (alone,) = found.verdicts
    (change,) = found.comparison.changes
    both = gate(replace(found.comparison, changes=(change, replace(change, metric="bleu"))), 1.0)
    assert alone.needed
    assert [verdict.needed and verdict.needed > alone.needed for verdict in both.verdicts] == [True, True]


def test_nothing_to_gate_is_refused() -> None:
    with pytest.raises(InputError, match="no metric to gate by"):
        gate(judged(0.0, 1.0).comparison, 1.0, metrics=["bleu"])


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


def labelled(rated: Iterable[int]) -> Comparison:
    """Two equally good versions of which people rated these units."""
    versions = []
    for side, seed in (("old", 3), ("new", 4)):
        scores = drawn(n=200, seed=seed)
        noise = np.random.default_rng(seed).normal(scale=0.1, size=200)
        ratings = [3 + scores[i] + noise[i] if i in rated else math.nan for i in range(200)]
        versions.append(version(side, scores, ratings=ratings))
    return compare(versions[0], versions[1], slice_by=[])


def test_labels_that_were_chosen_by_score_decide_nothing() -> None:
    assert gate(labelled(range(0, 200, 5)), 0.3, by_ratings=True).outcome == "pass"
    order = np.argsort(drawn(n=200, seed=3)).tolist()
    for chosen in (order[:40], order[-40:], [*order[:20], *order[-20:]]):
        (verdict,) = gate(labelled(chosen), 0.3, by_ratings=True).verdicts
        assert (verdict.outcome, verdict.needed) == ("undecided", None)
        assert "not a random sample" in verdict.reason
    assert gate(labelled(range(200)), 0.3, by_ratings=True).outcome == "pass"  # all units are rated
    (verdict,) = gate(labelled(range(6)), 0.3, by_ratings=True).verdicts
    assert "too few independent labels" in verdict.reason


def test_the_margin_in_ratings_of_both_versions() -> None:
    found = gate(labelled(range(30)), 0.3, by_ratings=True)
    (verdict,) = found.verdicts
    assert (found.outcome, verdict.scale, verdict.counted, verdict.n) == ("pass", "rating", "label", 60)
    with pytest.raises(InputError, match="no ratings of both versions"):
        gate(judged(0.0, 1.0).comparison, 0.3, by_ratings=True)


@pytest.mark.parametrize(("n", "shift"), [(1, 0.0), (2, -0.1), (9, 0.0), (9, -3.0)])
def test_too_few_units_decide_nothing(n: int, shift: float) -> None:
    new = version("new", [value + shift for value in drawn(n=n, seed=5)])
    (verdict,) = gate(compare(version("old", drawn(n=n)), new), 1.0).verdicts
    assert (verdict.outcome, verdict.needed) == ("undecided", None)
    assert "too few independent samples" in verdict.reason


def test_differences_that_do_not_vary_cannot_pass() -> None:
    for shift, outcome in ((-0.1, "undecided"), (0.0, "undecided"), (0.1, "pass"), (-2.0, "regression")):
        new = version("new", [value + shift for value in drawn()])
        (verdict,) = gate(compare(version("old", drawn()), new, slice_by=[]), 1.0).verdicts
        assert verdict.outcome == outcome
        assert ("the same for every sample" in verdict.reason) == (outcome == "undecided")


def test_a_version_against_itself_decides_nothing() -> None:
    old, new = version("bot", drawn()), version("bot", drawn(seed=2))  # a judge that gives other scores each time
    found = compare(old, new, slice_by=[])
    assert found.same_replies
    for allow_constant in (False, True):
        (verdict,) = gate(found, 5.0, allow_constant=allow_constant).verdicts
        assert verdict.outcome == "undecided"
        assert "the same replies" in verdict.reason


def test_compare_and_gate_never_contradict_each_other() -> None:
    rng = np.random.default_rng(7)
    seen: set[tuple[str, str]] = set()
    for _ in range(60):
        n, shift, noise = int(rng.integers(2, 60)), rng.normal(scale=0.7), rng.uniform(0.05, 1.5)
        values = drawn(n=n)
        heavy = [v + shift + noise * x for v, x in zip(values, rng.standard_t(2, size=n), strict=True)]
        topics, dialogue = ["food", "law"][: int(rng.integers(0, 3))], int(rng.integers(0, 4))
        old, new = (version(s, v, topics=topics, dialogue=dialogue) for s, v in (("old", values), ("new", heavy)))
        found = compare(old, new, n_permutations=200)
        assert found.overall() == compare(old, new, slice_by=[], n_permutations=200).overall()
        margin = float(rng.uniform(0.01, 1.0))
        for verdict in gate(found, margin, slices="no-regression" if len(found.changes) > 1 else "shown").verdicts:
            change = next(c for c in found.changes if (c.metric, c.slice) == (verdict.metric, verdict.slice))
            seen.add((verdict.outcome, change.verdict))
            if verdict.outcome == "regression":
                assert change.verdict == "worse"
            if verdict.outcome == "pass" and change.verdict == "worse":
                assert change.difference > -margin
                assert "worse, but not worse by more than the margin" in verdict.reason
    assert {("regression", "worse"), ("pass", "worse"), ("pass", "not shown"), ("undecided", "not shown")} <= seen


def sliced(shifts: dict[str, float], n: int = 60) -> Comparison:
    """A comparison in which each topic has a loss of its own."""
    topics = list(shifts)
    rng = np.random.default_rng(0)
    new = [v + shifts[topics[i % len(topics)]] + 0.3 * rng.normal() for i, v in enumerate(drawn(n=n))]
    old = version("old", drawn(n=n), topics=topics)
    return compare(old, version("new", new, topics=topics), slice_by=["topic"])


def test_slices_are_gated_if_asked() -> None:
    found = sliced({"food": 0.0, "law": -1.5, "art": 1.5})
    assert gate(found, 0.5).outcome == "pass"
    gated = gate(found, 0.5, slices="no-regression")
    assert (gated.outcome, gated.exit_code) == ("regression", 3)
    assert [(v.name, v.outcome) for v in gated.verdicts] == [
        ("chrf", "pass"),
        ("chrf, topic: art", "pass"),
        ("chrf, topic: food", "pass"),
        ("chrf, topic: law", "regression"),
    ]
    with pytest.raises(InputError, match="no slices to gate"):
        gate(judged(0.0, 1.0).comparison, 1.0, slices="pass")


def test_undecided_slices_count_only_if_all_must_pass() -> None:
    found = sliced({"food": 0.3, "law": -0.5})
    outcomes = {v.name: v.outcome for v in gate(found, 0.5, slices="no-regression").verdicts}
    assert outcomes == {"chrf": "pass", "chrf, topic: food": "pass", "chrf, topic: law": "undecided"}
    assert gate(found, 0.5, slices="no-regression").outcome == "pass"
    assert gate(found, 0.5, slices="pass").outcome == "undecided"


def test_regressions_of_slices_are_adjusted_for_all_slices() -> None:
    found = sliced({"food": 0.5, "law": -0.68})
    law = next(c for c in found.changes if c.slice == "topic: law")
    alone = replace(found, changes=(replace(law, slice=""),))
    assert gate(alone, 0.5).outcome == "regression"
    verdict = gate(found, 0.5, slices="no-regression").verdicts[-1]
    assert (verdict.name, verdict.outcome) == ("chrf, topic: law", "undecided")
    assert verdict.ci[1] < -0.5
    assert verdict.p == pytest.approx(2 * gate(alone, 0.5).verdicts[0].p)
    assert "worse by more than the margin, but not after adjustment for all tests (p = 0.0" in verdict.reason
    assert "more samples in this slice would decide" in verdict.reason


def test_a_metric_that_gives_one_score_to_all_decides_nothing() -> None:
    found = compare(version("old", [0.0] * 20), version("new", [0.0] * 20), slice_by=[])
    (verdict,) = gate(found, 0.5).verdicts
    assert (verdict.outcome, verdict.needed) == ("undecided", None)
    assert verdict.reason.startswith("every sample of both versions has the score 0; gain +0 [0, 0]")
    assert verdict.reason.endswith("this metric cannot tell the versions apart")
    assert gate(found, 0.5, allow_constant=True).outcome == "pass"
    same = compare(version("old", drawn()), version("new", drawn()), slice_by=[])
    assert gate(same, 0.5).outcome == "undecided"
    assert gate(same, 0.5, allow_constant=True).outcome == "pass"
