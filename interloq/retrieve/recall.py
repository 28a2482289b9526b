# SPDX-License-Identifier: Apache-2.0
"""Recall of approximate search, and the least effort that reaches a wanted recall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from interloq.retrieve.retriever import Floats

TIE = 1e-5  # scores of unit vectors that differ by less count as equal


def as_probes(vectors: Floats) -> Floats:
    """Return queries made from stored vectors, each mixed with half of another: near to them, but not equal to any."""
    mixed = vectors + 0.5 * np.roll(vectors, 1, axis=0)
    norms = np.linalg.norm(mixed, axis=1, keepdims=True)
    return np.asarray(mixed / np.where(norms > 0, norms, 1), dtype=np.float32)


def choose_effort(efforts: Iterable[int], recall: Callable[[int], float], wanted: float) -> tuple[int, float]:
    """Return the first effort that reaches the wanted recall, or the last one, and the recall it reaches."""
    effort, reached = 0, 0.0
    for effort in efforts:
        reached = round(recall(effort), 4)
        if reached >= wanted:
            break
    return effort, reached


def share_reaching(found: Floats, truth: Floats) -> float:
    """Return the share of found scores that reach the last true score: equal texts are interchangeable."""
    return float(np.mean(found >= truth[:, -1:] - TIE))


def share_of_scores(found: Floats, truth: Floats) -> float:
    """Return the share of true scores that were found; both come from the codes, so equal vectors have equal scores."""
    pairs = zip(found.tolist(), truth.tolist(), strict=True)
    return float(np.mean([(Counter(a) & Counter(b)).total() / len(b) for a, b in pairs]))
