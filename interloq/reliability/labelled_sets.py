# SPDX-License-Identifier: Apache-2.0
"""Labelled sets of references as numbers, on disk: what the network is trained on.

A pair is a query with one reference. The first pairs join every query with its own references, the others with some
references of other queries, from which worse sets are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.opening import read_json, reading_saved, replacing, write_json
from interloq.errors import InputError, count
from interloq.metrics.network_metric import NO_CONTEXT
from interloq.models.batches import random_bits
from interloq.reliability.labels import NONE, Labels, QueryScores, RatedQuery, compute_labels_without, draw_labels
from interloq.reliability.settings import CHANGES, ReliabilitySettings
from interloq.signature import fingerprint

Part = Literal["train", "dev"]
Ints = NDArray[np.int64]
Pair = tuple[tuple[str, ...], str]  # turns of a query, and a reference
WORSE = tuple(CHANGES)  # kinds of worse sets
ARRAYS, FACTS = "sets.npz", "sets.json"
LEAST = 2  # queries per part: with only one, there are no foreign references


@dataclass(frozen=True, slots=True)
class LabelledSets:
    """Set i has pairs `sets[i]` (padded with NONE) of query `query[i]`, and label `values[i]`."""

    used: NDArray[np.int32]  # queries with labels, among all queries: query 0 is the first of them
    pairs: NDArray[np.int32]  # query, and reference among the references of all queries
    query: NDArray[np.int32]
    sets: NDArray[np.int32]
    values: NDArray[np.float64]
    falls: NDArray[np.bool_]  # whether the label falls without this member
    foreign: NDArray[np.int32]  # pairs of each query with references of other queries
    dev: NDArray[np.bool_]  # queries of the dev part
    facts: Mapping[str, Any]  # counts

    def rows(self, part: Part) -> Ints:
        """Return the numbers of a part's sets."""
        return np.flatnonzero(self.dev[self.query] == (part == "dev"))

    @property
    def sizes(self) -> Ints:
        """Return the number of references of each set."""
        return np.asarray((self.sets != NONE).sum(axis=1))

    @staticmethod
    def written(folder: Path) -> bool:
        """Return whether a folder is complete: the facts are written last."""
        return (folder / FACTS).exists()

    def save(self, folder: Path) -> None:
        """Write the sets to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / ARRAYS) as file:
            np.savez(file, **{name: getattr(self, name) for name in _ARRAY_FIELDS})
        write_json(folder / FACTS, self.facts)

    @classmethod
    def load(cls, folder: Path) -> LabelledSets:
        """Read the sets in a folder."""
        with reading_saved(folder), np.load(folder / ARRAYS, allow_pickle=False) as arrays:
            return cls(**{name: arrays[name] for name in _ARRAY_FIELDS}, facts=read_json(folder / FACTS))


_ARRAY_FIELDS = ("used", "pairs", "query", "sets", "values", "falls", "foreign", "dev")


def make_sets(scored: Sequence[QueryScores], settings: ReliabilitySettings) -> LabelledSets:
    """Draw and label sets of every query, and choose its foreign references. Queries without labels are omitted."""
    labelled = draw_labels(
        scored,
        sizes=settings.set_sizes,
        per_size=settings.per_size,
        coefficient=settings.coefficient,
        seed=settings.seed,
    )
    has_text = np.array([query_scores.query.has_text for query_scores in scored], dtype=bool)[labelled.query]
    known = ~np.isnan(labelled.values) & has_text
    used, query = np.unique(labelled.query[known], return_inverse=True)
    used_scores = [scored[i] for i in used]
    queries = [query_scores.query for query_scores in used_scores]
    members, values = labelled.members[known], labelled.values[known]
    ends = np.cumsum([0, *(len(query.references) for query in queries)])
    dev = _choose_dev_queries(len(queries), settings, labelled)
    foreign = _choose_foreign(queries, ends, dev, settings)
    numbers = np.arange(len(queries))
    own_pairs = np.column_stack([np.repeat(numbers, np.diff(ends)), np.arange(ends[-1])])
    foreign_pairs = np.column_stack([np.repeat(numbers, settings.foreign), foreign.ravel()])
    falls = np.zeros(members.shape, dtype=bool)  # whether the label falls without this member; False if undefined
    for i, query_scores in enumerate(used_scores):
        rows = query == i
        without = compute_labels_without(query_scores, members[rows], settings.coefficient)
        falls[rows] = without < values[rows][:, None]
    return LabelledSets(
        used=used.astype(np.int32),
        pairs=np.concatenate([own_pairs, foreign_pairs]).astype(np.int32),
        query=query.astype(np.int32),
        sets=np.where(members == NONE, NONE, members + ends[query][:, None]).astype(np.int32),
        values=values,
        falls=falls,
        foreign=(ends[-1] + np.arange(foreign.size).reshape(foreign.shape)).astype(np.int32),
        dev=dev,
        facts=_facts(query, dev, labelled, len(np.unique(labelled.query[~has_text]))),
    )


def set_pairs(sets: LabelledSets, queries: Sequence[RatedQuery]) -> list[Pair]:
    """Return the texts of each pair; `queries` are all queries, including those without labels."""
    used = [queries[i] for i in sets.used.tolist()]
    references = list(chain.from_iterable(query.references for query in used))
    return [(used[query].turns, references[reference]) for query, reference in sets.pairs.tolist()]


def format_reasons(counts: Mapping[str, int]) -> str:
    """Return counts by reason in words."""
    return ", ".join(f"{n:,} with {reason}" for reason, n in counts.items())


def _choose_dev_queries(queries: int, settings: ReliabilitySettings, labelled: Labels) -> NDArray[np.bool_]:
    if queries < 2 * LEAST:
        what = f"only {count(queries, 'query', 'queries')} can be labelled"
        if reasons := format_reasons({**labelled.skipped, **labelled.undefined}):
            what += f" ({reasons})"
        hint = f"give {2 * LEAST} or more, each with several rated replies and references, or smaller --sizes"
        raise InputError(what, hint=hint)
    n = min(max(LEAST, round(settings.dev * queries)), queries - LEAST)
    chosen = np.zeros(queries, dtype=bool)
    chosen[np.random.default_rng(settings.seed).permutation(queries)[:n]] = True
    return chosen


def _choose_foreign(
    queries: Sequence[RatedQuery], ends: Ints, dev: NDArray[np.bool_], settings: ReliabilitySettings
) -> Ints:
    """Draw for each query the numbers of references that only other queries of its part have."""
    texts = list(chain.from_iterable(query.references for query in queries))
    owner = np.repeat(np.arange(len(queries)), np.diff(ends))
    parts = [np.flatnonzero(dev[owner] == part) for part in (False, True)]
    chosen = np.zeros((len(queries), settings.foreign), dtype=np.int64)
    for i, query in enumerate(queries):
        rng = np.random.default_rng(int(fingerprint(str(settings.seed), "foreign", query.id), 16))
        part = parts[int(dev[i])]
        drawn = rng.choice(part, size=4 * settings.foreign).tolist()
        others = list(dict.fromkeys(n for n in drawn if texts[n] not in query.references))
        if not others:  # every draw hit the query itself, or a copy of it
            others = [n for n in part.tolist() if texts[n] not in query.references]
        if not others:
            raise InputError(
                f"all queries have the same references as {' / '.join(query.turns)!r:.60}",
                hint="give queries with references of their own",
            )
        chosen[i] = np.resize(others, settings.foreign)
    return chosen


def _facts(query: Ints, dev: NDArray[np.bool_], labelled: Labels, blank: int) -> dict[str, Any]:
    held_out = int(dev[query].sum())
    skipped = dict(labelled.skipped)
    if blank:
        skipped[NO_CONTEXT] = blank
    return {
        "queries": {"train": int((~dev).sum()), "dev": int(dev.sum())},
        "sets": {"train": len(query) - held_out, "dev": held_out},
        "skipped_queries": skipped,
        "undefined_sets": dict(labelled.undefined),
    }


def worse_sets(
    sets: LabelledSets, rows: Ints, examples: Ints, *, number: int, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Make worse sets [rows, number, width + 1] than these, of each kind in turn; also return whether each exists.

    They depend only on the seed and the example's number. Removing a reference makes no worse set if no label falls.
    """
    own = np.pad(sets.sets[rows], ((0, 0), (0, 1)), constant_values=NONE)
    worse, there = np.repeat(own[:, None], number, axis=1), np.ones((len(rows), number), dtype=bool)
    foreign, each = sets.foreign[sets.query[rows]], np.arange(len(rows))
    for t in range(number):
        kind = WORSE[t % len(WORSE)]
        member_bits = random_bits(examples, seed, 2 * t + 1)
        if kind == "without":
            falls = sets.falls[rows]
            there[:, t] = falls.any(axis=1)
            place = _choose_column(falls, member_bits)
            worse[each[there[:, t]], t, place[there[:, t]]] = NONE
            continue
        place = np.full(len(rows), own.shape[1] - 1)
        if kind == "replaced":
            place = _choose_column(sets.sets[rows] != NONE, member_bits)
        worse[each, t, place] = foreign[each, _below(random_bits(examples, seed, 2 * t), foreign.shape[1])]
    return worse, there


def _below(bits: NDArray[np.uint64], most: Any) -> Ints:
    """Return numbers from 0 to `most` − 1 from random bits."""
    return np.asarray(bits % np.maximum(most, 1).astype(np.uint64), dtype=np.int64)


def _choose_column(among: NDArray[np.bool_], bits: NDArray[np.uint64]) -> Ints:
    """Return a random column of each row that is True; 0 if there is none."""
    wanted = _below(bits, among.sum(axis=1)) + 1
    return np.asarray(np.argmax(among & (np.cumsum(among, axis=1) == wanted[:, None]), axis=1))
