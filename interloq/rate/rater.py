# SPDX-License-Identifier: Apache-2.0
"""Interface of raters, which return samples with a weight on every reference; select references by these weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from interloq.errors import InputError
from interloq.records import Sample
from interloq.retrieve.leaks import is_original
from interloq.signature import Signature


class Rater(Protocol):
    """Rates references; a frozen dataclass whose fields are its whole configuration."""

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        """Return the samples with weights, in the same order; each result depends only on its sample."""

    def signature(self) -> Signature:
        """Return everything that the weights depend on besides the samples."""


def check_best(best: int | None) -> None:
    """Refuse to keep fewer than one reference."""
    if best is not None and best < 1:
        raise InputError(f"best must be at least 1, got {best}", hint="omit it to keep all references")


def select(sample: Sample, *, best: int | None = None, weigh: bool = True) -> Sample:
    """Return the sample with its gold replies and the `best` of its other references by weight, in their order.

    None keeps all. Of references with equal weights, the first ones are kept. With `weigh=False` each kept reference
    has weight 1; a sample without a weight above 0 is unchanged, because its references could not be rated.
    """
    kept = sample.references
    if best is not None:
        others = [i for i, reference in enumerate(kept) if not is_original(reference)]
        dropped = set(sorted(others, key=lambda i: -kept[i].weight)[best:])
        kept = tuple(reference for i, reference in enumerate(kept) if i not in dropped)
    if not weigh and any(reference.weight > 0 for reference in kept):
        kept = tuple(replace(reference, weight=1.0) for reference in kept)
    return replace(sample, references=kept)
