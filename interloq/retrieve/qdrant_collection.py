"""The points of one Qdrant collection: made, stored, found, removed; what they mean is the matter of qdrant.py."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from interloq.errors import InputError
from interloq.records import Pair
from interloq.retrieve.qdrant_nodes import Nodes
from interloq.retrieve.qdrant_points import Ranking, as_queries, as_stored
from interloq.retrieve.retriever import NOTHING, Encoded, Field, Floats, Ids

QUERIES = 64  # in a request
RETRIEVED = 1_000  # points in a request
INDEXING_FROM = 10_000  # KB of vectors in a segment
NEVER = 0
EXACT = {"exact": True}


@dataclass(frozen=True, slots=True)
class Made:
    """Options that are fixed when the collection is made."""

    shards: int = 0  # 0: as many as the server thinks right
    replicas: int = 1
    acknowledged: int = 0  # replicas that must have a write before it counts; 0: most of them, but one may be down
    m: int = 16  # neighbours of a point in the HNSW graph
    ef_construct: int = 128
    int8: bool = False  # search in 8-bit copies, score the best with the vectors themselves
    on_disk: bool = False  # vectors are read from disk, not held in memory
    utterance_length: float = 0.0  # mean words of a text, for BM25; 0: measured on the first batch
    response_length: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of one client."""

    batch: int = 256  # points in a request
    outstanding: int = 4  # requests on their way
    patience: int = 60  # seconds without an answer before giving up
    wait: int = 3_600  # seconds for which `finish` waits until all is indexed

    def __post_init__(self) -> None:
        if not self.batch or not self.outstanding:
            raise InputError("options batch and outstanding must be at least 1")


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection on a Qdrant server."""

    name: str
    nodes: Nodes
    manner: SearchOptions

    def ask(self, method: str, path: str = "", body: Any = None) -> Any:
        """Send a request that concerns this collection."""
        return self.nodes.ask(method, f"/collections/{self.name}{path}", body)

    # ---- making ------------------------------------------------------------------------------------------------------

    def exists(self) -> bool:
        """Whether the server has it."""
        return bool(self.ask("GET", "/exists")["exists"])

    def make(self, keys: Sequence[Field], dimensions: int, made: Made, *, shards: int) -> None:
        """A named vector for each key: of so many dimensions, or of words where dimensions is 0."""
        if self.exists():
            return
        body = {
            "vectors": dict.fromkeys(keys, _vector_params(dimensions, made)) if dimensions else {},
            "sparse_vectors": {} if dimensions else dict.fromkeys(keys, _word_params(made)),
            "replication_factor": made.replicas,
            "write_consistency_factor": made.acknowledged or _acknowledged(made.replicas),
            "optimizers_config": {"indexing_threshold": NEVER},
            "on_disk_payload": True,
        }
        self.ask("PUT", "?timeout=60", body | ({"shard_number": shards} if shards else {}))
        self._wait_until_known()

    def _wait_until_known(self) -> None:
        """The nodes of a cluster hear of a new collection one after the other."""
        stop = time.monotonic() + self.manner.patience
        while not all(self.exists() for _ in range(len(self.nodes))):
            if time.monotonic() > stop:
                raise InputError(
                    f"some nodes never heard of {self.name}", hint="see their logs", where=self.nodes.where
                )
            time.sleep(0.1)

    def index_from(self, kilobytes: int) -> None:
        """From which size on a segment is indexed; a bulk load is faster while none is."""
        self.ask("PATCH", "?timeout=60", {"optimizers_config": {"indexing_threshold": kilobytes}})

    def state(self) -> tuple[str, int]:
        """`green`, or what the server is busy with; and how many vectors are indexed."""
        info = self.ask("GET")
        if info["status"] == "red":
            raise InputError(f"the server cannot continue: {info['optimizer_status']}", hint="see its log")
        return info["status"], info.get("indexed_vectors_count") or 0

    def breathe(self, longest: float) -> None:
        """Wait while the server merges what it got."""
        stop = time.monotonic() + longest
        while self.state()[0] == "yellow" and time.monotonic() < stop:
            time.sleep(0.1)

    # ---- storing -----------------------------------------------------------------------------------------------------

    def store(
        self, first: int, pairs: Sequence[Pair], encoded: Mapping[Field, Encoded], ranking: Ranking | None
    ) -> Iterator[int]:
        """Send pairs with a bounded number of requests on their way; yields how many have arrived without a gap."""
        on_their_way: deque[tuple[int, Future[None]]] = deque()
        with ThreadPoolExecutor(self.manner.outstanding) as pool:
            try:
                for start in range(0, len(pairs), self.manner.batch):
                    part = slice(start, min(start + self.manner.batch, len(pairs)))
                    if len(on_their_way) == self.manner.outstanding:
                        yield _arrived(on_their_way)
                    future = pool.submit(self._store, first, pairs, encoded, part, ranking)
                    on_their_way.append((part.stop, future))
                while on_their_way:
                    yield _arrived(on_their_way)
            finally:
                for _, future in on_their_way:
                    future.cancel()

    def _store(
        self,
        first: int,
        pairs: Sequence[Pair],
        encoded: Mapping[Field, Encoded],
        part: slice,
        ranking: Ranking | None,
    ) -> None:
        batch = {
            "ids": list(range(first + part.start, first + part.stop)),
            "vectors": {key: as_stored(key, values, part, ranking) for key, values in encoded.items()},
            "payloads": [asdict(pair) for pair in pairs[part]],
        }
        self.ask("PUT", "/points?wait=true", {"batch": batch})

    def note(self, payload: Mapping[str, Any]) -> None:
        """Point 0 becomes this; one leader puts notes in order, and another takes over where it is gone."""
        self.ask("PUT", "/points?wait=true&ordering=medium", {"points": [{"id": 0, "vector": {}, "payload": payload}]})

    def remove_from(self, first: int) -> None:
        """Remove the points whose id is `first` or more."""
        wanted = {"offset": first, "limit": RETRIEVED, "with_payload": False}
        while points := self.ask("POST", "/points/scroll", wanted)["points"]:
            self.ask("POST", "/points/delete?wait=true", {"points": [point["id"] for point in points]})

    # ---- finding -----------------------------------------------------------------------------------------------------

    def nearest(self, field: Field, queries: Encoded, k: int, params: Mapping[str, Any]) -> tuple[Ids, Floats]:
        found = self._search([{**query, "limit": k, "params": params} for query in _searches(field, queries)])
        ids = np.full((len(found), k), NOTHING, dtype=np.int64)
        scores = np.full((len(found), k), -np.inf, dtype=np.float32)
        for row, points in enumerate(found):
            ids[row, : len(points)] = [point["id"] for point in points]
            scores[row, : len(points)] = [point["score"] for point in points]
        return ids, scores

    def scores(self, field: Field, queries: Encoded, ids: Ids) -> list[dict[int, float]]:
        """For each query the scores of those given points that have one."""
        searches = []
        for query, row in zip(_searches(field, queries), ids, strict=True):
            wanted = np.ascontiguousarray(row[row != NOTHING])
            has_id = {"must": [{"has_id": wanted}]}
            searches.append({**query, "limit": max(1, len(wanted)), "params": EXACT, "filter": has_id})
        return [{point["id"]: point["score"] for point in points} for points in self._search(searches)]

    def _search(self, searches: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        parts = [{"searches": searches[start : start + QUERIES]} for start in range(0, len(searches), QUERIES)]
        with ThreadPoolExecutor(self.manner.outstanding) as pool:
            answers = pool.map(lambda part: self.ask("POST", "/points/query/batch", part), parts)
            return [answer["points"] for part in answers for answer in part]

    def payloads(self, ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        """What is stored with these points."""
        return {point["id"]: point["payload"] for point in self._retrieve(ids, {"with_payload": True})}

    def vectors(self, ids: Sequence[int], field: Field) -> Floats:
        """The vectors of these points."""
        points = self._retrieve(ids, {"with_payload": False, "with_vector": [field]})
        return np.array([point["vector"][field] for point in points], dtype=np.float32)

    def _retrieve(self, ids: Sequence[int], what: Mapping[str, Any]) -> list[dict[str, Any]]:
        parts = [list(ids[start : start + RETRIEVED]) for start in range(0, len(ids), RETRIEVED)]
        return [point for part in parts for point in self.ask("POST", "/points", {"ids": part, **what})]


def _searches(field: Field, queries: Encoded) -> list[dict[str, Any]]:
    return [{"query": query, "using": field} for query in as_queries(queries)]


def _acknowledged(replicas: int) -> int:
    """More than half, but never all of several: a server that waits for every copy takes nothing while one is down."""
    return max(1, min(replicas // 2 + 1, replicas - 1))


def _vector_params(dimensions: int, made: Made) -> dict[str, Any]:
    params = {
        "size": dimensions,
        "distance": "Dot",  # of unit vectors: their cosine
        "on_disk": made.on_disk,
        "hnsw_config": {"m": made.m, "ef_construct": made.ef_construct},
    }
    int8 = {"scalar": {"type": "int8", "quantile": 0.99, "always_ram": True}}
    return params | ({"quantization_config": int8} if made.int8 else {})


def _word_params(made: Made) -> dict[str, Any]:
    return {"modifier": "idf", "index": {"on_disk": made.on_disk}}


def _arrived(on_their_way: deque[tuple[int, Future[None]]]) -> int:
    """Wait for the oldest request."""
    stop, future = on_their_way.popleft()
    future.result()
    return stop
