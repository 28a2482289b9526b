# SPDX-License-Identifier: Apache-2.0
"""Select rated references, with or without their weights."""

from __future__ import annotations

from dataclasses import replace

from interloq.errors import InputError
from interloq.records import Sample
from interloq.retrieve.leaks import is_original


def check_best(best: int | None) -> None:
    """Refuse to keep fewer than one reference."""
    if best is not None and best < 1:
        raise InputError(f"best must be at least 1, got {best}", hint="omit it to keep all references")


def select(sample: Sample, *, best: int | None = None, weigh: bool = True) -> Sample:
    """The sample with its gold replies and the `best` of its other references by weight, in their order.

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
