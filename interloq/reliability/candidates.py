# SPDX-License-Identifier: Apache-2.0
"""Candidates for references, from an index or a log, without copies of the test items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from interloq.data.records.jsonl import Rejected, read_all
from interloq.errors import InputError
from interloq.records import Reference, Sample
from interloq.reliability.augment import Request
from interloq.retrieve.extend import Finder, SearchTally, candidates, extend_signature, searched_in
from interloq.retrieve.extend_file import read_ids
from interloq.retrieve.index import open_index
from interloq.retrieve.jaccard import JaccardSearch
from interloq.signature import Signature, file_fingerprint, fingerprint

CANDIDATES = 100  # per query, as in REAM# (Gao et al., 2021)
BATCH = 1_024  # samples whose candidates are searched together


@dataclass(frozen=True, slots=True)
class CandidateOptions:
    """Where candidates come from, an index or a log, and which are excluded: see `retrieve.extend`."""

    index: str | Path | None = None
    log: Sequence[str | Path] = ()  # pairs, searched by Jaccard similarity
    k: int = CANDIDATES
    turns: int = 1
    near: float = 0.0
    own: bool = True
    exclude: str | Path | None = None

    def __post_init__(self) -> None:
        if bool(self.index) == bool(self.log):
            raise InputError("candidates come from an index or a log", hint="give either an index or a log of pairs")

    @property
    def files(self) -> list[str | Path]:
        """All files that are read."""
        return [path for path in (self.index, *self.log, self.exclude) if path]

    def open(self, on_reject: Callable[[Rejected], None] | None = None) -> tuple[Finder, Signature]:
        """What finds candidates, and its signature."""
        options = {"k": self.k, "turns": self.turns, "near": self.near, "own": self.own}
        signed = options | ({"exclude": file_fingerprint(Path(self.exclude))} if self.exclude else {})
        if self.index:
            index = open_index(str(self.index))
            return index, extend_signature(index.retriever, searched_in(index), signed)
        search = JaccardSearch(read_all(self.log, kind="pairs", on_reject=on_reject))
        source = fingerprint(*sorted(file_fingerprint(Path(path)) for path in self.log))
        facts = {"retriever": "jaccard", "pairs": len(search.pairs), "sources": source}
        return search, Signature.of("extend", facts | signed)

    def batches(
        self, samples: Iterable[Sample], finder: Finder, tally: SearchTally
    ) -> Iterator[list[tuple[Sample, Request]]]:
        """Batches of samples, each with its query, references and candidates."""
        batched_candidates = candidates(
            samples, finder, k=self.k, turns=self.turns, near=self.near, own=self.own,
            excluded=read_ids(self.exclude), tally=tally, batch=BATCH,
        )  # fmt: skip
        for batch in batched_candidates:
            yield [(sample, made_request(sample, replies)) for sample, replies in batch]


def made_request(sample: Sample, found: tuple[Reference, ...]) -> Request:
    """The query of a sample with these candidates."""
    return Request(tuple(turn.text for turn in sample.context), sample.references, found)
