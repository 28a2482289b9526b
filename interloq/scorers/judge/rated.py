# SPDX-License-Identifier: Apache-2.0
"""Rated replies of several sets: what can be learned from them about each aspect, and their tokens on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.durable import atomic_path
from interloq.data.files.opening import reading_saved
from interloq.data.text.token_texts import Texts
from interloq.errors import InputError, count
from interloq.learn.job import Report
from interloq.records import Sample
from interloq.retrieve.leaks import context_of
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.judge.model import pair_hash, texts_of
from interloq.scorers.judge.settings import TuneSettings
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.signature import fingerprint
from interloq.statistics.ridge import Floats, Ints, RatedStates, ranks

REPLIES = "replies.npz"
SHARE = 10  # one in SHARE contexts of each set is held out


@dataclass(frozen=True, slots=True)
class AspectRatings:
    """Replies that an aspect is learned from, as indices of `RatedSets.samples`, with the ranks of their ratings.

    `skipped` has the numbers of the sets with too few ratings of the aspect.
    """

    which: Ints
    targets: Floats
    skipped: Sequence[int]


@dataclass(frozen=True, slots=True)
class RatedSets:
    """Rated replies with their mean ratings by aspect, the numbers of their sets and contexts, and the sets' names."""

    samples: Sequence[Sample]
    means: Sequence[Mapping[str, float]]
    sets: Ints
    contexts: Ints
    names: Sequence[str]
    omitted: int  # samples without a reply, a context or ratings

    @classmethod
    def of(cls, log: TrainingLog) -> RatedSets:
        """Read the files, each of which is one set."""
        return cls.of_sets([(Path(path).name, log.rated_samples(path)) for path in log.files])

    @classmethod
    def of_sets(cls, sets: Sequence[tuple[str, Iterable[Sample]]]) -> RatedSets:
        """Collect sets, given with their names."""
        names, rated_samples, ratings, set_numbers, contexts = [], list[Sample](), [], list[int](), []
        omitted = 0
        for number, (name, samples) in enumerate(sets):
            names.append(name)
            for sample in samples:
                means, context = _means(sample), context_of(sample)
                if not (sample.response.strip() and context and means):
                    omitted += 1
                    continue
                rated_samples.append(sample)
                ratings.append(means)
                set_numbers.append(number)
                contexts.append(context)
        place = {context: i for i, context in enumerate(sorted(set(contexts)))}
        return cls(
            rated_samples,
            ratings,
            np.array(set_numbers, dtype=np.int64),
            np.array([place[context] for context in contexts], dtype=np.int64),
            names,
            omitted,
        )

    @property
    def summary(self) -> str:
        """The counts as a phrase."""
        replies = count(len(self.samples), "rated reply", "rated replies")
        return f"{replies}, {count(self.omitted, 'sample')} omitted that lack a reply, a context or ratings"

    @property
    def aspects(self) -> list[str]:
        """The rated aspects."""
        return sorted(set(chain.from_iterable(self.means)))

    def ratings(self, aspect: str, least: int) -> AspectRatings:
        """Return the replies of the sets with `least` replies that have different ratings and contexts."""
        values = np.array([row.get(aspect, np.nan) for row in self.means])
        which, targets, skipped = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], []
        for i in range(len(self.names)):
            group = np.flatnonzero((self.sets == i) & np.isfinite(values))
            if len(group) >= least and np.ptp(values[group]) and np.ptp(self.contexts[group]):
                which.append(group)
                targets.append(ranks(values[group]))
            else:
                skipped.append(i)
        return AspectRatings(np.concatenate(which), np.concatenate(targets), skipped)

    def all_ratings(self, least: int, report: Report) -> dict[str, AspectRatings]:
        """Return the ratings of every aspect that can be learned."""
        learnable = {}
        for aspect in self.aspects:
            ratings = self.ratings(aspect, least)
            if len(ratings.which):
                learnable[aspect] = ratings
            else:
                report(f"{aspect} is skipped: no set has {_describe_requirement(least)}")
        if not learnable:
            raise InputError("no aspect has enough ratings", hint="use more rated replies, or lower --least")
        return learnable

    def ratings_of(self, aspect: str, least: int, report: Report) -> AspectRatings:
        """Return the ratings of one aspect; sets without enough of them are reported."""
        ratings = self.ratings(aspect, least)
        if not len(ratings.which):
            if not self.aspects:
                hint = "use samples with ratings"
            elif aspect not in self.aspects:
                hint = f"--aspect is one of {', '.join(self.aspects)}"
            else:
                hint = "use more rated replies, or lower --least"
            raise InputError(f"no set has enough ratings of {aspect!r}", hint=hint)
        for i in ratings.skipped:
            report(f"{self.names[i]} is skipped: it does not have {_describe_requirement(least)} of {aspect!r}")
        return ratings


