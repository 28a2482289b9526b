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
from interloq.data.records.raters import Normalise, rater_notes, select_ratings
from interloq.data.records.raters import normalise as normalise_ratings
from interloq.errors import InputError, count
from interloq.metrics.metric import Array
from interloq.records import ILLUSTRATIVE, Dialogue, Key, Rating, Sample, format_key
from interloq.scorers.interlocutor.continuity_labels import find_rater
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
        """Return the number of each sample's dialogue, or else of its context: such samples are not independent."""
        dialogues = self.dialogues or [""] * len(self.keys)
        names = []
        for dialogue, context in zip(dialogues, self.contexts.tolist(), strict=True):
            names.append(f"dialogue {dialogue}" if dialogue else f"context {context}")
        return _number(names)

    def sizes(self) -> Index:
        """Return the number of judgments of each sample."""
        return np.bincount(self.sample, minlength=len(self.keys))

    def rated_systems(self) -> list[str]:
        """Return the names of the systems with at least one judgment."""
        names = {name for name, judged in zip(self.systems, self.sizes(), strict=True) if judged and name}
        return sorted(names)

    def mean(self) -> Array:
        """Return the mean judgment of each sample; NaN if it has none."""
        return means(self.sample, self.value, len(self.keys))

    def of(self, annotator: int) -> Array:
        """Return one annotator's judgment of each sample; NaN if there is none."""
        is_theirs = self.annotator == annotator
        row = np.full(len(self.keys), np.nan)
        row[self.sample[is_theirs]] = self.value[is_theirs]
        return row

    def without(self, annotator: int) -> Array:
        """Return the mean judgment of each sample by all annotators but this one."""
        others = self.annotator != annotator
        return means(self.sample[others], self.value[others], len(self.keys))


def means(sample: Index, value: Array, n: int) -> Array:
    """Return the mean value of each sample; NaN if it has none."""
    counts = np.bincount(sample, minlength=n)
    with np.errstate(invalid="ignore"):
        mean, size = np.bincount(sample, value, n) / counts, np.bincount(sample, np.abs(value), n) / counts
    return round_mean(mean, size)


def collect(
    samples: Iterable[Sample], *, aspect: str = "overall", role: str = "", normalise: Normalise = ""
) -> Judgments:
    """Collect the judgments of one aspect, only by people in `role` if it is given.

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
        fitting = select_ratings(sample, aspect, role)
        roles.update(rating.role for rating in fitting)
        rows.append(_row(sample, fitting))
    rows.sort(key=lambda row: row.key)
    _check(rows, aspect, role, seen)
    role_notes = illustrative_note(roles)
    if len(roles) > 1:
        named = sorted(role or "(none)" for role in roles)
        role_notes.append(f"judgments by people in several roles are pooled: {', '.join(named)}")
    return _judgments(rows, aspect, [*role_notes, *notes])


def aspects(samples: Iterable[Sample | Dialogue]) -> dict[str, tuple[int, int, int]]:
    """Return the rated aspects: aspect → (samples or dialogues, judgments, "not applicable")."""
    rated: Counter[str] = Counter()
    judgments: Counter[str] = Counter()
    not_applicable: Counter[str] = Counter()
    for sample in samples:
        rated.update({rating.aspect for rating in sample.ratings})
        for rating in sample.ratings:
            kind = not_applicable if rating.value is None else judgments
            kind[rating.aspect] += 1
    return {name: (rated[name], judgments[name], not_applicable[name]) for name in sorted(rated)}


def default_aspect(rated: Iterable[str]) -> str:
    """Return the aspect to use if none is named: the only rated one, or else `overall`."""
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
    by_rater: dict[str, list[float]] = {}
    for rater, value in usable:
        by_rater.setdefault(rater, []).append(value)
    votes = [("", value) for value in by_rater.pop("", [])]
    votes += [(rater, sum(values) / len(values)) for rater, values in by_rater.items()]
    return _Row(sample.key, context, sample.dialogue, find_rater(sample), tuple(votes), len(usable), missing)


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
    sample, voters, values = [], [], []
    contents = []
    for i, row in enumerate(rows):
        contents.append("\0".join([*filter(None, row.key), repr(row.votes)]))
        for rater, value in row.votes:
            sample.append(i)
            voters.append(rater)
            values.append(value)
    raters = Counter(filter(None, voters))
    annotators = tuple(sorted(rater for rater, n in raters.items() if n > 1))
    number = {rater: i for i, rater in enumerate(annotators)}
    return Judgments(
        aspect=aspect,
        keys=tuple(row.key for row in rows),
        systems=tuple(row.key[1] for row in rows),
        contexts=_number(row.context or f"none {row.key[0]}" for row in rows),
        annotators=annotators,
        sample=np.array(sample, dtype=np.int64),
        annotator=np.array([number.get(rater, NOBODY) for rater in voters], dtype=np.int64),
        value=np.array(values, dtype=np.float64),
        counted=_count_judgments(rows, annotators, raters),
        fingerprint=fingerprint(*contents),
        users=tuple(row.user for row in rows),
        dialogues=tuple(row.dialogue for row in rows),
        notes=(*notes, *_notes(rows, annotators, raters, unnamed=voters.count(""))),
    )


def _number(names: Iterable[str]) -> Index:
    """Number names from 0 in the order of their first occurrence."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _count_judgments(rows: Sequence[_Row], annotators: Sequence[str], raters: Counter[str]) -> Counted:
    rated = judgments = not_applicable = 0
    for row in rows:
        rated += bool(row.votes)
        judgments += row.judgments
        not_applicable += row.not_applicable
    return Counted(
        samples=len(rows),
        rated=rated,
        judgments=judgments,
        not_applicable=not_applicable,
        annotators=len(annotators),
        partial_annotators=sum(raters[rater] < rated for rater in annotators),
        unrated=len(rows) - rated,
    )


def _notes(rows: Sequence[_Row], annotators: Sequence[str], raters: Counter[str], *, unnamed: int) -> list[str]:
    notes = []
    doubles = sum(row.judgments - len(row.votes) for row in rows)
    single = len(raters) - len(annotators)
    if doubles:
        notes.append(f"repeated judgments of a sample by the same rater, averaged into one vote: {doubles}")
    if unnamed:
        notes.append(f"judgments without a rater id, which count in the mean but for no annotator: {unnamed}")
    if single:
        notes.append(f"raters of only one sample, who count in the mean but not as annotators: {single}")
    if annotators and set(annotators) == set(map(str, range(1, len(annotators) + 1))):
        notes.append(
            "annotators are named by position (1, 2, …): their figures are meaningful only if each is one person"
        )
    return notes


def illustrative_note(roles: Iterable[str]) -> list[str]:
    """Return a note if ratings were made up for illustration."""
    return ["ratings are illustrative: no person gave them"] if ILLUSTRATIVE in roles else []
