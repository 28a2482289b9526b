# SPDX-License-Identifier: Apache-2.0
"""People's judgments of one aspect, collected from samples, in an order that does not depend on the file.

An annotator is a rater id that rated at least two samples. Ratings without a rater id, and ids seen on only one sample,
count in the mean judgment, in split halves and in α, but have no row of their own. A rater who judged a sample twice
gets one vote, the mean of the two. All votes have the same weight in a sample's mean judgment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from interloq.agree.table import Counted
from interloq.data.records.raters import Normalise, rater_notes, selected_ratings
from interloq.data.records.raters import normalise as normalise_ratings
from interloq.errors import InputError, count
from interloq.metrics.metric import Array
from interloq.records import ILLUSTRATIVE, Dialogue, Key, Rating, Sample, format_key
from interloq.scorers.interlocutor.samples import rated_by
from interloq.signature import fingerprint
from interloq.statistics.rounding import round_mean

Index = NDArray[np.int64]
NOBODY = -1
MOST_UNSCORED = 0.2  # share of rated samples that a metric may leave unscored: they may differ from the others
LARGEST = 1e100  # largest rating: above it, sums of squares overflow


@dataclass(frozen=True, slots=True)
class Judgments:
    """Samples sorted by id and system, and all their usable judgments, sample by sample."""

    aspect: str
    keys: tuple[Key, ...]
    systems: tuple[str, ...]
    contexts: Index  # context number of each sample; samples without a context share one only if their ids are equal
    annotators: tuple[str, ...]
    sample: Index  # of each judgment
    annotator: Index  # of each judgment, or NOBODY
    value: Array  # of each judgment
    counted: Counted
    fingerprint: str
    users: tuple[str, ...] = ()  # interlocutor of each sample; empty if nobody rated it in this role
    dialogues: tuple[str, ...] = ()  # that each sample names; empty if it names none
    notes: tuple[str, ...] = ()

    def clusters(self) -> Index:
        """Number of each sample's dialogue, or else of its context: samples with the same are not independent."""
        numbers: dict[str, int] = {}
        named = zip(self.dialogues or [""] * len(self.keys), self.contexts.tolist(), strict=True)
        names = [f"dialogue {dialogue}" if dialogue else f"context {context}" for dialogue, context in named]
        return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)

    def sizes(self) -> Index:
        """Number of judgments of each sample."""
        return np.bincount(self.sample, minlength=len(self.keys))

    def mean(self) -> Array:
        """Mean judgment of each sample; NaN if it has none."""
        return means(self.sample, self.value, len(self.keys))

    def of(self, annotator: int) -> Array:
        """One annotator's judgment of each sample; NaN if there is none."""
        own = self.annotator == annotator
        row = np.full(len(self.keys), np.nan)
        row[self.sample[own]] = self.value[own]
        return row

    def without(self, annotator: int) -> Array:
        """Mean judgment of each sample by all others."""
        others = self.annotator != annotator
        return means(self.sample[others], self.value[others], len(self.keys))


def means(sample: Index, value: Array, n: int) -> Array:
    """Mean value of each sample; NaN if it has none."""
    with np.errstate(invalid="ignore"):
        mean, size = (np.bincount(sample, v, n) / np.bincount(sample, minlength=n) for v in (value, np.abs(value)))
    return round_mean(mean, size)


def collect(
    samples: Iterable[Sample], *, aspect: str = "overall", role: str = "", normalise: Normalise = ""
) -> Judgments:
    """Judgments of one aspect, only by people in `role` if it is given.

    `normalise` puts the ratings of each rater on a common scale: their z-scores or ranks; see
    `interloq.data.records.raters`.
    """
    samples = list(samples)
    notes = rater_notes(samples, aspect=aspect, role=role, normalised=bool(normalise))
    if normalise:
        samples, left_out = normalise_ratings(samples, normalise, aspect=aspect, role=role)
        notes += left_out
    seen: Counter[str] = Counter()
    roles: set[str] = set()
    rows: list[_Row] = []
    for sample in samples:
        seen.update(rating.aspect for rating in sample.ratings)
        fitting = selected_ratings(sample, aspect, role)
        roles.update(rating.role for rating in fitting)
        rows.append(_row(sample, fitting))
    rows.sort(key=lambda row: row.key)
    _check(rows, aspect, role, seen)
    return _judgments(rows, aspect, [*_role_notes(roles), *notes])


def aspects(samples: Iterable[Sample | Dialogue]) -> dict[str, tuple[int, int, int]]:
    """Rated aspects: aspect → (samples or dialogues, judgments, "not applicable")."""
    found: dict[str, list[int]] = {}
    for sample in samples:
        for name in {rating.aspect for rating in sample.ratings}:
            values = [rating.value for rating in sample.ratings if rating.aspect == name]
            entry, missing = found.setdefault(name, [0, 0, 0]), values.count(None)
            for i, more in enumerate((1, len(values) - missing, missing)):
                entry[i] += more
    return {name: (entry[0], entry[1], entry[2]) for name, entry in sorted(found.items())}


def default_aspect(rated: Iterable[str]) -> str:
    """The aspect to use if none is named: the only rated one, or else `overall`."""
    names = list(rated)
    return names[0] if len(names) == 1 else "overall"


