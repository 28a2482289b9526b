# SPDX-License-Identifier: Apache-2.0
"""An index in a folder: immutable segments and a manifest that lists them.

A batch of pairs becomes a segment, which is complete before the manifest lists it (docs/retrieval.md).

Up to `exact_up_to` pairs, vectors are compared exactly. Above that, they are stored as faiss inverted lists, and
`finish` chooses how many lists a query visits so that recall@15 reaches `recall`. Recall is measured against exact
search: the true neighbours of some probes are found while each batch is in memory.
"""

from __future__ import annotations

import contextlib
import math
import re
import shutil
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from interloq.data.files.arrays import map_array
from interloq.data.files.durable import atomic_file, atomic_folder, hold_lock, make_folder, remove, sweep_all
from interloq.data.files.folders import check_confined, contents, inside, is_free
from interloq.data.files.write_errors import writing
from interloq.errors import InputError
from interloq.records import Pair
from interloq.registry import create, spec
from interloq.retrieve.folder.folder_files import (
    MANIFEST,
    REBUILD,
    FolderLog,
    FolderManifest,
    make_damage_error,
    read_manifest,
    write_log,
    write_manifest,
)
from interloq.retrieve.recall import as_probes, choose_effort, share_of_scores
from interloq.retrieve.retriever import (
    Encoded,
    Field,
    Floats,
    Ids,
    Retriever,
    Store,
    Words,
    best,
    check_built_with,
    fields,
)

LOCK, SEGMENTS = "index.lock", "segments"
OURS = re.compile(r"\d{6,12}(\.part)?")  # names of segments; earlier versions wrote `….part` first
N_PROBES, NEIGHBOURS = 256, 15
MOST_LISTS = 16_384
POINTS_PER_LIST = 64  # training points per centroid; more would take longer and change little
TRAINED = (".trained.npz", ".trained.faiss")


