"""Automatic annotation of REAM# (Gao et al., 2021): add candidates that raise the reliability of a reference set.

Candidates of a query are tried in random order. One that raises the predicted reliability is kept, until the set has
enough references. Many queries try a candidate at the same time, so each round is one prediction over all of them; a
query's result does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.errors import InputError
from interloq.records import Reference
from interloq.reliability.labels import NONE, distinct_texts
from interloq.signature import fingerprint

LIMIT = 10  # references per query, as in the paper
LEAST = 1e-6  # smaller differences may be rounding of the encoder, which depends on the batch
AHEAD = 1024  # candidates encoded at a time
BLOCK = 128  # queries at a time: bounds the vectors in memory


class SetPredictor(Protocol):
    """The part of `Reliability` that is needed here."""

    def encode(self, pairs: Sequence[tuple[tuple[str, ...], str]]) -> Any:
        """One row per pair of a query (its turns) and a reference."""

    def predict_sets(self, vectors: Any, sets: Any) -> Any:
        """Reliability of sets given as rows of pair numbers: `mean`, `low` and `high`, NaN for an empty set."""


@dataclass(frozen=True, slots=True)
class Request:
    """A query with its references and candidates for further ones."""

    turns: tuple[str, ...]
    references: tuple[Reference, ...]
    candidates: tuple[Reference, ...]

    @property
    def blank(self) -> bool:
        """Whether the query has no text, so that nothing can be predicted."""
        return not any(turn.strip() for turn in self.turns)

    def known(self) -> tuple[str, ...]:
        """Distinct texts of the references; none for a query without text."""
        return () if self.blank else distinct_texts(reference.text for reference in self.references)

    def new(self) -> list[Reference]:
        """Candidates with text that are not yet references, without repetitions; none for a query without text."""
        by_text = {candidate.text.strip(): candidate for candidate in reversed(self.candidates)}
        return [by_text[text] for text in sorted(by_text.keys() - {"", *self.known()}) if not self.blank]


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate that was tried, with the predicted reliability before (NaN: no references) and after it."""

    reference: Reference
    before: float
    after: float
    kept: bool


@dataclass(frozen=True, slots=True)
class Augmented:
    """Result for one query: predictions for the given and for the final set, and all trials in order."""

    before: float
    after: float
    trials: tuple[Trial, ...] = ()

    @property
    def kept(self) -> tuple[Reference, ...]:
        """References that were added."""
        return tuple(trial.reference for trial in self.trials if trial.kept)


def augment(model: SetPredictor, requests: Sequence[Request], *, limit: int = LIMIT, seed: int = 0) -> list[Augmented]:
    """Add candidates that raise the predicted reliability to sets with fewer than `limit` references.

    The order of a query's candidates depends only on the seed, the query and the candidates.
    """
    if limit < 1:
        raise InputError(f"limit must be at least 1, got {limit}")
    return [one for block in batched(requests, BLOCK) for one in _augmented(model, block, limit, seed)]


def _augmented(model: SetPredictor, requests: Sequence[Request], limit: int, seed: int) -> Iterator[Augmented]:
    rounds = _Rounds(model, requests, [_shuffled(request, seed) for request in requests], limit)
    while rounds.advance():
        pass
    for before, after, trials in zip(rounds.started, rounds.reached, rounds.trials, strict=True):
        yield Augmented(float(before), float(after), tuple(trials))


def _shuffled(request: Request, seed: int) -> list[Reference]:
    new = request.new()
    rng = np.random.default_rng(int(fingerprint(str(seed), *request.turns), 16))
    return [new[i] for i in rng.permutation(len(new))]


class _Rounds:
    """Sets of all queries as rows of pair numbers; every round tries the next candidate of each query."""

    def __init__(
        self, model: SetPredictor, requests: Sequence[Request], shuffled: Sequence[list[Reference]], limit: int
    ) -> None:
        self.model, self.requests, self.candidates = model, requests, shuffled
        self.round, self.read, self.limit = 0, 0, limit
        known = [request.known() for request in requests]
        self.sizes = np.array([len(own) for own in known], dtype=np.int64)
        lengths = self.sizes + [len(new) for new in shuffled]
        starts = np.cumsum(lengths) - lengths
        self.first = starts + self.sizes  # pair of each query's first candidate
        self.sets = np.full((len(requests), max(limit, *self.sizes, 1) if requests else 1), NONE, dtype=np.int64)
        for row, start, size in zip(self.sets, starts, self.sizes, strict=True):
            row[:size] = np.arange(start, start + size)
        self.pairs, self.vectors = int(lengths.sum()), np.zeros((0, 0), dtype=np.float32)
        pairs = [(request.turns, text) for request, own in zip(requests, known, strict=True) for text in own]
        self._encode(self.sets[self.sets != NONE], pairs)
        self.started = np.asarray(model.predict_sets(self.vectors, self.sets).mean)
        self.reached = self.started.copy()
        self.trials: list[list[Trial]] = [[] for _ in requests]

    def _encode(self, places: NDArray[np.int64], pairs: Sequence[tuple[tuple[str, ...], str]]) -> None:
        if pairs:
            found = self.model.encode(pairs)
            if not len(self.vectors):
                self.vectors = np.zeros((self.pairs, found.shape[1]), dtype=found.dtype)
            self.vectors[places] = found

    def _read_ahead(self, active: NDArray[np.int64]) -> None:
        """Encode the next candidates: only a few, because those after the last reference are never needed."""
        if self.round < self.read:
            return
        self.read = self.round + max(1, AHEAD // len(active))
        which = [(i, r) for i in active for r in range(self.round, min(self.read, len(self.candidates[i])))]
        pairs = [(self.requests[i].turns, self.candidates[i][r].text.strip()) for i, r in which]
        self._encode(np.array([self.first[i] + r for i, r in which], dtype=np.int64), pairs)

    def advance(self) -> bool:
        """Try one candidate of every query that has candidates left and too few references; False if none has."""
        left = np.array([len(new) > self.round for new in self.candidates], dtype=bool)
        active = np.flatnonzero(left & (self.sizes < self.limit))
        if not len(active):
            return False
        self._read_ahead(active)
        tentative = self.sets[active]
        tentative[np.arange(len(active)), self.sizes[active]] = self.first[active] + self.round
        after = np.asarray(self.model.predict_sets(self.vectors, tentative).mean)
        before = self.reached[active]
        kept = (after > before + LEAST) | (np.isnan(before) & ~np.isnan(after))
        for i, *facts in zip(active.tolist(), before.tolist(), after.tolist(), kept.tolist(), strict=True):
            self.trials[i].append(Trial(self.candidates[i][self.round], *facts))
        raised = active[kept]
        self.sets[raised], self.reached[raised] = tentative[kept], after[kept]
        self.sizes[raised] += 1
        self.round += 1
        return True
