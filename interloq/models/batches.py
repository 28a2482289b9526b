# SPDX-License-Identifier: Apache-2.0
"""Batches of examples of similar length, so that little padding is needed, and random draws for each example."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
POOL = 64  # batches' worth of shuffled examples that are sorted by length together
Numbers = NDArray[np.integer]


def bucketed(lengths: Ints, *, size: int, tokens: int, rng: np.random.Generator | None) -> list[Ints]:
    """Split examples into batches of at most `size` examples and at most `tokens` tokens, padding included.

    With `rng`, examples and batches are in random order; without it, everything is sorted by length.
    """
    order = rng.permutation(len(lengths)) if rng is not None else np.arange(len(lengths))
    pool = size * POOL if rng is not None else max(1, len(order))
    batches: list[Ints] = []
    for start in range(0, len(order), pool):
        part = order[start : start + pool]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += _cut(part, lengths[part], size, tokens)
    if rng is None:
        return batches
    return [batches[i] for i in rng.permutation(len(batches))]


def _cut(examples: Ints, lengths: Ints, size: int, tokens: int) -> list[Ints]:
    """The examples are sorted by length, so the last one of a batch is its longest."""
    batches, start = [], 0
    while start < len(examples):
        ahead = lengths[start : start + size]
        fits = ahead * np.arange(1, len(ahead) + 1) <= tokens
        n = len(ahead) if fits.all() else max(1, int(np.argmin(fits)))
        batches.append(examples[start : start + n])
        start += n
    return batches


def mixed(numbers: Numbers, seed: int, draw: int) -> NDArray[np.uint64]:
    """64 random bits per number: a counter, scrambled as in SplitMix64 (Steele et al., 2014)."""
    start = np.random.SeedSequence([seed, draw]).generate_state(1, np.uint64)
    bits = start + numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