@dataclass(frozen=True, slots=True)
class _Row:
    key: Key
    context: str
    dialogue: str
    user: str
    votes: tuple[tuple[str, float], ...]  # (rater, value), in a fixed order
    judgments: int
    not_applicable: int


def _row(sample: Sample, ratings: Sequence[Rating]) -> _Row:
    context = fingerprint(*[turn.text for turn in sample.context]) if sample.context else ""
    usable = sorted((rating.rater, rating.value) for rating in ratings if rating.value is not None)
    for _, value in usable:
        if abs(value) > LARGEST:
            raise InputError(
                f"the rating {value:g} of {format_key(sample.key)} is too large to be averaged", hint="correct it"
            )
    missing = len(ratings) - len(usable)
    return _Row(sample.key, context, sample.dialogue, rated_by(sample), _votes(usable), len(usable), missing)


def _votes(usable: Sequence[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    by_rater: dict[str, list[float]] = {}
    for rater, value in usable:
        by_rater.setdefault(rater, []).append(value)
    unnamed = [("", value) for value in by_rater.pop("", [])]
    return (*unnamed, *((rater, sum(given) / len(given)) for rater, given in by_rater.items()))


def _check(rows: Sequence[_Row], aspect: str, role: str, seen: Counter[str]) -> None:
    for first, second in pairwise(rows):
        if first.key == second.key:
            raise InputError(
                f"duplicate sample {format_key(first.key)}", hint="give every sample of a system its own id"
            )
    if any(row.votes for row in rows):
        return
    if not seen:
        raise InputError(
            f"no ratings in {count(len(rows), 'sample')}", hint='give samples "ratings": [{"value": 4, …}]'
        )
    if aspect not in seen:
        hint = f"rated aspects: {', '.join(sorted(seen))}; choose one with --aspect"
        raise InputError(f"no ratings of aspect {aspect!r}", hint=hint)
    by = f" by people in role {role!r}" if role else ""
    missing = sum(row.not_applicable for row in rows)
    raise InputError(
        f"no usable ratings of {aspect!r}{by}: {missing} are 'not applicable'", hint="choose another aspect"
    )


def _judgments(rows: Sequence[_Row], aspect: str, notes: Sequence[str]) -> Judgments:
    raters = Counter(rater for row in rows for rater, _ in row.votes if rater)
    annotators = tuple(sorted(rater for rater, n in raters.items() if n > 1))
    number = {rater: i for i, rater in enumerate(annotators)}
    return Judgments(
        aspect=aspect,
        keys=tuple(row.key for row in rows),
        systems=tuple(row.key[1] for row in rows),
        contexts=_context_numbers(rows),
        annotators=annotators,
        sample=np.array([i for i, row in enumerate(rows) for _ in row.votes], dtype=np.int64),
        annotator=np.array([number.get(rater, NOBODY) for row in rows for rater, _ in row.votes], dtype=np.int64),
        value=np.array([value for row in rows for _, value in row.votes], dtype=np.float64),
        counted=_counted(rows, annotators, raters),
        fingerprint=fingerprint(*("\0".join([*filter(None, row.key), repr(row.votes)]) for row in rows)),
        users=tuple(row.user for row in rows),
        dialogues=tuple(row.dialogue for row in rows),
        notes=(*notes, *_notes(rows, annotators, raters)),
    )


def _context_numbers(rows: Sequence[_Row]) -> Index:
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(row.context or f"none {row.key[0]}", len(numbers)) for row in rows], dtype=np.int64
    )


def _counted(rows: Sequence[_Row], annotators: Sequence[str], raters: Counter[str]) -> Counted:
    rated = sum(bool(row.votes) for row in rows)
    return Counted(
        samples=len(rows),
        rated=rated,
        judgments=sum(row.judgments for row in rows),
        not_applicable=sum(row.not_applicable for row in rows),
        annotators=len(annotators),
        partial_annotators=sum(raters[rater] < rated for rater in annotators),
        unrated=len(rows) - rated,
    )


def _notes(rows: Sequence[_Row], annotators: Sequence[str], raters: Counter[str]) -> list[str]:
    notes = []
    doubles = sum(row.judgments - len(row.votes) for row in rows)
    unnamed = sum(not rater for row in rows for rater, _ in row.votes)
    single = len(raters) - len(annotators)
    if doubles:
        notes.append(f"repeated judgments of a sample by the same rater, averaged into one vote: {doubles}")
    if unnamed:
        notes.append(f"judgments without a rater id, which count in the mean but for no annotator: {unnamed}")
    if single:
        notes.append(f"raters of only one sample, who count in the mean but not as annotators: {single}")
    if annotators and set(annotators) == {str(i + 1) for i in range(len(annotators))}:
        notes.append(
            "annotators are named by position (1, 2, …): their figures are meaningful only if each is one person"
        )
    return notes


def illustrative_note(roles: Iterable[str]) -> list[str]:
    """A note if ratings were made up for illustration."""
    return ["ratings are illustrative: no person gave them"] if ILLUSTRATIVE in roles else []


def _role_notes(roles: set[str]) -> list[str]:
    named = sorted(role or "(none)" for role in roles)
    pooled = [f"judgments by people in several roles are pooled: {', '.join(named)}"] if len(named) > 1 else []
    return [*illustrative_note(roles), *pooled]
