"""The modules of `interloq.statistics`: binary, resampling, rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from interloq.learn.calibrate import brier_score, calibration_error, reliability
from interloq.statistics.binary import measure_auc, measure_decisions, measure_probabilities
from interloq.statistics.resampling import (
    bootstrap_counts,
    cluster_counts,
    half_counts,
    half_interval,
    percentile_interval,
)
from interloq.statistics.rounding import mean_of, round_mean, typical_size

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
    found = measure_decisions(SCORES >= 0.5, LABELS, *how) | measure_probabilities(SCORES, LABELS, *how)
    found["auc"] = measure_auc(SCORES, LABELS, *how)
    assert {name: each.value for name, each in found.items()} == pytest.approx(plain(SCORES, LABELS))
    drawn = []
    for counts in np.concatenate(list(bootstrap_counts(12, 50, 3))):
        rows = np.repeat(np.arange(60), counts[CLUSTER])
        drawn.append(plain(SCORES[rows], LABELS[rows]))
    for name, each in found.items():
        assert each.ci == pytest.approx(tuple(np.percentile([draw[name] for draw in drawn], [2.5, 97.5])))


def test_the_majority_of_the_paper_has_its_published_macro_f1() -> None:
    labels = np.arange(1000) < 564
    found = measure_decisions(np.ones(1000, dtype=bool), labels, np.arange(1000), 0, 0)
    assert (found["accuracy"].value, round(found["macro_f1"].value, 3), found["macro_f1"].ci) == (0.564, 0.361, None)


def test_a_class_that_does_not_occur_is_skipped_and_auc_undefined() -> None:
    ones = np.ones(4, dtype=bool)
    assert measure_decisions(ones, ones, np.arange(4), 0, 0)["macro_f1"].value == 1
    auc = measure_auc(np.arange(4.0), ones, np.arange(4), 10, 0)
    assert (np.isnan(auc.value), auc.ci, auc.note) == (True, None, "all labels are equal")


def test_nothing_to_measure_is_missing() -> None:
    none = np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64)
    found = measure_decisions(none[0], *none, 10, 0)
    assert np.isnan(found["accuracy"].value)
    assert found["accuracy"].note == "no sample has a score and a label"
    assert np.isnan(measure_auc(np.zeros(0), *none, 10, 0).value)


def test_every_resample_has_as_many_items_as_there_are() -> None:
    counts = np.concatenate(list(bootstrap_counts(7, 300, seed=1)))
    assert counts.shape == (300, 7)
    assert set(counts.sum(axis=1)) == {7}
    assert counts.mean() == 1
    assert counts.max() > 1, "items are drawn with replacement"


def test_blocks_do_not_change_the_resamples() -> None:
    n = 2**20  # two resamples per block
    blocks = list(bootstrap_counts(n, 3, seed=5))
    assert [len(block) for block in blocks] == [2, 1]
    rng = np.random.default_rng(5)
    for row in np.concatenate(blocks):
        assert np.array_equal(row, np.bincount(rng.integers(n, size=n), minlength=n))


def test_items_of_a_cluster_are_drawn_together() -> None:
    cluster = np.array([0, 1, 0, 2, 1])
    counts = np.concatenate(list(cluster_counts(cluster, 50, seed=0)))
    assert np.array_equal(counts[:, 0], counts[:, 2])
    assert np.array_equal(counts[:, 1], counts[:, 4])
    assert set(counts[:, [0, 1, 3]].sum(axis=1)) == {3}


def test_halves_are_drawn_without_replacement_and_one_item_is_its_own_half() -> None:
    counts = np.concatenate(list(half_counts(9, 400, seed=2)))
    assert set(counts.ravel()) == {0, 1}
    assert set(counts.sum(axis=1)) == {4}
    assert counts.mean(axis=0) == pytest.approx(np.full(9, 4 / 9), abs=0.1)
    assert np.concatenate(list(half_counts(1, 3, seed=0))).tolist() == [[1], [1], [1]]


def test_the_interval_is_the_middle_95_percent() -> None:
    values = np.append(np.arange(1001.0), np.nan)
    assert percentile_interval(values) == (25.0, 975.0)
    assert np.isnan(percentile_interval(np.array([np.nan]))).all()


def test_halves_vary_as_whole_sets_do_around_their_own_mean() -> None:
    """Halves of an even set need no correction; their interval is moved to the value of the whole set."""
    low, high = half_interval(np.array([5.0, 1.0, 2.0, 3.0]), 10)
    assert (low + high) / 2 == pytest.approx(5)
    assert high - low == pytest.approx(1.9)
    odd = half_interval(np.array([5.0, 1.0, 2.0, 3.0]), 11)  # halves of 5 of 11 vary more than sets of 11
    assert odd[1] - odd[0] == pytest.approx(1.9 * np.sqrt(5 / 6))


SCALES = [1e-200, 1e-14, 1e-11, 1.0, 1e9, 1e80]


@pytest.mark.parametrize("scale", SCALES)
def test_equal_means_tie_in_any_order_and_different_ones_do_not(scale: float) -> None:
    thirds = [0.1, 0.2, 0.7]
    means = [sum(x * scale for x in order) / 3 for order in (thirds, thirds[::-1], [1 / 3] * 3)]
    first, second, third = round_mean(means, [scale] * 3)
    assert first == second == third
    near = round_mean([scale, scale * (1 + 1e-9)], scale)
    assert near[0] < near[1]


@pytest.mark.parametrize("scale", SCALES)
def test_what_vanishes_beside_its_terms_is_zero(scale: float) -> None:
    values = [0.1 * scale, 0.2 * scale, -0.3 * scale]
    assert round_mean(sum(values) / 3, scale) == 0
    assert mean_of(values) == 0
    assert mean_of([scale * 1e-9]) == pytest.approx(scale * 1e-9)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=9), st.randoms())
def test_a_mean_does_not_depend_on_the_order(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert mean_of(values) == mean_of(shuffled)
    assert mean_of(values) == pytest.approx(math.fsum(values) / len(values), rel=1e-10, abs=1e-6)


def test_missing_infinite_and_tiny_values_are_kept() -> None:
    found = round_mean([math.nan, math.inf, 1e-307, 0.0], [1.0, 1.0, 0.0, 0.0])
    assert math.isnan(found[0])
    assert list(found[1:]) == [math.inf, 1e-307, 0.0]


def test_the_typical_size_ignores_signs_and_missing_values() -> None:
    assert typical_size(np.array([-1.0, 3.0]), np.array([math.nan, 2.0])) == 2
    assert typical_size() == 0


def test_twelve_digits_are_kept_and_the_rest_is_rounded() -> None:
    assert round_mean([1.23456789012345, 123456789012.345, 1234567890123.45], 1.0).tolist() == [
        1.23456789012, 123456789012.0, 1234567890120.0,
    ]  # fmt: skip
    assert mean_of([1.23456789012345]) == 1.23456789012
    assert mean_of([1.0, -1.0, 1.0, -1.0 + 1.2e-11]) == pytest.approx(3e-12, rel=1e-3)  # beside a mean size of 1
