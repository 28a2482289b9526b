"""What stands behind a number: every field of the metric, its references, seed, resamples and versions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from interloq.records import Sample
from interloq.registry import full_spec
from interloq.version import __version__


def signature(component: Any, **facts: object) -> str:
    """`bleu(order=4,…)|tokenizer:13a-…|seed:0|version:0.1.0`: facts in the order given, version last."""
    parts = [full_spec(component)]
    tokenizer = getattr(component, "tokenizer", None)
    if tokenizer is not None:
        parts.append(f"tokenizer:{tokenizer.signature()}")
    if hasattr(component, "built_with"):  # a metric that rests on another package names it and its version
        parts.append(f"built-with:{component.built_with()}")
    parts += [f"{name}:{value}" for name, value in facts.items()]
    return "|".join([*parts, f"version:{__version__}"])


def fingerprint(*parts: str | bytes) -> str:
    """Sixteen hexadecimal digits that name these texts, in this order."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def short(signature: str) -> str:
    """Twelve hexadecimal digits that stand for a signature where people read."""
    return fingerprint(signature)[:12]


def file_fingerprint(path: Path) -> str:
    """A short hash of a file's contents."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


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
