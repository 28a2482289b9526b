# SPDX-License-Identifier: Apache-2.0
"""Interface of raters, which return samples with a weight on every reference; select references by these weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Protocol, cast

from interloq.errors import InputError
from interloq.records import Key, Sample
from interloq.registry import Component, complete, create
from interloq.retrieve.leaks import is_original
from interloq.signature import Signature


class RaterLike(Protocol):
    """What a rater must have; `as_rater` adds the rest."""

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        """Return the samples with weights, in the same order; each result depends only on its sample."""

    def signature(self) -> Signature:
        """Return everything that the weights depend on besides the samples."""


class Rater(Component, kind="rater"):
    """Base of raters: a frozen dataclass whose fields are its whole configuration.

    A rater must define `rate` and `signature`. The other defaults suit raters that rate every reference; a rater that
    knows only some (`human`) says which. A class that does not inherit from here gets the defaults from `as_rater`.
    """

    rates_all: ClassVar[bool] = True  # false: weight 0 may mean that it knows nothing about a reference

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        """Return the samples with weights, in the same order; each result depends only on its sample."""
        raise NotImplementedError

    def signature(self) -> Signature:
        """Return everything that the weights depend on besides the samples."""
        raise NotImplementedError

    def find_judged(self, sample: Sample) -> list[bool]:
        """Return which references of a sample it has rated."""
        return [True] * len(sample.references)

    def counts(self, samples: Sequence[Sample]) -> dict[str, int]:  # noqa: ARG002
        """Return further counts for the summary of a rating, among them `rated`; none if it rates everything."""
        return {}

    def find_used(self, sample: Sample) -> set[Key]:  # noqa: ARG002
        """Return its rated items (name and system) that are references of this sample."""
        return set()

    def example(self) -> str:
        """Return a rated item, for messages."""
        return ""

    def items(self) -> int:
        """Return the number of its rated items; if `find_used` finds fewer, some belong to other samples."""
        return 0


def as_rater(rater: RaterLike | str) -> Rater:
    """Return the rater of a spec, or the given one; its class gets the defaults of `Rater` that it lacks."""
    if isinstance(rater, str):
        rater = create(rater, kind="rater")
    complete(type(rater), "rater")
    return cast("Rater", rater)


def check_best(best: int | None) -> None:
    """Refuse to keep fewer than one reference."""
    if best is not None and best < 1:
        raise InputError(f"best must be at least 1, got {best}", hint="omit it to keep all references")


def select(sample: Sample, *, best: int | None = None, weigh: bool = True) -> Sample:
    """Return the sample with its gold replies and the `best` of its other references by weight, in their order.

    None keeps all. If weights are equal, the first references are kept. With `weigh=False` each kept reference has
    weight 1; a sample without a weight above 0 is unchanged, because its references could not be rated.
    """
    kept = sample.references
    if best is not None:
        others = [i for i, reference in enumerate(kept) if not is_original(reference)]
        dropped = set(sorted(others, key=lambda i: -kept[i].weight)[best:])
        kept = tuple(reference for i, reference in enumerate(kept) if i not in dropped)
    if not weigh and any(reference.weight > 0 for reference in kept):
        kept = tuple(replace(reference, weight=1.0) for reference in kept)
    return replace(sample, references=kept)
