"""How near an approximate search comes to an exact one, and the least effort that comes near enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from interloq.retrieve.retriever import Floats

TIE = 1e-5  # scores of unit vectors that differ by less are equal


def as_probes(vectors: Floats) -> Floats:
    """Queries made of stored vectors, each with half of another: near what is stored, but not in it."""
    mixed = vectors + 0.5 * np.roll(vectors, 1, axis=0)
    norms = np.linalg.norm(mixed, axis=1, keepdims=True)
    return np.asarray(mixed / np.where(norms > 0, norms, 1), dtype=np.float32)


def choose_effort(efforts: Iterable[int], recall: Callable[[int], float], wanted: float) -> tuple[int, float]:
    """The first effort that reaches the wanted recall, or the last."""
    effort, reached = 0, 0.0
    for effort in efforts:
        reached = round(recall(effort), 4)
        if reached >= wanted:
            break
    return effort, reached


def share_reaching(found: Floats, truth: Floats) -> float:
    """The share of found scores that reach the last true one: texts that are alike may stand for each other."""
    return float(np.mean(found >= truth[:, -1:] - TIE))


def share_of_scores(found: Floats, truth: Floats) -> float:
    """The share of true scores that were found, where codes blur both alike: equal vectors have equal scores."""
    pairs = zip(found.tolist(), truth.tolist(), strict=True)
    return float(np.mean([(Counter(a) & Counter(b)).total() / len(b) for a, b in pairs]))
