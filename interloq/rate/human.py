"""Weights from people, as in ΔBLEU (Galley et al., 2015).

w = 2 · (m − low) / (high − low) − 1,  m the mean over people of what they gave the reference.

A person who rated a reference twice has one vote, the mean of both. "Not applicable" is not a vote. A reference without
a vote gets weight 0: nobody knows whether it is good, so it may neither earn nor cost a reply anything. Only a gold
reply (one that came with the sample) has weight 1 then, as somebody meant it as an answer to this very dialogue;
`gold=False` treats it like the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Annotated

from interloq.data.files import check_size
from interloq.data.jsonl import read
from interloq.errors import InputError, SpecError
from interloq.records import Key, Rating, Reference, Sample, format_key
from interloq.registry import Component
from interloq.retrieve.leaks import is_original
from interloq.signature import Signature, file_fingerprint, signature

MOST = 2**28  # bytes of ratings: more than people give in a lifetime
UNKNOWN, GOLD = 0.0, 1.0  # weights without a vote


@dataclass(frozen=True)
class Human(Component):
    """Weights from the ratings of people."""

    places = ("ratings",)
    ratings: Annotated[
        str, "JSONL of ratings; `item` is `<sample id>/<place of the reference, from 0>`, `system` the sample's"
    ]
    low: Annotated[float, "the worst value of the scale"] = 1
    high: Annotated[float, "the best value of the scale"] = 5
    aspect: Annotated[str, "the aspect that counts; others are ignored"] = "overall"
    gold: Annotated[bool, "whether a gold reply without a rating has weight 1"] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise SpecError(f"human: low must be below high, got {self.low} and {self.high}")

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        return [
            replace(sample, references=tuple(self._rated(r, self._weight(key, r)) for key, r in _items(sample)))
            for sample in samples
        ]

    def counts(self, samples: Sequence[Sample]) -> dict[str, int]:
        """How many references people have rated, and how many of the others are gold replies."""
        unrated = [r for sample in samples for key, r in _items(sample) if self._weight(key, r) is None]
        gold = sum(self._is_gold(r) for r in unrated)
        total = sum(len(sample.references) for sample in samples)
        return {"rated": total - len(unrated), "unrated_gold": gold, "unrated": len(unrated) - gold}

    def judged(self, sample: Sample) -> list[bool]:
        """Which references of a sample people have rated."""
        return [self._weight(key, reference) is not None for key, reference in _items(sample)]

    def used(self, sample: Sample) -> set[Key]:
        """The rated items, by name and system, that are references of this sample."""
        keys = {meant for (item, system), _ in _items(sample) for meant in ((item, system), (item, ""))}
        return keys & self._weights.keys()

    def example(self) -> str:
        """One of the rated items, for messages."""
        return format_key(min(self._weights))

    def items(self) -> int:
        """How many items the file rates; more than are `used` means ratings of something else."""
        return len(self._weights)

    def signature(self) -> Signature:
        return signature(self, ratings=self._fingerprint)

    def _rated(self, reference: Reference, weight: float | None) -> Reference:
        if weight is None:
            weight = GOLD if self._is_gold(reference) else UNKNOWN
        return replace(reference, weight=weight)

    def _is_gold(self, reference: Reference) -> bool:
        return self.gold and is_original(reference)

    def _weight(self, key: Key, reference: Reference) -> float | None:
        """What people gave a reference: those who named its system, and those who named none."""
        weights, everyone = self._weights, (key[0], "")
        if everyone in weights:
            meant = self._meant.setdefault(key[0], reference.text)
            if meant != reference.text:
                raise InputError(
                    f"the rating of {key[0]!r} names no system, and systems have different references there: "
                    f"{meant!r:.60} and {reference.text!r:.60}",
                    hint='add "system" to the rating',
                    where=self.ratings,
                )
        return weights.get(key, weights.get(everyone))

    @cached_property
    def _meant(self) -> dict[str, str]:
        """Which text a rating without a system was of."""
        return {}

    @cached_property
    def _weights(self) -> Mapping[Key, float]:
        return _weights(self.ratings, float(self.low), float(self.high), self.aspect)

    @cached_property
    def _fingerprint(self) -> str:
        try:
            return file_fingerprint(Path(self.ratings))
        except OSError as error:
            raise InputError(
                f"cannot read {self.ratings}: {error.strerror}", hint="name a file of ratings of references"
            ) from error


def _items(sample: Sample) -> list[tuple[Key, Reference]]:
    return [((f"{sample.id}/{place}", sample.system), reference) for place, reference in enumerate(sample.references)]


def _weights(path: str, low: float, high: float, aspect: str) -> Mapping[Key, float]:
    """Weights by item and system; a vote that names no system counts for the item of each."""
    check_size(path, limit=MOST)
    votes: dict[Key, list[Rating]] = {}
    aspects = set()
    for rating in read(path, kind="ratings", strict=True):
        aspects.add(rating.aspect)
        if rating.aspect == aspect and rating.value is not None:
            votes.setdefault((_item(rating, path, low, high), rating.system), []).append(rating)
    if not votes:
        raise InputError(
            f"no usable rating of aspect {aspect!r}", hint=f"rated aspects: {', '.join(sorted(aspects))}", where=path
        )
    whole = {key: given + (votes.get((key[0], ""), []) if key[1] else []) for key, given in votes.items()}
    return {key: 2 * (_mean(given) - low) / (high - low) - 1 for key, given in whole.items()}


def _item(rating: Rating, path: str, low: float, high: float) -> str:
    if not rating.item:
        raise InputError("a rating has no item", hint="write <sample id>/<place of the reference>", where=path)
    if rating.value is None or not low <= rating.value <= high:
        raise InputError(
            f"the rating {rating.value:g} of {rating.item!r} is outside {low:g} to {high:g}",
            hint="fix it, or set low and high to the scale people used",
            where=path,
        )
    return rating.item


def _mean(given: Sequence[Rating]) -> float:
    """Of people, not of judgments: who rated twice has one vote. Those without a name are people each."""
    people: dict[str, list[float]] = {}
    for i, rating in enumerate(given):
        if rating.value is not None:
            people.setdefault(f"rater {rating.rater}" if rating.rater else f"{i}", []).append(rating.value)
    return fmean(sorted(fmean(sorted(values)) for values in people.values()))
