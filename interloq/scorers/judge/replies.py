# SPDX-License-Identifier: Apache-2.0
"""Tokenised rated replies on disk: the examples that a judge is tuned on."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.durable import atomic_path
from interloq.data.files.opening import reading_saved
from interloq.data.text.token_texts import Texts
from interloq.learn.job import Report
from interloq.scorers.judge.model import pair_hash, texts_of
from interloq.scorers.judge.rated import RatedSets, held_out
from interloq.scorers.judge.settings import TuneSettings
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.statistics.ridge import Floats, Ints, RatedStates

NAME = "replies.npz"


@dataclass(frozen=True)
class RatedReplies:
    """Tokens of each reply's context (text 2i) and of the reply (text 2i + 1), with the ranks of their ratings."""

    tokens: NDArray[np.int32]
    ends: Ints
    targets: Floats
    sets: Ints
    contexts: Ints
    dev: NDArray[np.bool_]  # held out
    hashes: Ints  # of context and reply

    @classmethod
    def of(cls, rated: RatedSets, scorer: RelevanceScorer, settings: TuneSettings, report: Report) -> RatedReplies:
        """Replies with ratings of the aspect, tokenised as the scorer reads them."""
        ratings = rated.ratings_of(settings.aspect, settings.least, report)
        samples, sets = [rated.samples[i] for i in ratings.which], rated.sets[ratings.which]
        texts = list(chain.from_iterable(scorer.token_rows(*texts_of(samples))))
        return cls(
            np.concatenate(texts).astype(np.int32),
            np.concatenate([[0], np.cumsum(list(map(len, texts)), dtype=np.int64)]),
            ratings.targets,
            sets,
            rated.contexts[ratings.which],
            held_out(samples, sets),
            np.array(list(map(pair_hash, samples)), dtype=np.int64),
        )

    @staticmethod
    def written(folder: Path) -> bool:
        """Whether a folder has rated replies."""
        return (folder / NAME).exists()

    def save(self, folder: Path) -> None:
        """Write them to a folder."""
        with atomic_path(folder / NAME) as path, path.open("wb") as file:
            np.savez(file, **{item.name: getattr(self, item.name) for item in fields(self)})

    @classmethod
    def load(cls, folder: Path) -> RatedReplies:
        """Load those in a folder."""
        with reading_saved(folder), np.load(folder / NAME, allow_pickle=False) as stored:
            return cls(**{item.name: stored[item.name] for item in fields(cls)})

    @property
    def texts(self) -> Texts:
        """All texts."""
        return Texts(self.tokens, self.ends)

    def with_states(self, states: Floats) -> RatedStates:
        """The ratings with states of the replies."""
        return RatedStates(states, self.targets, self.sets, self.contexts)
