# SPDX-License-Identifier: Apache-2.0
"""How many more references a set needs to reach a reliability, judged by how predictions grow in a set of samples.

Each query's own references are put in random orders. The rise at size k is the mean difference between the predictions
for the first k + 1 and the first k references, over all queries with more than k. A set of size n with prediction p is
expected to reach the wanted reliability with m more references if p + the rises at sizes n … n + m − 1 reach it.
Nothing is extrapolated: the number is unknown if too few queries here have so many references.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interloq.reliability.labels import distinct_texts
from interloq.signature import fingerprint

QUERIES, ORDERS = 200, 3  # most queries, and random orders of the references of each
LARGEST = 20  # references: larger sets are rare
FEWEST = 5  # queries: the mean of fewer would be chance


@dataclass(frozen=True, slots=True)
class Rise:
    """Mean rise of the prediction from `size` references to one more, over some queries."""

    size: int
    mean: float
    queries: int


def rises(
    model: Any, queries: Sequence[Sequence[str]], reference_sets: Sequence[Sequence[str]], *, seed: int = 0
) -> list[Rise]:
    """Return rises by size, up to the first size that fewer than FEWEST queries exceed."""
    useful = set()
    for query, references in zip(queries, reference_sets, strict=True):
        texts = distinct_texts(references)
        if len(texts) > 1 and any(turn.strip() for turn in query):
            useful.add((tuple(query), texts))
    chosen = sorted(useful, key=lambda pair: fingerprint(str(seed), *pair[0], *pair[1]))[:QUERIES]
    if len(chosen) < FEWEST:
        return []
    set_queries: list[tuple[str, ...]] = []
    sets: list[list[str]] = []
    sizes = []
    for turns, texts in chosen:
        rng = np.random.default_rng(int(fingerprint(str(seed), *turns, *texts), 16))
        size = min(len(texts), LARGEST)
        sizes.append(size)
        for _ in range(ORDERS):
            order = [texts[i] for i in rng.permutation(len(texts))[:LARGEST]]
            sets += [order[: i + 1] for i in range(size)]
            set_queries += [turns] * size
    return _means(np.asarray(model.predict(set_queries, sets).mean), sizes)


def _means(values: Any, sizes: Sequence[int]) -> list[Rise]:
    """Return mean differences by size; `values` belong to the growing sets of every order of every query."""
    differences = np.full((len(sizes), LARGEST - 1), np.nan)
    start = 0
    for row, size in zip(differences, sizes, strict=True):
        query_values = values[start : start + size * ORDERS].reshape(ORDERS, size)
        row[: size - 1] = np.diff(query_values, axis=1).mean(axis=0)
        start += size * ORDERS
    counts = (~np.isnan(differences)).sum(axis=0)
    known = [size for size in range(1, LARGEST) if counts[size - 1] >= FEWEST]
    return [Rise(size, float(np.nanmean(differences[:, size - 1])), int(counts[size - 1])) for size in known]


def needed(value: float, size: int, wanted: float, known_rises: Sequence[Rise]) -> int | None:
    """Return the number of further references expected to reach `wanted`; None if the known sizes do not reach it."""
    by_size = {rise.size: rise.mean for rise in known_rises}
    more = 0
    while not math.isnan(value) and value < wanted:
        if size + more not in by_size:
            return None
        value += by_size[size + more]
        more += 1
    return None if math.isnan(value) else more
