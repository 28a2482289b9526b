"""Scores as predictions of labels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from interloq import InputError, Rating, Sample, Score
from interloq.agree.label_predictors import label_samples, predictors, ratio_threshold
from tests.made_continuity import informed, part


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
