"""Search one million pairs through an index, compared with calling the engine directly: same data, same run.

Dense: our store against the faiss index it contains, called directly with the same lists and the same number visited.
BM25: our store against bm25s (numba backend), with the same tokens, k1 and b; both from words already split. `--pairs`
makes it smaller.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bm25s
import faiss
import numpy as np

from interloq import create
from interloq.records import Pair
from interloq.retrieve.folder import vector_lists as lists
from interloq.retrieve.folder.folder_store import Embedded
from interloq.retrieve.retriever import Floats

K, N_QUERIES, DIMENSIONS, WORD = 15, 1000, 384, r"\S+"


def best_rate(work: Callable[[], Any], n: int, *, repeats: int = 5) -> float:
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return n / min(times)


def clustered(n: int) -> Floats:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((max(1, n // 80), DIMENSIONS), dtype=np.float32)
    vectors = centres[rng.integers(len(centres), size=n)]
    vectors += rng.standard_normal(vectors.shape, dtype=np.float32) * 0.8
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def texts(n: int) -> list[str]:
    """Texts of 4 to 19 words from a Zipf vocabulary of 200,000."""
    rng = np.random.default_rng(1)
    chances = 1 / np.arange(1, 200_001)
    lengths = rng.integers(4, 20, size=n)
    drawn = rng.choice(200_000, size=int(lengths.sum()), p=chances / chances.sum())
    words = np.char.add("w", np.arange(200_000).astype(str))[drawn]
    return [" ".join(part) for part in np.split(words, np.cumsum(lengths)[:-1])]


def dense(folder: Path, n: int) -> dict[str, float]:
    vectors = clustered(n)
    store = Embedded.create(folder, create("dense(encoder='fake384')"), expected=n, exact_up_to=0)
    start = time.perf_counter()
    store.add([Pair(str(i), "", "") for i in range(n)], {"utterance": vectors}, source="made", consumed=n)
    store.finish()
    built = time.perf_counter() - start
    raw = faiss.read_index(str(next(folder.glob("segments/*/utterance")) / lists.LISTS), faiss.IO_FLAG_MMAP)
    raw.nprobe = store.manifest.n_probe
    queries = np.ascontiguousarray(vectors[:: n // N_QUERIES][:N_QUERIES])
    ours = best_rate(lambda: store.nearest("utterance", queries, K), len(queries))
    theirs = best_rate(lambda: raw.search(queries, K), len(queries))
    few = queries[:100]
    ours_single = best_rate(lambda: [store.nearest("utterance", query[None], K) for query in few], len(few))
    theirs_single = best_rate(lambda: [raw.search(query[None], K) for query in few], len(few))
    return {
        "build s": built,
        "recall@15": store.manifest.recall or 1.0,
        "queries/s": ours,
        "faiss queries/s": theirs,
        "time over raw": theirs / ours,
        "queries/s one by one": ours_single,
        "faiss queries/s one by one": theirs_single,
        "time over raw one by one": theirs_single / ours_single,
    }


def bm25(folder: Path, n: int) -> dict[str, float]:
    made = texts(n + N_QUERIES)
    retriever = create("bm25(tokenizer='whitespace')")
    store = Embedded.create(folder, retriever)
    start = time.perf_counter()
    pairs = [Pair(str(i), text, "") for i, text in enumerate(made[:n])]
    store.add(pairs, {"utterance": retriever.encode(made[:n])}, source="made", consumed=n)
    store.finish()
    built = time.perf_counter() - start
    peer = bm25s.BM25(backend="numba", k1=1.2, b=0.75, method="lucene")
    start = time.perf_counter()
    tokens = bm25s.tokenize(made[:n], token_pattern=WORD, stopwords=None, show_progress=False)
    peer.index(tokens, show_progress=False)
    peer_built = time.perf_counter() - start
    words = retriever.encode(made[n:])
    asked = bm25s.tokenize(made[n:], token_pattern=WORD, stopwords=None, show_progress=False, return_ids=False)
    ours = best_rate(lambda: store.nearest("utterance", words, K), N_QUERIES)
    theirs = best_rate(lambda: peer.retrieve(asked, k=K, show_progress=False, n_threads=2), N_QUERIES)
    _, scores = store.nearest("utterance", words, K)
    _, peer_scores = peer.retrieve(asked, k=K, show_progress=False)
    return {
        "build s": built,
        "bm25s build s": peer_built,
        "queries/s": ours,
        "bm25s queries/s": theirs,
        "time over raw": theirs / ours,
        "largest difference in score": float(np.abs(np.sort(peer_scores)[:, ::-1] * 2.2 - scores).max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    args = parser.parse_args()
    logging.getLogger("bm25s").setLevel(logging.ERROR)
    folder = Path(tempfile.mkdtemp())
    try:
        figures = {"dense": dense(folder / "dense", args.pairs), "bm25": bm25(folder / "bm25", args.pairs)}
    finally:
        shutil.rmtree(folder)
    print(json.dumps({"pairs": args.pairs, "queries": N_QUERIES, **figures}, indent=2))


if __name__ == "__main__":
    main()
