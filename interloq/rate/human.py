# SPDX-License-Identifier: Apache-2.0
"""Weights from people, as in ΔBLEU (Galley et al., 2015).

w = 2 · (m − low) / (high − low) − 1,  m the mean of people's ratings of the reference.

A person who rated a reference twice has one vote, the mean of both. "Not applicable" is not a vote. A reference without
votes has weight 0: nobody knows whether it is good, so it must neither raise nor lower a reply's score. Only a gold
reply (one that came with the sample) then has weight 1, because it was written as an answer to this dialogue;
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

from interloq.data.files.opening import check_size
from interloq.data.records.jsonl import read
from interloq.errors import InputError, SpecError
from interloq.rate.rater import Rater
from interloq.records import Key, Rating, Reference, Sample, format_key
from interloq.retrieve.leaks import is_original
from interloq.signature import Signature, file_fingerprint, signature

MOST = 2**28  # bytes of ratings: more than people ever give
UNKNOWN, GOLD = 0.0, 1.0  # weights of references without votes


@dataclass(frozen=True)
class Human(Rater, name="human"):
    """Weights from people's ratings."""

    places = ("ratings",)
    rates_all = False
    ratings: Annotated[
        str, "JSONL of ratings; `item` is `<sample id>/<index of the reference, from 0>`, `system` the sample's"
    ]
    low: Annotated[float, "worst value of the scale"] = 1
    high: Annotated[float, "best value of the scale"] = 5
    aspect: Annotated[str, "aspect to use; others are ignored"] = "overall"
    gold: Annotated[bool, "whether a gold reply without a rating has weight 1"] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise SpecError(f"human: low must be below high, got {self.low} and {self.high}")

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        rated = []
        for sample in samples:
            references = tuple(
                self._set_weight(reference, self._weight(key, reference)) for key, reference in list_references(sample)
            )
            rated.append(replace(sample, references=references))
        return rated

    def counts(self, samples: Sequence[Sample]) -> dict[str, int]:
        """Return the numbers of rated references, unrated gold replies and other unrated references."""
        counts = {"rated": 0, "unrated_gold": 0, "unrated": 0}
        for sample in samples:
            for key, reference in list_references(sample):
                if self._weight(key, reference) is not None:
                    counts["rated"] += 1
                elif self._is_gold(reference):
                    counts["unrated_gold"] += 1
                else:
                    counts["unrated"] += 1
        return counts

    def find_judged(self, sample: Sample) -> list[bool]:
        return [self._weight(key, reference) is not None for key, reference in list_references(sample)]

    def find_used(self, sample: Sample) -> set[Key]:
        keys: set[Key] = set()
        for (item, system), _ in list_references(sample):
            keys |= {(item, system), (item, "")}
        return keys & self._weights.keys()

    def example(self) -> str:
        return format_key(min(self._weights))

    def items(self) -> int:
        return len(self._weights)

    def signature(self) -> Signature:
        return signature(self, ratings=self._fingerprint)

    def _set_weight(self, reference: Reference, weight: float | None) -> Reference:
        if weight is None:
            weight = GOLD if self._is_gold(reference) else UNKNOWN
        return replace(reference, weight=weight)

    def _is_gold(self, reference: Reference) -> bool:
        return self.gold and is_original(reference)

    def _weight(self, key: Key, reference: Reference) -> float | None:
        """Return the weight of a reference from ratings of its system, or else from ratings without a system.

        Return None if it is unrated.
        """
        weights, everyone = self._weights, (key[0], "")
        if everyone in weights:
            meant = self._meant.setdefault(key[0], reference.text)
            if meant != reference.text:
                raise InputError(
                    f"the rating of {key[0]!r} has no system, but systems have different references there: "
                    f"{meant!r:.60} and {reference.text!r:.60}",
                    hint='add "system" to the rating',
                    where=self.ratings,
                )
        return weights.get(key, weights.get(everyone))

    @cached_property
    def _meant(self) -> dict[str, str]:
        """Text that a rating without a system refers to, by item."""
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
                f"cannot read {self.ratings}: {error.strerror}", hint="use a file of ratings of references"
            ) from error


def read_votes(path: str, aspect: str) -> dict[Key, list[Rating]]:
    """Return the ratings of references by item and system, without "not applicable"."""
    check_size(path, limit=MOST)
    votes: dict[Key, list[Rating]] = {}
    aspects = set()
    for rating in read(path, kind="ratings", strict=True):
        aspects.add(rating.aspect)
        if rating.aspect == aspect and rating.value is not None:
            if not rating.item:
                raise InputError("a rating has no item", hint="write <sample id>/<index of the reference>", where=path)
            votes.setdefault((rating.item, rating.system), []).append(rating)
    if not votes:
        raise InputError(
            f"no usable rating of aspect {aspect!r}", hint=f"rated aspects: {', '.join(sorted(aspects))}", where=path
        )
    return votes


def votes_for(votes: Mapping[Key, list[Rating]], key: Key) -> list[Rating]:
    """Return the ratings of a reference: a rating without a system counts for the item of every system."""
    item, system = key
    everyone = votes.get((item, ""), []) if system else []
    return votes.get(key, []) + everyone


def list_references(sample: Sample) -> list[tuple[Key, Reference]]:
    """Return the references of a sample with their keys: `<sample id>/<index>` and the sample's system."""
    return [((f"{sample.id}/{place}", sample.system), reference) for place, reference in enumerate(sample.references)]


def _weights(path: str, low: float, high: float, aspect: str) -> Mapping[Key, float]:
    votes = read_votes(path, aspect)
    weights = {}
    for key in votes:
        own = votes_for(votes, key)
        for rating in own:
            if rating.value is not None and not low <= rating.value <= high:
                raise InputError(
                    f"the rating {rating.value:g} of {rating.item!r} is outside {low:g} to {high:g}",
                    hint="fix it, or set low and high to the scale people used",
                    where=path,
                )
        weights[key] = 2 * (_mean(own) - low) / (high - low) - 1
    return weights


def _mean(ratings: Sequence[Rating]) -> float:
    """Return the mean over people: each has one vote, and every rating without a rater is another person."""
    people: dict[str, list[float]] = {}
    for i, rating in enumerate(ratings):
        if rating.value is not None:
            person = f"rater {rating.rater}" if rating.rater else f"{i}"
            people.setdefault(person, []).append(rating.value)
    return fmean(sorted(fmean(sorted(values)) for values in people.values()))
