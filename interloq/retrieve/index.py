# SPDX-License-Identifier: Apache-2.0
"""An index (a retriever that compares texts, and a store of pairs): search, create, open, and build it from files.

Building from files excludes pairs that overlap test samples, and resumes after an interruption.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import orjson

from interloq.data.batched import batched
from interloq.data.files.opening import lines
from interloq.data.progress import Progress, lines_ahead, silent
from interloq.data.records.jsonl import read_all, read_lines, record_line
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError, count
from interloq.records import Pair
from interloq.registry import complete, create, name_of, spec
from interloq.retrieve.leaks import exclude_overlap
from interloq.retrieve.retrieve_options import AddPairsOptions, IndexOptions
from interloq.retrieve.retriever import (
    NOTHING,
    Encoded,
    Field,
    Floats,
    Hit,
    Ids,
    Query,
    Retriever,
    Store,
    Words,
    best,
    fields,
    joint,
)
from interloq.retrieve.store_address import create_store, open_store
from interloq.shards.run import Shards, open_shards
from interloq.shards.shard_options import ONE_PROCESS, ShardOptions
from interloq.shards.task import Compute, ShareComputed
from interloq.signature import file_fingerprint, fingerprint, runs_network

SEGMENT = 1_000_000  # pairs stored at a time: 1.5 GB of 384-d vectors while lists are built
ENCODER_SEGMENT = 50_000  # a transformer takes minutes for texts that others encode in seconds
ENCODED = 4_096  # pairs that a transformer encodes at a time: a shard
QUERIES = 1_024  # searched at a time
CANDIDATES = 1_000  # from each side, scored again if both sides count


@dataclass(frozen=True, slots=True)
class Index:
    """Adds pairs and searches them."""

    store: Store
    retriever: Retriever

    def __post_init__(self) -> None:
        complete(type(self.store), "store")
        complete(type(self.retriever), "retriever")

    def add(
        self,
        pairs: Iterable[Pair],
        *,
        source: str,
        segment: int = SEGMENT,
        progress: Callable[[int], None] | None = None,
        shards: Shards | None = None,
        job: str = "pairs",
    ) -> int:
        """Add the pairs of a source that are not yet in the index, and return their number.

        A transformer encodes them as a job of `shards`.
        """
        step = progress or (lambda _: None)
        with self.store.exclusive():
            return self._add(pairs, source, segment, step, shards or Shards(ONE_PROCESS), job)

    def _add(
        self,
        pairs: Iterable[Pair],
        source: str,
        segment: int,
        step: Callable[[int], None],
        shards: Shards,
        job: str,
    ) -> int:
        done = self.store.sources().get(source, 0)
        iterator = iter(pairs)
        skipped = sum(1 for _ in islice(iterator, done))
        if skipped < done:
            raise InputError(
                f"the source had {count(done, 'pair')} before and now has {skipped:,}", hint="name it as a new source"
            )
        step(skipped)
        added = 0
        for chunk, encoded in encode_pairs(self.retriever, iterator, segment, step, shards, job, start=done):
            added += len(chunk)
            self.store.add(chunk, encoded, source=source, consumed=done + added)
        self.store.finish()
        return added

    def search(self, queries: Sequence[Query], k: int = 15) -> list[list[Hit]]:
        """Return the k nearest pairs for each query, best first; none for a query without known words."""
        if k < 1:
            raise InputError(f"k must be at least 1, got {k}")
        hits: list[list[Hit]] = []
        for start in range(0, len(queries), QUERIES):
            hits += self._search(queries[start : start + QUERIES], k)
        return hits

    def _search(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        k = min(k, len(self.store))
        if not k:
            return [[] for _ in queries]
        utterances = self.retriever.encode([query.utterance for query in queries])
        if self.retriever.target == "utterance":
            ids, scores = self.store.nearest("utterance", utterances, k)
        else:
            responses = self.retriever.encode([query.response for query in queries])
            ids, scores = self._both(utterances, responses, k)
        # a pair that shares nothing with the query is not a hit, even if there are no better ones
        good = (ids != NOTHING) & (scores > 0) & _comparable(utterances)[:, None]
        pairs = iter(self.store.pairs(ids[good].tolist()))
        hits: list[list[Hit]] = []
        for values, keep in zip(scores, good, strict=True):
            hits.append([Hit(next(pairs), score) for score in values[keep].tolist()])
        return hits

    def _both(self, utterances: Encoded, responses: Encoded, k: int) -> tuple[Ids, Floats]:
        """Return the best joint scores among candidates from either side."""
        m = min(max(CANDIDATES, 10 * k), len(self.store))
        sides: tuple[tuple[Field, Encoded], ...] = (("utterance", utterances), ("response", responses))
        ids = np.sort(np.concatenate([self.store.nearest(field, side, m)[0] for field, side in sides], axis=1), axis=1)
        ids[:, 1:][ids[:, 1:] == ids[:, :-1]] = NOTHING
        # negative cosines count as 0, or two dissimilar sides would have a positive product
        near = [np.maximum(self.store.scores(field, side, ids), 0) for field, side in sides]
        scores = joint(*near, alpha=self.retriever.alpha, epsilon=self.retriever.epsilon)
        scores[ids == NOTHING] = -np.inf
        return best(ids, scores, k)


@dataclass(frozen=True)
class EncodeTask:
    """Encodes pairs; they are part of the result, so that they are not read again when it is stored."""

    retriever: Retriever
    signature: str = ""

    @property
    def uses_gpu(self) -> bool:
        """Whether a GPU would help."""
        return runs_network(self.retriever)

    def identify(self) -> str:
        return f"{spec(self.retriever)} {self.retriever.built_with()}"

    def open(self) -> Compute:
        return self._compute

    def _compute(self, pairs: Sequence[Pair]) -> bytes:
        lines = b"".join(map(record_line, pairs))
        arrays: dict[str, Any] = {**_encode(self.retriever, pairs)}
        arrays["pairs"] = np.frombuffer(lines, dtype=np.uint8)
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()


def encode_pairs(
    retriever: Retriever,
    pairs: Iterable[Pair],
    segment: int,
    step: Callable[[int], None],
    shards: Shards,
    job: str,
    *,
    start: int = 0,
) -> Iterator[tuple[list[Pair], Mapping[Field, Encoded]]]:
    """Yield encoded pairs, `segment` at a time; only transformers, which take the time, encode them in shards."""
    if not retriever.encoder:
        for chunk in batched(pairs, segment):
            yield chunk, _encode(retriever, chunk)
            step(len(chunk))
        return
    task = EncodeTask(retriever)
    if shards.parts is not None:
        task = replace(task, signature=task.identify())
    pieces = (piece for chunk in batched(pairs, segment) for piece in batched(chunk, ENCODED))
    chunk, parts = list[Pair](), dict[Field, list[Floats]]()
    for result in shards.compute(job, task, pieces, step, start=start):
        with np.load(io.BytesIO(result), allow_pickle=False) as arrays:
            encoded = list(read_lines(arrays["pairs"].tobytes(), kind="pairs"))
            for field in fields(retriever.target):
                parts.setdefault(field, []).append(arrays[field])
        chunk += encoded
        if len(chunk) == segment:
            yield chunk, {field: np.concatenate(arrays) for field, arrays in parts.items()}
            chunk, parts = [], {}
    if chunk:
        yield chunk, {field: np.concatenate(arrays) for field, arrays in parts.items()}


def _encode(retriever: Retriever, pairs: Sequence[Pair]) -> Mapping[Any, Encoded]:
    return {field: retriever.encode([getattr(pair, field) for pair in pairs]) for field in fields(retriever.target)}


def create_index(
    store: str | Path,
    retriever: Retriever | str,
    *,
    expected: int = 0,
    exact_up_to: int | None = None,
    recall: float = 0.95,
) -> Index:
    """Create an index, or open an existing one with the same settings; `store` is a folder or a server's address."""
    built = create(retriever, kind="retriever") if isinstance(retriever, str) else retriever
    return Index(create_store(store, built, expected=expected, exact_up_to=exact_up_to, recall=recall), built)


