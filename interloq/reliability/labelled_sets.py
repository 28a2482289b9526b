# SPDX-License-Identifier: Apache-2.0
"""Labelled sets of references as numbers, on disk: what the network is trained on.

A pair is a query with one reference. The first pairs are those of every query with its own references, the others those
of every query with some references of other queries, from which worse sets are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.opening import read_json, reading_saved, replacing, write_json
from interloq.errors import InputError, count
from interloq.learn.draws import mixed
from interloq.metrics.context_reply import NO_CONTEXT
from interloq.reliability.labels import NONE, Labels, QueryScores, RatedQuery, labels, labels_without
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
    pairs: NDArray[np.int32]  # query, and reference among those of all queries
    query: NDArray[np.int32]
    sets: NDArray[np.int32]
    values: NDArray[np.float64]
    falls: NDArray[np.bool_]  # whether the label falls without this member
    foreign: NDArray[np.int32]  # pairs of each query with references of other queries
    dev: NDArray[np.bool_]  # queries of the dev part
    facts: Mapping[str, Any]  # counts

    def rows(self, part: Part) -> Ints:
        """Numbers of a part's sets."""
        return np.flatnonzero(self.dev[self.query] == (part == "dev"))

    @property
    def sizes(self) -> Ints:
        """Number of references of each set."""
        return np.asarray((self.sets != NONE).sum(axis=1))

    @staticmethod
    def written(folder: Path) -> bool:
        """Whether a folder is complete: the facts are written last."""
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
    labelled = labels(
        scored,
        sizes=settings.set_sizes,
        per_size=settings.per_size,
        coefficient=settings.coefficient,
        seed=settings.seed,
    )
    blank = np.array([not any(turn.strip() for turn in one.query.turns) for one in scored], dtype=bool)[labelled.query]
    known = ~np.isnan(labelled.values) & ~blank
    used, query = np.unique(labelled.query[known], return_inverse=True)
    kept = [scored[i] for i in used]
    queries = [one.query for one in kept]
    members, values = labelled.members[known], labelled.values[known]
    ends = np.cumsum([0, *(len(q.references) for q in queries)])
    dev = _dev_part(len(queries), settings, labelled)
    own = np.repeat(np.arange(len(queries)), np.diff(ends))
    foreign = _foreign(queries, ends, dev, settings)
    pairs = [np.column_stack([own, np.arange(ends[-1])])]
    pairs.append(np.column_stack([np.repeat(np.arange(len(queries)), settings.foreign), foreign.ravel()]))
    return LabelledSets(
        used=used.astype(np.int32),
        pairs=np.concatenate(pairs).astype(np.int32),
        query=query.astype(np.int32),
        sets=np.where(members == NONE, NONE, members + ends[query][:, None]).astype(np.int32),
        values=values,
        falls=_falls(kept, query, members, values, settings),
        foreign=(ends[-1] + np.arange(foreign.size).reshape(foreign.shape)).astype(np.int32),
        dev=dev,
        facts=_facts(query, dev, labelled, len(np.unique(labelled.query[blank]))),
    )


def set_pairs(sets: LabelledSets, queries: Sequence[RatedQuery]) -> list[Pair]:
    """Texts of each pair; `queries` are all queries, also those without labels."""
    used = [queries[i] for i in sets.used.tolist()]
    references = [text for query in used for text in query.references]
    return [(used[q].turns, references[r]) for q, r in sets.pairs.tolist()]


def _dev_part(queries: int, settings: ReliabilitySettings, found: Labels) -> NDArray[np.bool_]:
    """Queries of the dev part."""
    if queries < 2 * LEAST:
        reasons = ", ".join(f"{n:,} with {reason}" for reason, n in {**found.skipped, **found.undefined}.items())
        raise InputError(
            f"only {count(queries, 'query', 'queries')} can be labelled" + (f" ({reasons})" if reasons else ""),
            hint=f"give {2 * LEAST} or more, each with several rated replies and references, or smaller --sizes",
        )
    n = min(max(LEAST, round(settings.dev * queries)), queries - LEAST)
    chosen = np.zeros(queries, dtype=bool)
    chosen[np.random.default_rng(settings.seed).permutation(queries)[:n]] = True
    return chosen


