# SPDX-License-Identifier: Apache-2.0
"""Removal of repeated texts from more texts than fit into memory."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class UnseenTexts:
    """Stores 64-bit hashes of texts in sorted arrays: 8 bytes per text."""

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def new(self, texts: Sequence[str]) -> list[str]:
        """Return the texts that were not seen before, each once."""
        hashes, first = np.unique(np.array([_hash(text) for text in texts], dtype=np.uint64), return_index=True)
        known = np.zeros(len(hashes), dtype=bool)
        for run in self._runs:
            known |= run[np.searchsorted(run, hashes).clip(max=len(run) - 1)] == hashes
        self._remember(hashes[~known])
        return [texts[i] for i in np.sort(first[~known])]

    def _remember(self, hashes: NDArray[np.uint64]) -> None:
        """Merge runs of similar size, so that there are few of them."""
        if len(hashes):
            self._runs.append(hashes)
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            last = self._runs.pop()
            self._runs[-1] = np.sort(np.concatenate([self._runs[-1], last]))


def _hash(text: str) -> int:
    """Return a hash that is the same in every run, unlike Python's own."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
