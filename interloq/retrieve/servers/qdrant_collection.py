# SPDX-License-Identifier: Apache-2.0
"""Creating, storing, finding and removing the points of one Qdrant collection; see qdrant.py for what they contain."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq.data.batched import batched
from interloq.errors import InputError
from interloq.records import Pair
from interloq.retrieve.retriever import NOTHING, Encoded, Field, Floats, Ids, Words
from interloq.retrieve.servers.qdrant_nodes import Nodes

QUERIES = 64  # per request
RETRIEVED = 1_000  # points per request
INDEXING_FROM = 10_000  # KB of vectors per segment
NEVER = 0
EXACT = {"exact": True}


@dataclass(frozen=True, slots=True)
class PointRanking:
    """The constants of BM25."""

    k1: float
    b: float
    mean_lengths: Mapping[str, float]  # per field


def as_stored(field: Field, encoded: Encoded, part: slice, ranking: PointRanking | None) -> list[Any]:
    """Return a part of the texts as vectors of points."""
    if not isinstance(encoded, Words):
        return list(encoded[part])
    if ranking is None:
        raise ValueError("words need a ranking")
    first, last = encoded.ends[part.start], encoded.ends[part.stop]
    ends = encoded.ends[part.start : part.stop + 1] - first
    words = Words(encoded.terms[first:last], encoded.counts[first:last], ends)
    return list(_sparse(words, weights(words, ranking, field)))


def as_queries(encoded: Encoded) -> list[Any]:
    """Return queries as counted words or as vectors."""
    if isinstance(encoded, Words):
        return list(_sparse(encoded, encoded.counts.astype(np.float64)))
    return list(np.ascontiguousarray(encoded))


def weights(words: Words, ranking: PointRanking, field: Field) -> NDArray[np.float64]:
    """Return the BM25 weight of every word without idf, by which the server multiplies it."""
    length = words.lengths / ranking.mean_lengths.get(field, 1.0)
    norms = np.repeat(ranking.k1 * (1 - ranking.b + ranking.b * length), np.diff(words.ends))
    return np.asarray(words.counts * (ranking.k1 + 1) / (words.counts + norms))


def fold(terms: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return 64-bit hashes of words as the 32-bit numbers that Qdrant accepts."""
    return ((terms ^ (terms >> np.uint64(32))) & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _sparse(words: Words, values: NDArray[np.float64]) -> Iterator[dict[str, Any]]:
    indices = fold(words.terms)
    for start, stop in zip(words.ends[:-1], words.ends[1:], strict=True):
        # words of a text that share a number count as one, because the server accepts each number once
        distinct, places = np.unique(indices[start:stop], return_inverse=True)
        summed = np.bincount(places, weights=values[start:stop], minlength=len(distinct))
        yield {"indices": distinct, "values": summed.astype(np.float32)}


@dataclass(frozen=True, slots=True)
class CollectionOptions:
    """Options that are fixed when the collection is created."""

    shards: int = 0  # 0: the server's default
    replicas: int = 1
    acknowledged: int = 0  # replicas that must confirm a write; 0: more than half, but one may be down
    m: int = 16  # neighbours of a point in the HNSW graph
    ef_construct: int = 128
    int8: bool = False  # search in 8-bit copies, then score the best with the original vectors
    on_disk: bool = False  # vectors are read from disk, not kept in memory
    utterance_length: float = 0.0  # mean number of words per text, for BM25; 0: measured on the first batch
    response_length: float = 0.0


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Options of this client only."""

    batch: int = 256  # points per request
    outstanding: int = 4  # requests in flight
    patience: int = 60  # seconds without an answer before giving up
    wait: int = 3_600  # seconds that `finish` waits until everything is indexed

    def __post_init__(self) -> None:
        if not self.batch or not self.outstanding:
            raise InputError("options batch and outstanding must be at least 1")


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection on a Qdrant server."""

    name: str
    nodes: Nodes
    options: ClientOptions

    def ask(self, method: str, path: str = "", body: Any = None) -> Any:
        """Send a request about this collection."""
        return self.nodes.ask(method, f"/collections/{self.name}{path}", body)

    def exists(self) -> bool:
        """Return whether the server has the collection."""
        return bool(self.ask("GET", "/exists")["exists"])

    def make(self, keys: Sequence[Field], dimensions: int, made: CollectionOptions, *, shards: int) -> None:
        """Create the collection with a named vector per key: dense, or sparse vectors of words if `dimensions` is 0."""
        if self.exists():
            return
        words = {"modifier": "idf", "index": {"on_disk": made.on_disk}}
        body = {
            "vectors": dict.fromkeys(keys, _vector_params(dimensions, made)) if dimensions else {},
            "sparse_vectors": {} if dimensions else dict.fromkeys(keys, words),
            "replication_factor": made.replicas,
            "write_consistency_factor": made.acknowledged or max(1, min(made.replicas // 2 + 1, made.replicas - 1)),
            "optimizers_config": {"indexing_threshold": NEVER},
            "on_disk_payload": True,
        }
        self.ask("PUT", "?timeout=60", body | ({"shard_number": shards} if shards else {}))
        stop = time.monotonic() + self.options.patience
        while not all(self.exists() for _ in range(len(self.nodes))):
            if time.monotonic() > stop:
                raise InputError(f"some nodes do not know {self.name}", hint="see their logs", where=self.nodes.where)
            time.sleep(0.1)

    def index_from(self, kilobytes: int) -> None:
        """Set the size from which segments are indexed; a bulk load is faster without indexing."""
        self.ask("PATCH", "?timeout=60", {"optimizers_config": {"indexing_threshold": kilobytes}})

    def state(self) -> tuple[str, int]:
        """Return status, which is `green` if the server is idle, and the number of indexed vectors."""
        info = self.ask("GET")
        if info["status"] == "red":
            raise InputError(f"the server cannot continue: {info['optimizer_status']}", hint="see its log")
        return info["status"], info.get("indexed_vectors_count") or 0

    def wait_for_merges(self, longest: float) -> None:
        """Wait while the server merges segments, up to `longest` seconds."""
        stop = time.monotonic() + longest
        while self.state()[0] == "yellow" and time.monotonic() < stop:
            time.sleep(0.1)

    def store(
        self, first: int, pairs: Sequence[Pair], encoded: Mapping[Field, Encoded], ranking: PointRanking | None
    ) -> Iterator[int]:
        """Send pairs with a limited number of requests in flight; yield how many are stored without a gap."""
        in_flight: deque[tuple[int, Future[None]]] = deque()
        with ThreadPoolExecutor(self.options.outstanding) as pool:
            try:
                for start in range(0, len(pairs), self.options.batch):
                    part = slice(start, min(start + self.options.batch, len(pairs)))
                    if len(in_flight) == self.options.outstanding:
                        yield _wait_for_oldest(in_flight)
                    future = pool.submit(self._store, first, pairs, encoded, part, ranking)
                    in_flight.append((part.stop, future))
                while in_flight:
                    yield _wait_for_oldest(in_flight)
            finally:
                for _, future in in_flight:
                    future.cancel()

    def _store(
        self,
        first: int,
        pairs: Sequence[Pair],
        encoded: Mapping[Field, Encoded],
        part: slice,
        ranking: PointRanking | None,
    ) -> None:
        batch = {
            "ids": list(range(first + part.start, first + part.stop)),
            "vectors": {key: as_stored(key, values, part, ranking) for key, values in encoded.items()},
            "payloads": [asdict(pair) for pair in pairs[part]],
        }
        self.ask("PUT", "/points?wait=true", {"batch": batch})

    def write_note(self, payload: Mapping[str, Any]) -> None:
        """Write point 0; a leader orders the writes, and another takes over if it fails."""
        self.ask("PUT", "/points?wait=true&ordering=medium", {"points": [{"id": 0, "vector": {}, "payload": payload}]})

    def remove_from(self, first: int) -> None:
        """Remove the points whose id is `first` or more."""
        wanted = {"offset": first, "limit": RETRIEVED, "with_payload": False}
        while points := self.ask("POST", "/points/scroll", wanted)["points"]:
            self.ask("POST", "/points/delete?wait=true", {"points": [point["id"] for point in points]})

    def nearest(self, field: Field, queries: Encoded, k: int, params: Mapping[str, Any]) -> tuple[Ids, Floats]:
        results = self._search([{**query, "limit": k, "params": params} for query in _searches(field, queries)])
        ids = np.full((len(results), k), NOTHING, dtype=np.int64)
        scores = np.full((len(results), k), -np.inf, dtype=np.float32)
        for row, points in enumerate(results):
            ids[row, : len(points)] = [point["id"] for point in points]
            scores[row, : len(points)] = [point["score"] for point in points]
        return ids, scores

    def scores(self, field: Field, queries: Encoded, ids: Ids) -> list[dict[int, float]]:
        """Return the scores of the given points for each query; points without a score are omitted."""
        searches = []
        for query, row in zip(_searches(field, queries), ids, strict=True):
            wanted = np.ascontiguousarray(row[row != NOTHING])
            has_id = {"must": [{"has_id": wanted}]}
            searches.append({**query, "limit": max(1, len(wanted)), "params": EXACT, "filter": has_id})
        return [dict(map(itemgetter("id", "score"), points)) for points in self._search(searches)]

    def _search(self, searches: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        parts = [{"searches": part} for part in batched(searches, QUERIES)]
        with ThreadPoolExecutor(self.options.outstanding) as pool:
            answers = pool.map(lambda part: self.ask("POST", "/points/query/batch", part), parts)
            return [answer["points"] for answer in chain.from_iterable(answers)]

    def payloads(self, ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        """Return the payloads of these points."""
        return {point["id"]: point["payload"] for point in self._retrieve(ids, {"with_payload": True})}

    def vectors(self, ids: Sequence[int], field: Field) -> Floats:
        """Return the vectors of these points."""
        points = self._retrieve(ids, {"with_payload": False, "with_vector": [field]})
        return np.array([point["vector"][field] for point in points], dtype=np.float32)

    def _retrieve(self, ids: Sequence[int], what: Mapping[str, Any]) -> list[dict[str, Any]]:
        points: list[dict[str, Any]] = []
        for part in batched(ids, RETRIEVED):
            points += self.ask("POST", "/points", {"ids": part, **what})
        return points


def _searches(field: Field, queries: Encoded) -> list[dict[str, Any]]:
    return [{"query": query, "using": field} for query in as_queries(queries)]


def _vector_params(dimensions: int, made: CollectionOptions) -> dict[str, Any]:
    params = {
        "size": dimensions,
        "distance": "Dot",  # for unit vectors, the cosine
        "on_disk": made.on_disk,
        "hnsw_config": {"m": made.m, "ef_construct": made.ef_construct},
    }
    int8 = {"scalar": {"type": "int8", "quantile": 0.99, "always_ram": True}}
    return params | ({"quantization_config": int8} if made.int8 else {})


def _wait_for_oldest(in_flight: deque[tuple[int, Future[None]]]) -> int:
    """Wait for the oldest request; return the number of pairs stored up to it."""
    stop, future = in_flight.popleft()
    future.result()
    return stop
