"""A name for a set of samples, as signatures have it."""

from __future__ import annotations

from collections.abc import Iterable

from interloq.records import Sample
from interloq.signature import fingerprint


class SampleFingerprint:
    """One name for a set of samples, whatever their order: the sum of what each sample hashes to.

    A system counts where there is one: who said what is part of the set, and values by system depend on it.
    """

    def __init__(self) -> None:
        self._sum, self._fewest, self._most = 0, None, 0

    _fewest: int | None

    def add(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            references = [f"{r.text}\0{r.weight!r}" for r in sample.references]
            told = ["\0".join([sample.id, sample.response, *references]), sample.system]
            self._sum += int(fingerprint(*filter(None, told)), 16)
            count = len(sample.references)
            self._most = max(self._most, count)
            self._fewest = count if self._fewest is None else min(self._fewest, count)

    def references(self) -> str:
        """How many references a sample has: `1`, or `1-17` where it varies."""
        fewest = self._fewest or 0
        return str(fewest) if fewest == self._most else f"{fewest}-{self._most}"

    def __str__(self) -> str:
        return f"{self._sum % 2**64:016x}"
