# SPDX-License-Identifier: Apache-2.0
"""Automatic annotation of REAM# (Gao et al., 2021): add candidates that raise the reliability of a reference set.

Candidates of a query are tried in random order. A candidate that raises the predicted reliability is kept, until the
set has enough references; or all are kept. The references that a query has are never removed. Many queries try a
candidate at the same time, so each round is one prediction over all of them; a query's result does not depend on the
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.errors import InputError
from interloq.records import Reference
from interloq.reliability.labels import NONE, distinct_texts, has_text
from interloq.reliability.reliability_options import LIMIT
from interloq.signature import fingerprint

LEAST = 1e-6  # smaller differences may be rounding of the encoder, which depends on the batch
AHEAD = 1024  # candidates encoded at a time
BLOCK = 128  # queries at a time: bounds the vectors in memory


class SetPredictor(Protocol):
    """The part of `Reliability` that is needed here."""

    def encode(self, pairs: Sequence[tuple[tuple[str, ...], str]]) -> Any:
        """Return one row per pair of a query (its turns) and a reference."""

    def project(self, vectors: Any) -> Any:
        """Return encoded pairs in the form that `predict_sets` reads, computed from each pair alone."""

    def predict_sets(self, vectors: Any, sets: Any) -> Any:
        """Predict sets given as rows of pair numbers: `mean`, `low` and `high`, NaN for an empty set."""


@dataclass(frozen=True, slots=True)
class Request:
    """A query with its references and candidates for further ones."""

    turns: tuple[str, ...]
    references: tuple[Reference, ...]
    candidates: tuple[Reference, ...]

    @property
    def blank(self) -> bool:
        """Return whether the query has no text, so that nothing can be predicted."""
        return not has_text(self.turns)

    def text(self) -> str:
        """Return the request as JSON, to identify it."""
        groups = [list(map(asdict, self.references)), list(map(asdict, self.candidates))]
        return orjson.dumps([self.turns, groups]).decode()

    def list_known_texts(self) -> tuple[str, ...]:
        """Return the distinct texts of the references; none for a query without text."""
        if self.blank:
            return ()
        return distinct_texts(reference.text for reference in self.references)

    def list_new_candidates(self) -> list[Reference]:
        """Return candidates with text that are not yet references, each once; none for a query without text."""
        if self.blank:
            return []
        by_text = {candidate.text.strip(): candidate for candidate in reversed(self.candidates)}
        return [by_text[text] for text in sorted(by_text.keys() - {"", *self.list_known_texts()})]


@dataclass(frozen=True, slots=True)
class CandidateTrial:
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
    trials: tuple[CandidateTrial, ...] = ()

    @property
    def kept(self) -> tuple[Reference, ...]:
        """Return the references that were added."""
        return tuple(trial.reference for trial in self.trials if trial.kept)


def augment(
    model: SetPredictor,
    requests: Sequence[Request],
    *,
    limit: int | None = LIMIT,
    seed: int = 0,
    keep_all: bool = False,
) -> list[Augmented]:
    """Add candidates that raise the predicted reliability, or all of them, to sets with fewer than `limit` references.

    The order of a query's candidates depends only on the seed, the query and the candidates. Without a limit, all
    candidates are tried.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit must be at least 1, got {limit}")
    results = []
    for block in batched(requests, BLOCK):
        shuffled = []
        for request in block:
            new = request.list_new_candidates()
            rng = np.random.default_rng(int(fingerprint(str(seed), *request.turns), 16))
            shuffled.append([new[i] for i in rng.permutation(len(new))])
        rounds = _Rounds(model, block, shuffled, limit, keep_all=keep_all)
        while rounds.advance():
            pass
        for before, after, trials in zip(rounds.started, rounds.reached, rounds.trials, strict=True):
            results.append(Augmented(float(before), float(after), tuple(trials)))
    return results


class _Rounds:
    """Sets of all queries; every round tries the next candidate of each query.

    Each query has `width` rows of `vectors`: its references are in the first ones, and the candidate in the next.
    """

    def __init__(
        self,
        model: SetPredictor,
        requests: Sequence[Request],
        shuffled: Sequence[list[Reference]],
        limit: int | None,
        *,
        keep_all: bool,
    ) -> None:
        self.model, self.requests, self.candidates, self.keep_all = model, requests, shuffled, keep_all
        self.round, self.read = 0, 0
        self.encoded: Any = None  # vectors of the candidates of some rounds
        self.places: dict[tuple[int, int], int] = {}  # of query and round among them
        pairs, sizes = [], []
        for request in requests:
            texts = request.list_known_texts()
            pairs += [(request.turns, text) for text in texts]
            sizes.append(len(texts))
        self.sizes = np.array(sizes, dtype=np.int64)
        self.numbers = np.array(list(map(len, shuffled)), dtype=np.int64)
        most = self.sizes + self.numbers
        self.limit = int(most.max()) if limit is None else limit
        width = max([self.limit, *sizes, 1])
        self.rows = np.arange(len(requests) * width).reshape(-1, width)
        self.vectors = np.zeros((0, 0), dtype=np.float32)
        sets = self._sets(np.arange(len(requests)), self.sizes)
        if pairs:
            self._store(sets[sets != NONE], model.encode(pairs))
        self.started = np.asarray(model.predict_sets(self.vectors, sets).mean)
        self.reached = self.started.copy()
        self.trials: list[list[CandidateTrial]] = [[] for _ in requests]

    def _sets(self, queries: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first rows of some queries."""
        rows = self.rows[queries]
        return np.where(np.arange(rows.shape[1]) < sizes[:, None], rows, NONE)

    def _store(self, rows: NDArray[np.int64], encoded: Any) -> None:
        projected = self.model.project(encoded)
        if not len(self.vectors):
            self.vectors = np.zeros((self.rows.size, projected.shape[1]), dtype=projected.dtype)
        self.vectors[rows] = projected

    def _next(self, active: NDArray[np.int64]) -> Any:
        """Return the vectors of the candidates of this round.

        A few rounds are encoded at a time: candidates after the last reference are never needed.
        """
        if self.round >= self.read:
            self.read = self.round + max(1, AHEAD // len(active))
            pairs: list[tuple[tuple[str, ...], str]] = []
            self.places = {}
            for i in active.tolist():
                for r in range(self.round, min(self.read, self.numbers[i])):
                    self.places[i, r] = len(pairs)
                    pairs.append((self.requests[i].turns, self.candidates[i][r].text.strip()))
            self.encoded = self.model.encode(pairs)
        return self.encoded[[self.places[i, self.round] for i in active.tolist()]]

    def advance(self) -> bool:
        """Try one candidate of every query that has candidates left and too few references; False if none has."""
        active = np.flatnonzero((self.numbers > self.round) & (self.sizes < self.limit))
        if not len(active):
            return False
        self._store(self.rows[active, self.sizes[active]], self._next(active))
        after = np.asarray(self.model.predict_sets(self.vectors, self._sets(active, self.sizes[active] + 1)).mean)
        before = self.reached[active]
        kept = ~np.isnan(after) & (self.keep_all | np.isnan(before) | (after > before + LEAST))
        for i, *facts in zip(active.tolist(), before.tolist(), after.tolist(), kept.tolist(), strict=True):
            self.trials[i].append(CandidateTrial(self.candidates[i][self.round], *facts))
        self.reached[active[kept]] = after[kept]
        self.sizes[active[kept]] += 1
        self.round += 1
        return True