class Embedded(Store):
    """A store in a folder, which needs no server."""

    manifest: FolderManifest

    def __init__(self, folder: str | Path, retriever: Retriever | None = None) -> None:
        self.folder = Path(folder)
        self.where = str(self.folder)
        self.manifest = self._read()
        self._opened: dict[Field, list[Any]] = {}
        self._rankings: dict[Field, Any] = {}
        self._locked = False
        if retriever is not None:
            check_built_with(self.manifest, retriever, self.where)

    @classmethod
    def create(
        cls,
        folder: str | Path,
        retriever: Retriever,
        *,
        expected: int = 0,
        exact_up_to: int = 200_000,
        recall: float = 0.95,
    ) -> Embedded:
        """Create an empty index, or open an existing one that was created with the same settings."""
        folder = Path(folder)
        if not 0 < recall <= 1 or exact_up_to < 0 or expected < 0:
            raise InputError(
                f"an index cannot have recall {recall}, exact_up_to {exact_up_to} and expected {expected}",
                hint="give a recall above 0 and up to 1, and numbers of pairs of at least 0",
            )
        manifest = FolderManifest(
            retriever=spec(retriever),
            built_with=retriever.built_with(),
            expected=expected,
            exact_up_to=exact_up_to,
            wanted_recall=recall,
        )
        if not (folder / MANIFEST).exists() and not is_free(folder, SEGMENTS, LOCK):
            raise InputError(f"{folder} is not empty and is not an index", hint="name a new folder")
        if not _holds_pairs(folder):  # an index without pairs may be replaced
            with writing(folder):
                make_folder(folder)
            with hold_lock(inside(folder, LOCK)):
                if not _holds_pairs(folder):
                    (folder / SEGMENTS).mkdir(exist_ok=True)
                    write_manifest(folder, manifest)
        return cls(folder, retriever)

    def _read(self) -> FolderManifest:
        manifest = read_manifest(self.folder)
        check_confined(self.folder)
        return manifest

    @property
    def segments(self) -> int:
        return len(self.manifest.segments)

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Let no other process write to the index; may be nested."""
        if self._locked:
            yield
            return
        with hold_lock(inside(self.folder, LOCK)):
            self._locked = True
            try:
                yield
            finally:
                self._locked = False

    def add(self, pairs: Sequence[Pair], encoded: Mapping[Field, Encoded], *, source: str, consumed: int) -> None:
        with self.exclusive():
            before, self.manifest = self.manifest, self._read()  # another process may have added pairs or recreated it
            if (before.retriever, before.built_with) != (self.manifest.retriever, self.manifest.built_with):
                raise InputError(
                    "another process has started another index here", hint="choose another folder", where=self.where
                )
            self._sweep()
            name = self._free_name()
            with atomic_folder(self._path(name)) as part:
                write_log(part, pairs)
                for key, values in encoded.items():
                    self._write_field(part, key, values)
            segment = {"name": name, "pairs": len(pairs)}
            self._commit(
                segments=(*self.manifest.segments, segment), sources={**self.manifest.sources, source: consumed}
            )

    def finish(self) -> None:
        """Prepare data for all searches; convert exact vectors to lists if there are too many for exact search."""
        with self.exclusive():
            self.manifest = self._read()
            self._sweep()
            if self._retriever.ranking == "jaccard":
                return  # counts of shared words need no preparation
            if self.manifest.retriever.split("(")[0] == "bm25":
                from interloq.retrieve.folder.postings import store_impacts

                for key in self._fields():
                    for folder in self._folders(key):
                        store_impacts(folder, self._ranking(key))
                self._opened.clear()
            elif len(self) > self.manifest.exact_up_to:
                for i, segment in enumerate(self.manifest.segments):
                    self._convert(i, segment)
                self._measure()

    def _write_field(self, part: Path, key: Field, values: Encoded) -> None:
        folder = part / key
        folder.mkdir()
        if isinstance(values, Words):
            from interloq.retrieve.folder.postings import Postings

            Postings.of(values).save(folder)
            return
        from interloq.retrieve.folder import vector_lists as lists
        from interloq.retrieve.folder.vector_scan import TrainedCodes

        trained = self._trained(key)
        if trained is None and len(self) + len(values) <= self.manifest.exact_up_to:
            lists.write_exact(folder, values)
            return
        if trained is None:
            trained = self._train(key, values)
        if trained.suffix == ".faiss":
            lists.write_lists(folder, trained, values)
        else:
            TrainedCodes.load(trained).write_segment(folder, values)
        lists.write_truth(folder, self._probes(key), values, NEIGHBOURS)

    def _train(self, key: Field, values: Floats) -> Path:
        from interloq.retrieve.folder import vector_lists as lists
        from interloq.retrieve.folder.vector_scan import TrainedCodes

        if not all((folder / lists.EXACT).exists() for folder in self._folders(key)):
            raise make_damage_error(self.folder / f"{key}{TRAINED[0]}", "missing")
        n = max(len(self) + len(values), self.manifest.expected)
        n_lists = min(MOST_LISTS, 2 ** round(math.log2(math.sqrt(n))), max(1, len(values) // 8))
        step = max(1, len(values) // (n_lists * POINTS_PER_LIST))
        with atomic_file(self._probes_path(key)) as file:
            np.save(file, as_probes(values[:: max(1, len(values) // N_PROBES)][:N_PROBES]))
        trained = self.folder / f"{key}{TRAINED[0]}"
        TrainedCodes.train(np.ascontiguousarray(values[::step]), n_lists).save(trained)
        return trained

    def _convert(self, i: int, segment: Mapping[str, Any]) -> None:
        """Replace a segment of exact vectors by a new one with lists."""
        from interloq.retrieve.folder import vector_lists as lists

        old = self._path(segment["name"])
        exact = {key: old / key / lists.EXACT for key in self._fields() if (old / key / lists.EXACT).exists()}
        if not exact:
            return
        name = self._free_name()
        with atomic_folder(self._path(name)) as part:
            shutil.copytree(old, part, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*self._fields()))
            for key, path in exact.items():
                values = map_array(path, np.float32, dimensions=2, rows=segment["pairs"], hint=REBUILD)
                self._write_field(part, key, values)
        segments = list(self.manifest.segments)
        segments[i] = {"name": name, "pairs": segment["pairs"]}
        self._commit(segments=tuple(segments))

    def _measure(self) -> None:
        """Find the smallest number of visited lists that reaches the wanted recall for the probes of utterances."""
        from interloq.retrieve.folder import vector_lists as lists

        key: Field = "utterance"
        segments, probes = self._vectors(key), self._probes(key)
        truth = lists.scores(segments, probes, lists.read_truth(self._folders(key), len(probes)))

        def reached(n_probe: int) -> float:
            ids, _ = best(*lists.nearest(segments, probes, NEIGHBOURS, n_probe), NEIGHBOURS)
            return share_of_scores(lists.scores(segments, probes, ids), truth)

        n_lists = segments[0].shape[1]
        efforts = sorted({min(n_lists, round(2 ** (i / 4))) for i in range(4 * n_lists.bit_length())})
        n_probe, recall = choose_effort(efforts, reached, self.manifest.wanted_recall)
        self._commit(n_probe=n_probe, recall=recall)

    def nearest(self, field: Field, queries: Encoded, k: int) -> tuple[Ids, Floats]:
        if isinstance(queries, Words) and self._retriever.ranking == "jaccard":
            from interloq.retrieve.folder import shared_words

            ids, scores = shared_words.search(self._word_segments(field), queries, k)
        elif isinstance(queries, Words):
            from interloq.retrieve.folder import postings

            ids, scores = postings.search(self._postings(field), queries, self._ranking(field), k)
        else:
            from interloq.retrieve.folder import vector_lists as lists

            ids, scores = lists.nearest(self._vectors(field), queries, k, self.manifest.n_probe)
        return best(ids, scores, k)

    def scores(self, field: Field, queries: Encoded, ids: Ids) -> Floats:
        if isinstance(queries, Words):
            from interloq.retrieve.folder import postings

            return postings.score(self._postings(field), queries, self._ranking(field), ids)
        from interloq.retrieve.folder import vector_lists as lists

        return lists.scores(self._vectors(field), queries, ids)

    def pairs(self, ids: Sequence[int]) -> list[Pair]:
        """Return the pairs with these numbers."""
        pairs = []
        for id in ids:
            segment = bisect_right(self._firsts, id) - 1
            pairs.append(self._logs[segment][id - self._firsts[segment]])
        return pairs

    def sources(self) -> dict[str, int]:
        """Return the number of pairs per source; it is read again, because another process may have added some."""
        return dict(self._read().sources)

    def __len__(self) -> int:
        return sum(segment["pairs"] for segment in self.manifest.segments)

    @cached_property
    def _logs(self) -> list[FolderLog]:
        return [FolderLog(self._path(segment["name"]), segment["pairs"]) for segment in self.manifest.segments]

    @cached_property
    def _firsts(self) -> list[int]:
        """Return the id of each segment's first pair."""
        return [0, *accumulate(segment["pairs"] for segment in self.manifest.segments)][:-1]

    def _vectors(self, key: Field) -> list[Any]:
        from interloq.retrieve.folder import vector_lists as lists

        if key not in self._opened:
            trained = self._trained(key)
            codes = trained if trained and trained.suffix != ".faiss" else None
            self._opened[key] = lists.open_segments(self._folders(key), codes)
        return self._opened[key]

    def _postings(self, key: Field) -> list[Any]:
        from interloq.retrieve.folder.postings import PostingSegment

        if key not in self._opened:
            ranking = self._ranking(key)
            self._opened[key] = [PostingSegment(folder, ranking) for folder in self._folders(key)]
            self._check_lengths(key)
        return self._opened[key]

    def _word_segments(self, key: Field) -> list[Any]:
        from interloq.retrieve.folder.postings import Postings
        from interloq.retrieve.folder.shared_words import WordSegment

        if key not in self._opened:
            self._opened[key] = [WordSegment(folder, Postings.open(folder)) for folder in self._folders(key)]
            self._check_lengths(key)
        return self._opened[key]

    def _check_lengths(self, key: Field) -> None:
        for segment, n in zip(self._opened[key], self._folders(key).values(), strict=True):
            if len(segment.postings.lengths) != n:
                raise make_damage_error(segment.folder, f"{len(segment.postings.lengths):,} texts, not {n:,}")

    def _ranking(self, key: Field) -> Any:
        from interloq.retrieve.folder.postings import rank, rank_cosines

        if key not in self._rankings:
            folders = self._folders(key)
            if self._retriever.ranking == "cosine":
                self._rankings[key] = rank_cosines(folders)
            else:
                self._rankings[key] = rank(folders, k1=self._retriever.k1, b=self._retriever.b)
        return self._rankings[key]

    @cached_property
    def _retriever(self) -> Retriever:
        retriever: Retriever = create(self.manifest.retriever, kind="retriever")
        return retriever

    def _commit(self, **changes: Any) -> None:
        self.manifest = replace(self.manifest, **changes)
        write_manifest(self.folder, self.manifest)
        self._opened.clear()
        self._rankings.clear()
        for name in ("_logs", "_firsts"):
            self.__dict__.pop(name, None)
        self._sweep()

    def _sweep(self) -> None:
        """Remove what killed processes left behind: segments that are not in the manifest, and parts of files."""
        sweep_all(self.folder)
        named = {segment["name"] for segment in self.manifest.segments}
        for path in contents(inside(self.folder, SEGMENTS)):
            if path.name not in named and OURS.fullmatch(path.name):
                remove(path)

    def _free_name(self) -> str:
        numbers = [int(segment["name"]) for segment in self.manifest.segments]
        return f"{max(numbers, default=-1) + 1:06d}"

    def _path(self, name: str) -> Path:
        return inside(self.folder, SEGMENTS, name)

    def _folders(self, key: Field) -> dict[Path, int]:
        """Return the folder of the field in each segment, with the segment's number of pairs."""
        return {self._path(segment["name"]) / key: segment["pairs"] for segment in self.manifest.segments}

    def _fields(self) -> tuple[Field, ...]:
        return fields(self._retriever.target)

    def _trained(self, key: Field) -> Path | None:
        """Return the file that all segments with codes share: faiss lists in an index of schema 1."""
        paths = [self.folder / f"{key}{suffix}" for suffix in TRAINED]
        return next((path for path in paths if path.exists()), None)

    def _probes_path(self, key: Field) -> Path:
        return self.folder / f"{key}.probes.npy"

    def _probes(self, key: Field) -> Floats:
        return map_array(self._probes_path(key), np.float32, dimensions=2, hint=REBUILD)


def _holds_pairs(folder: Path) -> bool:
    return (folder / MANIFEST).exists() and len(read_manifest(folder).segments) > 0
