# SPDX-License-Identifier: Apache-2.0
"""Fingerprint of a set of samples, for signatures."""

from __future__ import annotations

from collections.abc import Iterable

from interloq.records import Sample
from interloq.signature import fingerprint


class SampleFingerprint:
    """Fingerprint of a set of samples, independent of their order: the sum of the samples' hashes.

    Systems are included if there are any, because values by system depend on them.
    """

    def __init__(self) -> None:
        self._sum, self._fewest, self._most = 0, None, 0

    _fewest: int | None

    def add(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            references = [f"{r.text}\0{r.weight!r}" for r in sample.references]
            parts = ["\0".join([sample.id, sample.response, *references]), sample.system]
            self._sum += int(fingerprint(*filter(None, parts)), 16)
            count = len(sample.references)
            self._most = max(self._most, count)
            self._fewest = count if self._fewest is None else min(self._fewest, count)

    def references(self) -> str:
        """Number of references per sample: `1`, or `1-17` if it varies."""
        fewest = self._fewest or 0
        return str(fewest) if fewest == self._most else f"{fewest}-{self._most}"

    def __str__(self) -> str:
        return f"{self._sum % 2**64:016x}"
