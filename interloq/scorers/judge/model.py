# SPDX-License-Identifier: Apache-2.0
"""Trained judges: the mean rating that people would give a reply, as a rank from −1 to 1, for each rated aspect.

The folder holds the heads and names the relevance network whose states they read. That is another folder if the
network is frozen (see job.py), or `scorer` in the same folder if it was tuned (see tuned_job.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.opening import reading_saved
from interloq.errors import InputError
from interloq.learn.ready import PACKAGED
from interloq.learn.store import check_texts, load_model
from interloq.records import Sample
from interloq.retrieve.leaks import context_of, normalise_text
from interloq.scorers.relevance.model import RelevanceScorer
from interloq.signature import fingerprint

KIND = "judge"
SCORER = "scorer"  # subfolder of a judge with its tuned network
LOWEST, HIGHEST = -1.0, 1.0
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JudgeScorer:
    """Heads [aspects, dimensions] with their offsets, and hashes of the replies that they were learned from."""

    folder: Path
    facts: dict[str, Any]
    weights: Floats
    offsets: Floats
    pairs: frozenset[int]
    place: str
    device: str

    @classmethod
    def load(cls, folder: str | Path, *, scorer: str | None = None, device: str = "auto") -> JudgeScorer:
        """Load a judge; `scorer` is the current location of its relevance network; None means as in training."""
        facts, tensors = load_model(folder, kind=KIND)
        with reading_saved(folder):
            weights, offsets = tensors["weights"].numpy(), tensors["offsets"].numpy()
            pairs = frozenset(tensors["pairs"].tolist())
            for aspect in facts["aspects"]:
                check_texts(aspect, "aspect")
            place, aspects = str(facts["scorer"]["place"]), len(facts["aspects"])
            if place not in PACKAGED:  # a network within the folder moves with it
                place = str(Path(folder) / place)
            if weights.ndim != 2 or len(weights) != aspects or offsets.shape != (aspects,):
                raise ValueError(f"weights of shape {weights.shape} for {aspects} aspects")
        return cls(Path(folder), facts, weights, offsets, pairs, scorer or place, device)

    @cached_property
    def relevance(self) -> RelevanceScorer:
        """The relevance network; any network other than the one in training is refused."""
        scorer, wanted = RelevanceScorer.load(self.place, device=self.device), self.facts["scorer"].get("signature")
        if scorer.signature() != wanted or scorer.dimensions != self.weights.shape[1]:
            raise InputError(
                f"{self.place} is {scorer.signature()}, and the judge was trained on {wanted}",
                hint="set `scorer` to the right one, or train the judge again",
                where=str(self.folder),
            )
        return scorer

    def signature(self) -> str:
        return f"{KIND}-{self.facts['weights']}-{self.relevance.signature()}"

    @property
    def origin(self) -> str:
        """The relevance network before tuning, or the current one if it was not tuned."""
        return str(self.facts["scorer"].get("from", self.place))

    def row(self, aspect: str) -> int:
        """Return the row of an aspect's weights."""
        aspects = [learned["aspect"] for learned in self.facts["aspects"]]
        if aspect not in aspects:
            raise InputError(
                f"the judge has no aspect {aspect!r}", hint=f"it has {', '.join(aspects)}", where=str(self.folder)
            )
        return aspects.index(aspect)

    def scores(self, samples: Sequence[Sample], aspect: str) -> Floats:
        """Return the expected rank of each reply; each distinct reply to a context is read once."""
        row = self.row(aspect)
        states = self.relevance.states(*texts_of(samples))
        return np.asarray(np.clip(states @ self.weights[row] + self.offsets[row], LOWEST, HIGHEST))

    def trained_on(self, samples: Sequence[Sample]) -> int:
        """Return the number of samples whose context and reply the judge was trained on."""
        return sum(pair_hash(sample) in self.pairs for sample in samples)


def texts_of(samples: Sequence[Sample]) -> tuple[list[list[str]], list[str]]:
    """Return the contexts and replies."""
    contexts, replies = [], []
    for sample in samples:
        contexts.append([turn.text for turn in sample.context])
        replies.append(sample.response)
    return contexts, replies


def pair_hash(sample: Sample) -> int:
    """Return a hash of context and reply, as a signed number."""
    digest = bytes.fromhex(fingerprint(*context_of(sample), normalise_text(sample.response)))
    return int.from_bytes(digest, signed=True)
