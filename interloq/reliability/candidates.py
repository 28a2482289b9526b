# SPDX-License-Identifier: Apache-2.0
"""Candidates for references, from an index, a log or a language model, without copies of the test items."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from interloq.data.batched import batched
from interloq.data.records.jsonl import Rejected, read_all
from interloq.play.bot import as_bot
from interloq.records import Pair, Reference, Sample, Turn
from interloq.registry import create
from interloq.reliability.augment import Request
from interloq.reliability.own_candidates import SameQuery, Written
from interloq.reliability.reliability_options import CandidateOptions
from interloq.retrieve.extend import (
    Finder,
    SearchTally,
    candidates,
    extend_signature,
    identify_index,
    read_ids,
    usable_replies,
)
from interloq.retrieve.index import create_index, open_index
from interloq.retrieve.retriever import Hit, Query
from interloq.signature import Signature, file_fingerprint, fingerprint

BATCH = 1_024  # samples whose candidates are searched together


def open_finder(
    options: CandidateOptions,
    on_reject: Callable[[Rejected], None] | None = None,
    *,
    written: str | Path | None = None,
) -> tuple[Finder | SameQuery | Written, Signature]:
    """Return what finds candidates, and its signature; `written` is a file that keeps replies of a language model."""
    signed: dict[str, object] = {"k": options.k, "turns": options.turns, "near": options.near, "own": options.own}
    if options.exclude:
        signed["exclude"] = file_fingerprint(Path(options.exclude))
    if options.index:
        index = open_index(str(options.index))
        return index, extend_signature(index.retriever, identify_index(index), signed)
    if options.llm:
        bot = as_bot(create(options.llm, kind="bot"))
        bot.try_out((Turn("Hello!"),))
        facts: dict[str, object] = {"retriever": "llm", "bot": str(bot.signature()), "replies": options.replies}
        return Written(bot, options.replies, written), Signature.of("extend", facts | signed)
    pairs = read_all(options.log, kind="pairs", on_reject=on_reject)
    search = JaccardSearch(pairs)
    facts = {"retriever": "jaccard", "pairs": len(search)}
    facts["sources"] = fingerprint(*sorted(file_fingerprint(Path(path)) for path in options.log))
    if options.origin == "query":
        same_query = Signature.of("extend", facts | {"retriever": "same-query"} | signed)
        return SameQuery(search, excluded=read_ids(options.exclude)), same_query
    return search, Signature.of("extend", facts | signed)


def find_candidates(
    samples: Iterable[Sample], finder: Finder | SameQuery | Written, options: CandidateOptions, tally: SearchTally
) -> Iterator[list[tuple[Sample, Request]]]:
    """Yield batches of samples, each with its query, references and candidates."""
    chosen: dict[str, Any] = {"k": options.k, "near": options.near, "own": options.own, "tally": tally}
    chosen["excluded"] = read_ids(options.exclude)
    if isinstance(finder, SameQuery | Written):
        for some in batched(samples, BATCH):
            hits = finder.find(some)
            replies = [usable_replies(sample, own, **chosen) for sample, own in zip(some, hits, strict=True)]
            yield list(zip(some, map(make_request, some, replies), strict=True))
        return
    for batch in candidates(samples, finder, turns=options.turns, batch=BATCH, **chosen):
        yield [(sample, make_request(sample, replies)) for sample, replies in batch]


def make_request(sample: Sample, replies: tuple[Reference, ...]) -> Request:
    """Return the query of a sample with these candidates."""
    return Request(tuple(turn.text for turn in sample.context), sample.references, replies)


class JaccardSearch:
    """Finds the pairs of a log whose utterances share the largest part of their words with a query.

    The log is indexed in a temporary folder.
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        folder = tempfile.mkdtemp(prefix="interloq-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._index = create_index(folder, "jaccard")
        self._index.add(pairs, source="log")

    def __len__(self) -> int:
        return len(self._index.store)

    def search(self, queries: Sequence[Query], k: int = 15) -> list[list[Hit]]:
        """Return the k most similar pairs for each query, best first, leaving out pairs that share no word with it."""
        return self._index.search(queries, k)
