# SPDX-License-Identifier: Apache-2.0
"""Refuse references that were passed transposed.

Some tools expect one list per *sample*, others one list per *reference set* over all samples. If they are mixed up,
every reply is compared with replies to other contexts, or with every reference, and the score is silently wrong, often
perfect. Transposed records are possible only if no sample has fewer references than there are samples: then reply i
matches the i-th entry of the other lists better than its own list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from interloq.errors import InputError
from interloq.records import Sample

CLEAR = 0.3  # difference in word overlap that counts as evidence; word overlap is an F1 in [0, 1]


class LayoutCheck:
    """Watches a stream of samples; keeps them only while a transposed layout is still possible."""

    def __init__(self) -> None:
        self._samples: list[Sample] | None = []

    def add(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            if self._samples is None:
                return
            self._samples.append(sample)
            width = len(sample.references)
            if width != len(self._samples[0].references) or len(self._samples) > width:
                self._samples = None

    def finish(self) -> None:
        if self._samples and len(self._samples) > 1 and _is_transposed(self._samples):
            n, m = len(self._samples), len(self._samples[0].references)
            raise InputError(
                f"references look transposed: {n} samples with {m} references each, "
                "and each reply matches the references at its own position in the other samples",
                hint="give every sample the list of references to its own context",
            )


def _is_transposed(samples: Sequence[Sample]) -> bool:
    if len({sample.references for sample in samples}) == 1:
        whole = len(samples) == len(samples[0].references)
        if whole and len({sample.context for sample in samples}) == len(samples):
            return True
    evidence = np.zeros(len(samples))
    for i, sample in enumerate(samples):
        column = [other.references[i].text for k, other in enumerate(samples) if k != i]
        row = [reference.text for j, reference in enumerate(sample.references) if j != i]
        evidence[i] = _best_overlap(sample.response, column) - _best_overlap(sample.response, row)
    return bool((evidence > CLEAR).sum() >= 2 and (evidence >= -CLEAR).all())


def _best_overlap(response: str, texts: Sequence[str]) -> float:
    """Return the largest word overlap of a response with one of these texts."""
    words, best = set(response.lower().split()), 0.0
    for text in texts:
        others = set(text.lower().split())
        if words or others:
            best = max(best, 2 * len(words & others) / (len(words) + len(others)))
    return best
