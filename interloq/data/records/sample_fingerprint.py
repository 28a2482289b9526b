# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of sets of samples, for signatures, and of single samples, for score files.

The fingerprint of a sample has three parts, `reply-context-references`, each of eight hexadecimal digits, or empty
without a context or references. It tells whether scores belong to these samples, and whether two versions had the same
references; ids, systems, ratings, spaces and the Unicode form of texts do not matter.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple, overload
from zlib import crc32

import numpy as np

from interloq.data.text.joined_texts import JoinedTexts
from interloq.records import Sample
from interloq.signature import fingerprint


class SamplePrint(NamedTuple):
    """Parts of the fingerprint of one sample; all are empty if it is unknown."""

    reply: str = ""
    context: str = ""
    references: str = ""

    def __str__(self) -> str:
        return "-".join(self)


def sample_print(sample: Sample) -> SamplePrint:
    """Return the fingerprint of a sample."""
    return _as_print(_numbers(sample, [_plain(reference.text) for reference in sample.references]))


def read_print(text: str) -> SamplePrint:
    """Read the fingerprint in a score file; one that cannot be read is unknown."""
    parts = text.split("-")
    if len(parts) != len(SamplePrint._fields):
        return SamplePrint()
    return SamplePrint(*parts)


class SamplePrints(Sequence[str]):
    """Fingerprints of many samples, twelve bytes each."""

    def __init__(self, numbers: array[int] | None = None) -> None:
        self._numbers = array("I") if numbers is None else numbers

    def add(self, samples: Sequence[Sample], references: JoinedTexts) -> None:
        """Add samples; `references` are the texts of all their references."""
        texts = list(references.texts)
        for i in np.flatnonzero(~references.have_plain_spaces()).tolist():
            texts[i] = _plain(texts[i])
        stop = 0
        for sample in samples:
            start, stop = stop, stop + len(sample.references)
            self._numbers.extend(_numbers(sample, texts[start:stop]))

    def sums(self, systems: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        """Return sums over the replies, contexts and references of each system; `systems` names that of each sample."""
        sums = dict.fromkeys(systems, (0, 0, 0))
        for i, system in enumerate(systems):
            reply, context, references = sums[system]
            numbers = self._numbers[3 * i : 3 * i + 3]
            sums[system] = (reply + numbers[0], context + numbers[1], references + numbers[2])
        return sums

    def select(self, places: Iterable[int]) -> SamplePrints:
        """Return the fingerprints of these samples."""
        chosen = array("I")
        for i in places:
            chosen.extend(self._numbers[3 * i : 3 * i + 3])
        return SamplePrints(chosen)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[str]: ...
    def __getitem__(self, i: int | slice) -> str | Sequence[str]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        return str(_as_print(self._numbers[3 * i : 3 * i + 3]))

    def __len__(self) -> int:
        return len(self._numbers) // 3


def _numbers(sample: Sample, plain_references: Sequence[str]) -> tuple[int, int, int]:
    reply, context, references = _hash(_plain(sample.response)), 0, 0
    if turns := "\0".join([turn.text for turn in sample.context]):
        context = _hash(_plain(turns))
    if sample.references:
        weights = [reference.weight for reference in sample.references]
        texts = [f"{text}\0{weight!r}" for text, weight in zip(plain_references, weights, strict=True)]
        references = _hash("\0".join(sorted(texts)))
    return reply, context, references


def _as_print(numbers: Sequence[int]) -> SamplePrint:
    return SamplePrint(*(f"{number:08x}" if number else "" for number in numbers))


def _plain(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split())


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass")) or 1  # 0 stands for an empty part


class SampleFingerprint:
    """Fingerprint of a set of samples, independent of their order: the sum of the samples' hashes.

    Systems are included if there are any, because values by system depend on them.
    """

    def __init__(self) -> None:
        self._sum, self._fewest, self._most = 0, None, 0
        self.is_ascii = True  # of all texts that were added

    _fewest: int | None

    def add(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            references = [f"{r.text}\0{r.weight!r}" for r in sample.references]
            parts = ["\0".join([sample.id, sample.response, *references]), sample.system]
            self._sum += int(fingerprint(*filter(None, parts)), 16)
            self.is_ascii = self.is_ascii and parts[0].isascii() and all(turn.text.isascii() for turn in sample.context)
            count = len(sample.references)
            self._most = max(self._most, count)
            self._fewest = count if self._fewest is None else min(self._fewest, count)

    def references(self) -> str:
        """Return the number of references per sample: `1`, or `1-17` if it varies."""
        fewest = self._fewest or 0
        if fewest == self._most:
            return str(fewest)
        return f"{fewest}-{self._most}"

    def __str__(self) -> str:
        return f"{self._sum % 2**64:016x}"
