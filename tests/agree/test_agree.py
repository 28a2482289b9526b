"""The modules of `interloq.agree`: label predictors, levels, score slope, table."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from interloq import InputError, Rating, Sample, Score
from interloq.agree.agreement import meta_evaluate
from interloq.agree.judgments import collect
from interloq.agree.label_predictors import label_samples, predictors, ratio_threshold
from interloq.agree.levels import Samples, level
from interloq.agree.score_slope import check_slope, in_ratings, score_slope
from interloq.agree.table import MetaTable
from tests.made_continuity import informed, part
from tests.made_grid import grid


def test_the_ratio_threshold_predicts_as_many_replies_as_there_were() -> None:
    scores, labels = np.array([0.1, 0.2, 0.2, 0.7, math.nan]), np.array([1.0, 0.0, 0.0, 0.0, 1.0])
    assert ratio_threshold(scores, labels) == 0.7
    assert ratio_threshold(scores, 1 - labels) == 0.2  # three of four
    assert ratio_threshold(scores, np.ones(5)) == 0.1


def test_thresholds_are_named_and_metrics_without_one_have_only_an_auc() -> None:
    test, dev = part("t", 20), part("d", 20, seed=1)
    given = [*informed(test), *informed(test, "raw", scale=9), *informed(test, "other", scale=9)]
    given += [*informed(dev), *informed(dev, "raw", scale=9)]
    one, two = label_samples(test, "continued"), label_samples(dev, "continued")
    found, notes = predictors([*given, Score("d0#1", "dev only", 1.0)], one, two)
    rows = [row for each in found for row in each.rows(one, np.ones(len(test), dtype=bool), 0, 0)]
    assert [(row.metric, row.threshold) for row in rows] == [
        ("dcp", "half"), ("dcp", "reply-ratio"), ("other", "none"), ("raw", "reply-ratio"),
    ]  # fmt: skip
    by_name = {row.metric: row for row in rows}
    assert math.isnan(by_name["other"].measures["accuracy"].value)
    assert by_name["other"].measures["accuracy"].note.startswith("no threshold")
    assert by_name["other"].measures["auc"].value == by_name["raw"].measures["auc"].value > 0.6
    assert by_name["raw"].measures["ece"].note == "scores are not between 0 and 1"
    ratio = np.mean([sample.ratings[0].value for sample in dev])
    assert by_name["raw"].predicted == pytest.approx(ratio, abs=0.2)
    assert notes == ["dev only: only dev samples have scores, so it is not evaluated"]


def test_lower_may_be_better() -> None:
    test, dev = part("t", 20), part("d", 20, seed=1)
    one, two = label_samples(test, "continued"), label_samples(dev, "continued")
    name = "perplexity(model='none')"
    turned = [Score(s.id, name, -(s.value or 0)) for s in (*informed(test), *informed(dev))]
    (worse,), (better,) = (predictors(s, one, two)[0] for s in (turned, [*informed(test), *informed(dev)]))
    own = np.ones(len(test), dtype=bool)
    low, high = next(worse.rows(one, own, 0, 0)), list(better.rows(one, own, 0, 0))[1]
    assert (low.threshold, low.cut) == ("reply-ratio", -high.cut)
    assert low.measures["accuracy"] == high.measures["accuracy"]


def test_ratings_that_are_not_labels_are_refused() -> None:
    samples = [Sample("a#1", "Hi", "Hello", ratings=[Rating(1.0, "x", "continued"), Rating(0.0, "y", "continued")])]
    with pytest.raises(InputError, match=r"of 'a#1' is 0\.5, but labels are 0 or 1"):
        label_samples(samples, "continued")


def test_nothing_scored_is_nan_at_every_level() -> None:
    judgments, _ = grid()
    for by in ("none", "system", "sample"):
        found = level(by, judgments).estimates(np.full(60, np.nan), judgments.mean())
        assert all(math.isnan(e.value) and e.note for e in found.values())


def test_unknown_level() -> None:
    with pytest.raises(InputError, match="cannot correlate by 'item'"):
        level("item", grid()[0])  # type: ignore[arg-type]
    assert level("none", grid()[0]) == Samples()


def test_samples_of_named_dialogues_are_resampled_together() -> None:
    rng = np.random.default_rng(0)
    people, scores = rng.normal(size=(2, 30))
    scores += people
    names = [f"{i:02}.{k}" for i in range(30) for k in range(4)]
    samples = [Sample(id, ["hi"], "x", ratings=[people[int(id[:2])]], dialogue=id[:2]) for id in names]
    judgments, column = collect(samples), np.repeat(scores, 4)
    level_of = {"dialogues": level("none", judgments), "samples": Samples()}
    assert level_of["samples"].notes() == []
    assert "30 dialogues" in level_of["dialogues"].notes()[0]
    assert level_of["dialogues"].estimates(column, judgments.mean())["pearson"].p is None
    spread = {}
    for name, one in level_of.items():
        spread[name] = float(np.std(one.resampled(column, judgments.mean(), 400, 0)["pearson"]))
    assert spread["dialogues"] == pytest.approx(2 * spread["samples"], rel=0.2)
    swapped = level_of["dialogues"].exchanged(column, -column, judgments.mean(), 200, 0)["pearson"]
    alone = level_of["samples"].exchanged(column, -column, judgments.mean(), 200, 0)["pearson"]
    assert swapped[0] == alone[0]
    assert np.std(swapped[1:]) > 1.5 * np.std(alone[1:])  # fewer units are exchanged
    each = collect([replace(sample, dialogue=sample.id) for sample in samples])
    assert level("none", each) == Samples()


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


LONG = "bleu(level='sentence',order=2)"


def table(samples: list[Sample]) -> MetaTable:
    scores = [Score(s.id, f"short={LONG}", float(s.id), system=s.system) for s in samples]
    scores += [Score(s.id, "length", float(len(s.response)), system=s.system) for s in samples]
    return meta_evaluate(scores, samples, n_bootstrap=0, n_permutations=10)


def test_labels_stand_for_metrics_in_rows_comparisons_and_notes(samples: list[Sample]) -> None:
    noted = replace(table(samples), notes=(f"short={LONG}: a note",))
    shown = noted.labelled()
    assert [row.metric for row in shown.rows] == ["length", "short"]
    assert {name for c in shown.comparisons for name in (c.first, c.second)} == {"length", "short"}
    assert shown.notes == ("short: a note",)
    assert noted.rows[1].metric == f"short={LONG}", "the table itself keeps the specs"


def test_there_is_one_row_per_metric_and_coefficient(samples: list[Sample]) -> None:
    found = table(samples)
    rows = found._shown_rows()
    assert [(row["metric"], row["coefficient"]) for row in rows] == [
        (row.metric, name) for row in found.rows for name in ("pearson", "spearman", "kendall")
    ]
    assert rows[0]["value"] == found.rows[0].with_mean["pearson"].value
    assert "6 rated samples" in repr(found)
