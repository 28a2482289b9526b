# SPDX-License-Identifier: Apache-2.0
"""Batches of examples of similar length, so that little padding is needed, and random draws for each example."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
POOL = 64  # batches' worth of shuffled examples that are sorted by length together
Numbers = NDArray[np.integer]


def lengths_of(rows: Iterable[Sized]) -> Ints:
    """Return the length of each row."""
    return np.array(list(map(len, rows)), dtype=np.int64)


def number_distinct(items: Sequence[Any], *, sort: bool = False) -> tuple[list[Any], Ints]:
    """Return the distinct items, in the order they occur or sorted, and the number of each item among them."""
    distinct = sorted(set(items)) if sort else list(dict.fromkeys(items))
    numbers = {item: number for number, item in enumerate(distinct)}
    return distinct, np.array([numbers[item] for item in items], dtype=np.int64)


def make_batches(
    lengths: Ints,
    *,
    size: int,
    tokens: int,
    rng: np.random.Generator | None,
    padded: bool = True,
    keys: NDArray[Any] | None = None,
) -> list[Ints]:
    """Split examples into batches of at most `size` examples and at most `tokens` tokens, padding included.

    With `rng`, examples and batches are in random order; without it, everything is sorted by length, or by `keys`:
    neighbours in their order share a batch. If they may not be padded, only examples of equal length share a batch.
    """
    if keys is None:
        keys = lengths
    order, pool = np.arange(len(lengths)), max(1, len(lengths))
    if rng is not None:
        order, pool = rng.permutation(len(lengths)), size * POOL
    batches: list[Ints] = []
    for start in range(0, len(order), pool):
        part = order[start : start + pool]
        part = part[np.argsort(keys[part], kind="stable")]
        for batch in _cut(part, lengths[part], size, tokens):
            batches += [batch] if padded else np.split(batch, np.flatnonzero(np.diff(lengths[batch])) + 1)
    if rng is None:
        return batches
    return [batches[i] for i in rng.permutation(len(batches))]


def _cut(examples: Ints, lengths: Ints, size: int, tokens: int) -> list[Ints]:
    """Cut sorted examples into batches."""
    batches, start = [], 0
    while start < len(examples):
        ahead = np.maximum.accumulate(lengths[start : start + size])
        fits = ahead * np.arange(1, len(ahead) + 1) <= tokens
        n = len(ahead)
        if not fits.all():
            n = max(1, int(np.argmin(fits)))
        batches.append(examples[start : start + n])
        start += n
    return batches


def random_bits(numbers: Numbers, seed: int, draw: int) -> NDArray[np.uint64]:
    """Return 64 random bits per number: a counter, scrambled as in SplitMix64 (Steele et al., 2014)."""
    start = np.random.SeedSequence([seed, draw]).generate_state(1, np.uint64)
    bits = start + numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