def _foreign(queries: Sequence[RatedQuery], ends: Ints, dev: NDArray[np.bool_], settings: ReliabilitySettings) -> Ints:
    """For each query, numbers of references that only other queries of its part have."""
    texts = [text for query in queries for text in query.references]
    owner = np.repeat(np.arange(len(queries)), np.diff(ends))
    parts = [np.flatnonzero(dev[owner] == part) for part in (False, True)]
    chosen = np.zeros((len(queries), settings.foreign), dtype=np.int64)
    for i, query in enumerate(queries):
        rng = np.random.default_rng(int(fingerprint(str(settings.seed), "foreign", query.id), 16))
        part, own = parts[int(dev[i])], {*query.references}
        drawn = rng.choice(part, size=4 * settings.foreign).tolist()
        others = list(dict.fromkeys(n for n in drawn if texts[n] not in own))
        if not others:  # every draw hit the query itself, or a copy of it
            others = [n for n in part.tolist() if texts[n] not in own]
        if not others:
            raise InputError(
                f"all queries have the same references as {' / '.join(query.turns)!r:.60}",
                hint="give queries with references of their own",
            )
        chosen[i] = np.resize(others, settings.foreign)
    return chosen


def _falls(
    scored: Sequence[QueryScores],
    query: Ints,
    members: NDArray[np.int32],
    values: NDArray[np.float64],
    settings: ReliabilitySettings,
) -> NDArray[np.bool_]:
    """Whether a set's label falls without each of its members; False if it is then undefined."""
    falls = np.zeros(members.shape, dtype=bool)
    for i, one in enumerate(scored):
        own = query == i
        falls[own] = labels_without(one, members[own], settings.coefficient) < values[own][:, None]
    return falls


def _facts(query: Ints, dev: NDArray[np.bool_], found: Labels, blank: int) -> dict[str, Any]:
    held_out = int(dev[query].sum())
    skipped = {**found.skipped, **({NO_CONTEXT: blank} if blank else {})}
    return {
        "queries": {"train": int((~dev).sum()), "dev": int(dev.sum())},
        "sets": {"train": len(query) - held_out, "dev": held_out},
        "skipped_queries": skipped,
        "undefined_sets": dict(found.undefined),
    }


def worse_sets(
    sets: LabelledSets, rows: Ints, examples: Ints, *, number: int, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Worse sets [rows, number, width + 1] than these, of each kind in turn, and whether there is one.

    They depend only on the seed and the example's number. No set is worse without a reference if no label falls.
    """
    own = np.pad(sets.sets[rows], ((0, 0), (0, 1)), constant_values=NONE)
    made, there = np.repeat(own[:, None], number, axis=1), np.ones((len(rows), number), dtype=bool)
    foreign, each = sets.foreign[sets.query[rows]], np.arange(len(rows))
    for t in range(number):
        first, second = (mixed(examples, seed, 2 * t + i) for i in range(2))
        other = foreign[each, _below(first, foreign.shape[1])]
        kind = WORSE[t % len(WORSE)]
        if kind == "without":
            falls = sets.falls[rows]
            there[:, t] = falls.any(axis=1)
            place = _chosen(falls, second)
            made[each[there[:, t]], t, place[there[:, t]]] = NONE
        else:
            place = own.shape[1] - 1 if kind == "added" else _chosen(sets.sets[rows] != NONE, second)
            made[each, t, place] = other
    return made, there


def _below(bits: NDArray[np.uint64], most: Any) -> Ints:
    """Numbers from 0 to `most` − 1 from random bits."""
    return np.asarray(bits % np.maximum(most, 1).astype(np.uint64), dtype=np.int64)


def _chosen(among: NDArray[np.bool_], bits: NDArray[np.uint64]) -> Ints:
    """A random column of each row that is True; 0 if there is none."""
    wanted = _below(bits, among.sum(axis=1)) + 1
    return np.asarray(np.argmax(among & (np.cumsum(among, axis=1) == wanted[:, None]), axis=1))