def open_index(store: str | Path) -> Index:
    """Open an existing index with the retriever it was built with."""
    return Index(*open_store(store))


def _comparable(queries: Encoded) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if isinstance(queries, Words):
        return np.diff(queries.ends) > 0
    return np.asarray(np.abs(queries).max(axis=1, initial=0) > 0)


@dataclass(frozen=True, slots=True)
class AddedFile:
    """Counts for one file: pairs that were already in the index, pairs added, and pairs excluded by reason."""

    file: str
    before: int
    added: int
    excluded: dict[str, int]


def index_files(
    pairs: Sequence[str | Path],
    output: str | Path,
    options: IndexOptions,
    *,
    shards: ShardOptions = ONE_PROCESS,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> tuple[Index, list[AddedFile]]:
    """Build an index from files of pairs, in a folder or at a server's address, or resume an interrupted build.

    `shards` says which processes encode what.
    """
    _check_files([*pairs, *options.without])  # before anything is made
    if shards.shard:
        retriever = create(options.retriever, kind="retriever")
        encode_share(retriever, pairs, options, shards, reading=reading, progress=progress)
    index = create_index(
        output, options.retriever, expected=options.expected, exact_up_to=options.exact_up_to, recall=options.recall
    )
    return index, add_files(index, pairs, options, shards=shards, reading=reading, progress=progress)


def add_files(
    index: Index,
    pairs: Sequence[str | Path],
    options: AddPairsOptions | None = None,
    *,
    shards: ShardOptions = ONE_PROCESS,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> list[AddedFile]:
    """Add the pairs of files to an index; skip pairs that are already in it. The same call resumes."""
    options = options or AddPairsOptions()
    _check_files([*pairs, *options.without])
    if shards.shard:
        encode_share(index.retriever, pairs, options, shards, reading=reading, progress=progress)
    exclusion, added = Exclusion(options.without, strict=reading.strict), []
    output = None if "://" in index.store.where else index.store.where
    with _open_encoding(index.retriever, pairs, options, shards, output) as run:
        for number, path in enumerate(pairs, start=1):
            source = exclusion.source(path, index.store.sources())
            before = index.store.sources().get(source, 0)
            with progress(f"indexing {Path(path).name}", lines_ahead(path, progress)) as step:
                kept = exclusion.kept(read_pairs(path, reading))
                segment = _segment(index.retriever, options)
                count = index.add(kept, source=source, segment=segment, progress=step, shards=run, job=f"file{number}")
            added.append(AddedFile(str(path), before, count, dict(exclusion.dropped)))
    return added


def encode_share(
    retriever: Retriever,
    pairs: Sequence[str | Path],
    options: AddPairsOptions,
    shards: ShardOptions,
    *,
    reading: ReadOptions = READ_DEFAULTS,
    progress: Progress = silent,
) -> NoReturn:
    """Encode this process's share of all files, without an index; raise ShareComputed in the end."""
    exclusion = Exclusion(options.without, strict=reading.strict)
    with _open_encoding(retriever, pairs, options, shards, None) as run:
        for number, path in enumerate(pairs, start=1):
            with progress(f"encoding {Path(path).name}", lines_ahead(path, progress)) as step:
                kept = exclusion.kept(read_pairs(path, reading))
                try:
                    next(encode_pairs(retriever, kept, _segment(retriever, options), step, run, f"file{number}"), None)
                except ShareComputed:
                    if number == len(pairs):
                        raise
    raise AssertionError("a share has no result")


@contextmanager
def _open_encoding(
    retriever: Retriever,
    pairs: Sequence[str | Path],
    options: AddPairsOptions,
    shards: ShardOptions,
    output: str | None,
) -> Iterator[Shards]:
    facts = {}
    if shards.is_used:
        if not retriever.encoder:
            what = f"{name_of(retriever)} encodes texts in seconds: only transformers encode them in shards"
            raise InputError(what, hint="run it without --workers, --shard and --parts")
        facts = {"verb": "index", "retriever": EncodeTask(retriever).identify()}
        facts["segment"] = str(_segment(retriever, options))
        facts["without"] = Exclusion.name_of(options.without)
        facts["input"] = ",".join(file_fingerprint(Path(path)) for path in pairs)
    with open_shards(shards, facts, source=None, output=output) as run:
        yield run


def _segment(retriever: Retriever, options: AddPairsOptions) -> int:
    return options.segment or (ENCODER_SEGMENT if retriever.encoder else SEGMENT)


def _check_files(paths: Iterable[str | Path]) -> None:
    """Refuse pipes, which cannot be read again to resume a build, and missing files."""
    for path in map(str, paths):
        if path == "-" or not Path(path).is_file():
            raise InputError(f"no file {path!r}", hint="name files: a pipe cannot be read again after an interruption")


class Exclusion:
    """Excludes pairs that overlap test samples. Source names contain its name, so they depend on these samples."""

    def __init__(self, paths: Sequence[str | Path], *, strict: bool = False) -> None:
        self.samples = list(read_all(paths, strict=strict))
        self.name = self.name_of(paths)
        self.dropped: Counter[str] = Counter()

    @staticmethod
    def name_of(paths: Sequence[str | Path]) -> str:
        """Return the name of the exclusion of these samples; empty if there are none."""
        return "-without-" + fingerprint(*sorted(file_fingerprint(Path(p)) for p in paths)) if paths else ""

    def source(self, path: str | Path, sources: Iterable[str]) -> str:
        """Return the source name of a file of pairs: its hash and this exclusion's name."""
        own = file_fingerprint(Path(path))
        for known in sources:
            if known.split("-")[0] == own and known != own + self.name:
                raise InputError(
                    f"{path} is already in the index, with other samples excluded",
                    hint="build a new index, or name the same samples with --without",
                )
        return own + self.name

    def kept(self, pairs: Iterable[Pair]) -> Iterable[Pair]:
        """Return the pairs that are not excluded; excluded pairs are counted."""
        self.dropped.clear()
        return exclude_overlap(pairs, self.samples, dropped=self.dropped) if self.samples else pairs


def read_pairs(path: str | Path, reading: ReadOptions = READ_DEFAULTS) -> Iterator[Pair]:
    """Return the pairs of a file; pairs without ids are named by file and line."""
    pairs: Iterator[Pair] = reading.read_beside([path], kind="pairs")
    if _has_ids(path):
        return pairs
    stem = Path(path).name.split(".")[0]
    return (replace(pair, id=f"{stem}:{pair.id}") for pair in pairs)


def _has_ids(path: str | Path) -> bool:
    """Return whether the first record has an id; lines that are not records are reported when reading."""
    for _, line in lines(path):
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict) and "utterance" in value:
            return "id" in value
    return True
