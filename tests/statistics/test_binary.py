"""Measures of binary predictions, against plain definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from interloq.learn.calibrate import brier_score, calibration_error, reliability
from interloq.statistics.binary import of_decisions, of_probabilities, of_scores
from interloq.statistics.resampling import bootstrap_counts

Array = NDArray[np.float64]
RNG = np.random.default_rng(0)
SCORES = np.round(RNG.random(60), 1)  # with ties
LABELS = RNG.random(60) < 0.3 + 0.4 * SCORES
CLUSTER = np.sort(RNG.integers(12, size=60))


def plain_auc(scores: Array, labels: NDArray[np.bool_]) -> float:
    positive, negative = scores[labels][:, None], scores[~labels][None]
    return float(((positive > negative) + 0.5 * (positive == negative)).mean())


def plain_f1(predicted: NDArray[np.bool_], labels: NDArray[np.bool_]) -> float:
    both = [(predicted == c, labels == c) for c in (True, False)]
    return float(np.mean([2 * (p & y).sum() / (p.sum() + y.sum()) for p, y in both]))


def plain(scores: Array, labels: NDArray[np.bool_]) -> dict[str, float]:
    return {
        "accuracy": float(((scores >= 0.5) == labels).mean()),
        "macro_f1": plain_f1(scores >= 0.5, labels),
        "ece": calibration_error(reliability(scores, labels)),
        "brier": brier_score(scores, labels),
        "auc": plain_auc(scores, labels),
    }


def test_values_and_intervals_are_those_of_resampled_clusters() -> None:
    how = CLUSTER, 50, 3
    found = of_decisions(SCORES >= 0.5, LABELS, *how) | of_probabilities(SCORES, LABELS, *how)
    found["auc"] = of_scores(SCORES, LABELS, *how)
    assert {name: each.value for name, each in found.items()} == pytest.approx(plain(SCORES, LABELS))
    drawn = []
    for counts in np.concatenate(list(bootstrap_counts(12, 50, 3))):
        rows = np.repeat(np.arange(60), counts[CLUSTER])
        drawn.append(plain(SCORES[rows], LABELS[rows]))
    for name, each in found.items():
        assert each.ci == pytest.approx(tuple(np.percentile([draw[name] for draw in drawn], [2.5, 97.5])))


def test_the_majority_of_the_paper_has_its_published_macro_f1() -> None:
    labels = np.arange(1000) < 564
    found = of_decisions(np.ones(1000, dtype=bool), labels, np.arange(1000), 0, 0)
    assert (found["accuracy"].value, round(found["macro_f1"].value, 3), found["macro_f1"].ci) == (0.564, 0.361, None)


def test_a_class_that_does_not_occur_is_skipped_and_auc_undefined() -> None:
    ones = np.ones(4, dtype=bool)
    assert of_decisions(ones, ones, np.arange(4), 0, 0)["macro_f1"].value == 1
    auc = of_scores(np.arange(4.0), ones, np.arange(4), 10, 0)
    assert (np.isnan(auc.value), auc.ci, auc.note) == (True, None, "all labels are equal")


def test_nothing_to_measure_is_missing() -> None:
    none = np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64)
    found = of_decisions(none[0], *none, 10, 0)
    assert np.isnan(found["accuracy"].value)
    assert found["accuracy"].note == "no sample has a score and a label"
    assert np.isnan(of_scores(np.zeros(0), *none, 10, 0).value)
