"""Batches hold each example once, within their limits, in an order that the seed alone decides."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from interloq.models.batches import POOL, make_batches, random_bits

LENGTHS = st.lists(st.integers(1, 40), max_size=300).map(lambda values: np.array(values, dtype=np.int64))


@given(lengths=LENGTHS, size=st.integers(1, 9), tokens=st.integers(1, 200), seed=st.none() | st.integers(0, 99))
def test_each_example_once_and_no_batch_too_large(
    lengths: np.ndarray, size: int, tokens: int, seed: int | None
) -> None:
    batches = make_batches(lengths, size=size, tokens=tokens, rng=None if seed is None else np.random.default_rng(seed))
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert 1 <= len(batch) <= size
        assert len(batch) == 1 or len(batch) * lengths[batch].max() <= tokens


@given(lengths=LENGTHS, size=st.integers(1, 9), tokens=st.integers(1, 200))
def test_without_a_seed_all_are_sorted_and_batches_are_as_full_as_they_may_be(
    lengths: np.ndarray, size: int, tokens: int
) -> None:
    batches = make_batches(lengths, size=size, tokens=tokens, rng=None)
    order = [i for batch in batches for i in batch.tolist()]
    assert order == sorted(range(len(lengths)), key=lambda i: (lengths[i], i))
    for batch, after in pairwise(batches):  # the next example would not have fitted
        assert len(batch) == size or (len(batch) + 1) * lengths[after[0]] > tokens


@given(lengths=LENGTHS, seed=st.integers(0, 99))
def test_the_seed_decides(lengths: np.ndarray, seed: int) -> None:
    first, second = (
        [batch.tolist() for batch in make_batches(lengths, size=3, tokens=60, rng=np.random.default_rng(seed))]
        for _ in range(2)
    )
    assert first == second


def test_random_batches_are_in_random_order_and_of_like_length() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, size=20 * POOL)
    one, other = (
        [batch.tolist() for batch in make_batches(lengths, size=10, tokens=10**6, rng=np.random.default_rng(seed))]
        for seed in (1, 2)
    )
    assert one != other
    spread = np.mean([np.ptp(lengths[batch]) for batch in one])
    assert spread < 5  # of ten at random it would be about 80
    means = [lengths[batch].mean() for batch in one]
    assert np.abs(np.corrcoef(means[1:], means[:-1])[0, 1]) < 0.3


def test_mixing_has_no_collisions_and_even_bits() -> None:
    bits = random_bits(np.arange(100_000), 0, 0)
    assert len(np.unique(bits)) == 100_000
    ones = [float(((bits >> np.uint64(i)) & np.uint64(1)).mean()) for i in range(64)]
    assert all(abs(share - 0.5) < 0.01 for share in ones)