def choose_held_out(samples: Sequence[Sample], sets: Ints) -> NDArray[np.bool_]:
    """Mark replies to a tenth of each set's contexts, chosen by hash; other sets hold out the same contexts too."""
    hashes = np.array([fingerprint(*context_of(sample)) for sample in samples])
    chosen = []
    for number in np.unique(sets):
        of_set = np.unique(hashes[sets == number])
        chosen.append(of_set[: max(1, round(len(of_set) / SHARE))])
    return np.isin(hashes, np.concatenate(chosen))


def _describe_requirement(least: int) -> str:
    return f"{least} replies to different contexts with different ratings"


def _means(sample: Sample) -> dict[str, float]:
    """Return the mean rating by aspect."""
    values: dict[str, list[float]] = {}
    for rating in sample.ratings:
        if rating.value is not None:
            values.setdefault(rating.aspect, []).append(rating.value)
    return {aspect: float(np.mean(ratings)) for aspect, ratings in values.items()}


@dataclass(frozen=True)
class RatedReplies:
    """Tokenised replies that a judge is tuned on, with the ranks of their ratings.

    Text 2i is the context of reply i, and text 2i + 1 the reply itself.
    """

    tokens: NDArray[np.int32]
    ends: Ints
    targets: Floats
    sets: Ints
    contexts: Ints
    dev: NDArray[np.bool_]  # held out
    hashes: Ints  # of context and reply

    @classmethod
    def of(cls, rated: RatedSets, scorer: RelevanceScorer, settings: TuneSettings, report: Report) -> RatedReplies:
        """Return the replies with ratings of the aspect, tokenised as the scorer reads them."""
        ratings = rated.ratings_of(settings.aspect, settings.least, report)
        samples, sets = [rated.samples[i] for i in ratings.which], rated.sets[ratings.which]
        texts = list(chain.from_iterable(scorer.token_rows(*texts_of(samples))))
        return cls(
            np.concatenate(texts).astype(np.int32),
            np.concatenate([[0], np.cumsum(list(map(len, texts)), dtype=np.int64)]),
            ratings.targets,
            sets,
            rated.contexts[ratings.which],
            choose_held_out(samples, sets),
            np.array(list(map(pair_hash, samples)), dtype=np.int64),
        )

    @staticmethod
    def written(folder: Path) -> bool:
        """Return whether a folder has rated replies."""
        return (folder / REPLIES).exists()

    def save(self, folder: Path) -> None:
        """Write the replies to a folder."""
        with atomic_path(folder / REPLIES) as path, path.open("wb") as file:
            np.savez(file, **{item.name: getattr(self, item.name) for item in fields(self)})

    @classmethod
    def load(cls, folder: Path) -> RatedReplies:
        """Load the replies in a folder."""
        with reading_saved(folder), np.load(folder / REPLIES, allow_pickle=False) as stored:
            return cls(**{item.name: stored[item.name] for item in fields(cls)})

    @property
    def texts(self) -> Texts:
        """All texts."""
        return Texts(self.tokens, self.ends)

    def with_states(self, states: Floats) -> RatedStates:
        """Return the ratings with states of the replies."""
        return RatedStates(states, self.targets, self.sets, self.contexts)
