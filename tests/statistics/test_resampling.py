from __future__ import annotations

import numpy as np
import pytest

from interloq.statistics.resampling import (
    bootstrap_counts,
    cluster_counts,
    half_counts,
    half_interval,
    percentile_interval,
)


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


def test_halves_are_drawn_without_replacement() -> None:
    counts = np.concatenate(list(half_counts(9, 400, seed=2)))
    assert set(counts.ravel()) == {0, 1}
    assert set(counts.sum(axis=1)) == {4}
    assert counts.mean(axis=0) == pytest.approx(np.full(9, 4 / 9), abs=0.1)


def test_one_item_is_its_own_half() -> None:
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
