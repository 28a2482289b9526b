# SPDX-License-Identifier: Apache-2.0
"""Pairs in a Qdrant collection, on one node or spread over many.

A pair is a point: its id is the pair's position, its payload the pair, and each compared field is a named vector: a
unit vector (`dense`), or a sparse vector of BM25's word weights (`bm25`), which the server multiplies by idf.

The manifest is one point of a second collection, `<collection>_interloq`. It has the number of pairs, and is written
after them: an interrupted load leaves only points past the end, which are ignored and are removed before the load
resumes.

BM25 differs from BM25 in a folder in three ways. A word is 32 bits of its hash: among a million different words, one in
4,300 shares its number with another. The mean length of a text is fixed by the first batch. Finally, in idf = log(1 +
(N − df + ½) / (df + ½)), N and df are counted per shard, and N counts texts with at least one word.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import uuid4

import numpy as np

from interloq.errors import InputError, count
from interloq.records import Pair
from interloq.retrieve.recall import as_probes, choose_effort, share_reaching
from interloq.retrieve.retriever import NOTHING, Encoded, Field, Floats, Ids, Words, best
from interloq.retrieve.servers import qdrant_collection, server_store
from interloq.retrieve.servers.qdrant_nodes import Nodes, QdrantAddress

EFFORTS = (16, 32, 64, 128, 256, 512, 1024)
COMMIT_EVERY = 1.0  # seconds
WATCHED = 5.0  # seconds in which an active writer updates the manifest
LAG = 10.0  # the longest pause of a load while the server merges, in seconds
MOST_STRAYS = 2**16  # points past the end that a search skips


class Qdrant(server_store.ServerStore):
    """A store in Qdrant, for logs that are too large for one machine."""

    _defaults = qdrant_collection.CollectionOptions()
    progress: Callable[[int, int], None] | None = None  # called with the numbers of indexed vectors and of all vectors

    def _connect(self, address: str) -> None:
        read = QdrantAddress.read(address)
        self.where = str(read)
        self._given, own = server_store.read_options(
            read.query, qdrant_collection.CollectionOptions, qdrant_collection.ClientOptions, where=self.where
        )
        self._options = qdrant_collection.ClientOptions(**own)
        nodes = Nodes(read, self._options.patience)
        self._points = qdrant_collection.Collection(read.collection, nodes, self._options)
        self._notes = qdrant_collection.Collection(f"{read.collection}_interloq", nodes, self._options)
        self._me, self._writing = uuid4().hex, False

    def _make(self, manifest: server_store.ServerManifest) -> None:
        if self._points.exists():
            what = f"{self._points.name} exists and is not an index"
            raise InputError(what, hint="name a new collection", where=self.where)
        self._notes.make((), 0, qdrant_collection.CollectionOptions(**manifest.options), shards=1)
        self._write(manifest)

    def _finish_making(self, manifest: server_store.ServerManifest) -> None:
        if not manifest.pairs:
            made = qdrant_collection.CollectionOptions(**manifest.options)
            self._points.make(manifest.compared_fields(), manifest.dimensions, made, shards=made.shards)

    def _read(self) -> server_store.ServerManifest | None:
        if not self._notes.exists():
            return None
        notes = self._notes.payloads([0])
        return server_store.read_manifest(notes[0], self.where) if notes else None

    def _write(self, manifest: server_store.ServerManifest) -> None:
        self._notes.write_note(asdict(manifest))
        self.manifest = manifest

    def _commit(self, **changes: Any) -> None:
        """Write changes to the manifest, unless another client is writing."""
        now = self._refresh()
        if now.writer not in ("", self._me):
            raise InputError("another client has started adding", hint="use one client at a time", where=self.where)
        self._write(replace(now, beat=now.beat + 1, **changes))

    def add(self, pairs: Sequence[Pair], encoded: Mapping[Field, Encoded], *, source: str, consumed: int) -> None:
        """Store a batch; about once per second, write the number of acknowledged pairs to the manifest."""
        before = consumed - len(pairs)
        try:
            self._begin(encoded)
            server_store.check_source(self.manifest, source, before)
            first, last_commit = len(self), time.monotonic()
            for done in self._points.store(first, pairs, encoded, self._ranking()):
                if done == len(pairs) or time.monotonic() - last_commit > COMMIT_EVERY:
                    self._commit(pairs=first + done, sources={**self.manifest.sources, source: before + done})
                    self._points.wait_for_merges(LAG)
                    last_commit = time.monotonic()
        except InputError as error:
            raise InputError(
                f"{error.what}; {count(self.manifest.sources.get(source, 0), 'pair')} of the source stored",
                hint=f"{error.hint or 'check the server'}, then run the same command again to resume",
                where=self.where,
            ) from error
        self._writing = True

    def _begin(self, encoded: Mapping[Field, Encoded]) -> None:
        """Become the writer; remove points that an interrupted load left past the end."""
        self._become_writer()
        # the mean length of each field with words: as given in the address, or as measured in the batch
        lengths: dict[str, float] = {}
        for key, values in encoded.items():
            if isinstance(values, Words):
                length = self.manifest.options[f"{key}_length"] or float(values.lengths.mean())
                if length > 0:
                    lengths[key] = length
        self._commit(words={**lengths, **self.manifest.words})
        if not self._writing:
            self._points.remove_from(len(self))
            self._points.index_from(qdrant_collection.NEVER)
        self._writing = False  # until the whole batch is stored

    def _become_writer(self) -> None:
        """Become the writer unless another client is active; a killed client no longer changes `beat`."""
        manifest = self._refresh()
        if manifest.writer not in ("", self._me):
            if not self._writing:
                time.sleep(WATCHED)
            if self._writing or self._refresh().beat != manifest.beat:
                raise InputError("another client is adding", hint="wait until it has finished", where=self.where)
        self._write(replace(self.manifest, writer=self._me, beat=self.manifest.beat + 1))

    def _ranking(self) -> qdrant_collection.PointRanking | None:
        if self.manifest.dimensions:
            return None
        retriever = self.manifest.create_retriever()
        return qdrant_collection.PointRanking(retriever.k1, retriever.b, self.manifest.words)

    def finish(self) -> None:
        """Let the server index the vectors, wait for it, and choose the search effort."""
        manifest = self._refresh()
        if not manifest.writer and manifest.pairs in (0, manifest.indexed):
            return
        self._become_writer()
        changes: dict[str, Any] = {}
        if not manifest.dimensions or manifest.pairs > manifest.exact_up_to:
            self._points.index_from(qdrant_collection.INDEXING_FROM)
            self._wait_until_green()
            changes["indexed"] = manifest.pairs
            if manifest.dimensions:
                changes["effort"], changes["recall"] = self._measure_recall()
        self._commit(writer="", **changes)
        self._writing = False

    def _wait_until_green(self) -> None:
        stop, quiet = time.monotonic() + self._options.wait, 0
        n_fields = len(self.manifest.compared_fields())
        while quiet < 3:  # the server does not start indexing at once
            status, indexed = self._points.state()
            quiet, total = quiet + 1 if status == "green" else 0, len(self) * n_fields
            if self.progress:
                self.progress(indexed, total)
            if time.monotonic() > stop:
                raise InputError(
                    f"all pairs are stored; {indexed:,} of {total:,} vectors are indexed after {self._options.wait} s",
                    hint="run the same command again to keep waiting, or set a larger wait= in the address",
                    where=self.where,
                )
            time.sleep(0.3)

    def _measure_recall(self) -> tuple[int, float]:
        """Return the least effort that reaches the wanted recall, and the recall it reaches."""
        ids = np.unique(np.linspace(0, len(self) - 1, server_store.N_PROBES, dtype=np.int64)).tolist()
        probes = as_probes(self._points.vectors(ids, "utterance"))
        _, truth = self._points.nearest("utterance", probes, server_store.NEIGHBOURS + 1, qdrant_collection.EXACT)

        def recall(effort: int) -> float:
            _, scores = self._points.nearest("utterance", probes, server_store.NEIGHBOURS + 1, {"hnsw_ef": effort})
            return share_reaching(scores, truth)

        return choose_effort(EFFORTS, recall, self.manifest.wanted_recall)

    def nearest(self, field: Field, queries: Encoded, k: int) -> tuple[Ids, Floats]:
        wanted, params = k, {"hnsw_ef": self.manifest.effort} if self.manifest.effort else qdrant_collection.EXACT
        ids, scores = self._points.nearest(field, queries, wanted, params)
        if (ids >= len(self)).any():  # another client is adding, or was interrupted
            self._refresh()
            while (past := (ids >= len(self)).sum(axis=1).max()) > wanted - k and wanted < MOST_STRAYS:
                wanted = max(2 * wanted, k + int(past))
                ids, scores = self._points.nearest(field, queries, wanted, params)
            scores[ids >= len(self)] = -np.inf
            ids[ids >= len(self)] = NOTHING
        return best(ids, scores, k)

    def scores(self, field: Field, queries: Encoded, ids: Ids) -> Floats:
        """Return the scores of given pairs: 0 without a shared word, -inf for a missing vector."""
        nothing = 0.0 if isinstance(queries, Words) else -np.inf
        scores = np.full(ids.shape, nothing, dtype=np.float32)
        known_scores = self._points.scores(field, queries, np.where(ids < len(self), ids, NOTHING))
        for row, known in enumerate(known_scores):
            scores[row] = [known.get(id, nothing) for id in ids[row].tolist()]
        return scores

    def pairs(self, ids: Sequence[int]) -> list[Pair]:
        """Return the pairs with these numbers."""
        payloads, pairs = self._points.payloads(ids), []
        for id in ids:
            if id not in payloads:
                raise InputError(f"pair {id} is not in the collection", hint="build it again", where=self.where)
            pairs.append(Pair(**payloads[id]))
        return pairs
