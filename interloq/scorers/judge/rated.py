# SPDX-License-Identifier: Apache-2.0
"""Rated replies of several sets, and what can be learned from them about each aspect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.errors import InputError, count
from interloq.learn.job import Report
from interloq.records import Sample
from interloq.retrieve.leaks import context_of
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge.ridge import Floats, Ints, ranks
from interloq.signature import fingerprint

SHARE = 10  # one of so many contexts of a set is held out


@dataclass(frozen=True, slots=True)
class AspectRatings:
    """Replies that an aspect is learned from, as places in `Rated.samples`, with the ranks of their ratings.

    `skipped` are the numbers of the sets that have too few of its ratings.
    """

    which: Ints
    targets: Floats
    skipped: Sequence[int]


@dataclass(frozen=True, slots=True)
class Rated:
    """Rated replies with their mean ratings by aspect, the numbers of their sets and contexts, and the sets' names."""

    samples: Sequence[Sample]
    means: Sequence[Mapping[str, float]]
    sets: Ints
    contexts: Ints
    names: Sequence[str]
    omitted: int  # samples without a reply, a context or ratings

    @classmethod
    def of(cls, log: TrainingLog) -> Rated:
        """Read the files, each of which is one set."""
        return cls.of_sets([(Path(path).name, log.rated(path)) for path in log.files])

    @classmethod
    def of_sets(cls, sets: Sequence[tuple[str, Iterable[Sample]]]) -> Rated:
        """Collect sets, given with their names."""
        every = [(sample, i, _means(sample)) for i, (_, samples) in enumerate(sets) for sample in samples]
        kept = [one for one in every if one[0].response.strip() and context_of(one[0]) and one[2]]
        numbers = {context: i for i, context in enumerate(sorted({context_of(sample) for sample, *_ in kept}))}
        return cls(
            [sample for sample, *_ in kept],
            [means for *_, means in kept],
            np.array([i for _, i, _ in kept], dtype=np.int64),
            np.array([numbers[context_of(sample)] for sample, *_ in kept], dtype=np.int64),
            [name for name, _ in sets],
            len(every) - len(kept),
        )

    @property
    def summary(self) -> str:
        """The counts in words."""
        replies = count(len(self.samples), "rated reply", "rated replies")
        return f"{replies}, {count(self.omitted, 'sample')} omitted that lack a reply, a context or ratings"

    @property
    def aspects(self) -> list[str]:
        """Everything that was rated."""
        return sorted({name for row in self.means for name in row})

    def ratings(self, aspect: str, least: int) -> AspectRatings:
        """Replies of the sets with `least` replies that have different ratings and contexts."""
        values = np.array([row.get(aspect, np.nan) for row in self.means])
        groups = [np.flatnonzero((self.sets == i) & np.isfinite(values)) for i in range(len(self.names))]
        kept = [len(g) >= least and bool(np.ptp(values[g])) and bool(np.ptp(self.contexts[g])) for g in groups]
        used = [group for group, known in zip(groups, kept, strict=True) if known]
        return AspectRatings(
            np.concatenate([np.zeros(0, dtype=np.int64), *used]),
            np.concatenate([np.zeros(0), *(ranks(values[group]) for group in used)]),
            [i for i, known in enumerate(kept) if not known],
        )

    def all_ratings(self, least: int, report: Report) -> dict[str, AspectRatings]:
        """Ratings of every aspect that can be learned."""
        found = {aspect: self.ratings(aspect, least) for aspect in self.aspects}
        for aspect in [name for name, own in found.items() if not len(own.which)]:
            report(f"{aspect} is skipped: no set has {_wanted(least)}")
            del found[aspect]
        if not found:
            raise InputError("no aspect has enough ratings", hint="use more rated replies, or lower --least")
        return found

    def ratings_of(self, aspect: str, least: int, report: Report) -> AspectRatings:
        """Ratings of one aspect; sets without enough of them are reported."""
        found = self.ratings(aspect, least)
        if not len(found.which):
            known = f"--aspect is one of {', '.join(self.aspects)}" if self.aspects else "use samples with ratings"
            hint = "use more rated replies, or lower --least" if aspect in self.aspects else known
            raise InputError(f"no set has enough ratings of {aspect!r}", hint=hint)
        for i in found.skipped:
            report(f"{self.names[i]} is skipped: it does not have {_wanted(least)} of {aspect!r}")
        return found


def held_out(samples: Sequence[Sample], sets: Ints) -> NDArray[np.bool_]:
    """Replies to a tenth of each set's contexts, those with the first hashes; in other sets these are held out too."""
    hashes = np.array([fingerprint(*context_of(sample)) for sample in samples])
    own = [np.unique(hashes[sets == number]) for number in np.unique(sets)]
    return np.isin(hashes, np.concatenate([part[: max(1, round(len(part) / SHARE))] for part in own]))


def _wanted(least: int) -> str:
    return f"{least} replies to different contexts with different ratings"


def _means(sample: Sample) -> dict[str, float]:
    """Mean rating by aspect."""
    values: dict[str, list[float]] = {}
    for rating in sample.ratings:
        if rating.value is not None:
            values.setdefault(rating.aspect, []).append(rating.value)
    return {aspect: float(np.mean(found)) for aspect, found in values.items()}
