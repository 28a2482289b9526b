"""Search an index, compared with calling the engine directly: same data, same run.

Dense: our store against faiss' inverted lists of 8-bit codes, which visit as few lists as reach our recall, searched by
faiss and as indexes of earlier versions are (many queries per list in one matrix product). The vectors are generated as
in `scale.py`, as hard to search as real ones. BM25: our store against bm25s (numba backend), with the same tokens, k1
and b; both from words already split. `--pairs` makes it larger.
"""

from __future__ import annotations

import argparse
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
from _figures import Figure, add_json_option, report
from scale import clustered

from interloq import create
from interloq.records import Pair
from interloq.retrieve.folder.folder_store import Embedded
from interloq.retrieve.folder.vector_lists import Sweep
from interloq.retrieve.retriever import Ids

K, N_QUERIES, WORD = 15, 1000, r"\S+"


def best_rate(work: Callable[[], Any], n: int, *, repeats: int = 5) -> float:
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return n / min(times)


def texts(n: int) -> list[str]:
    """Texts of 4 to 19 words from a Zipf vocabulary of 200,000."""
    rng = np.random.default_rng(1)
    chances = 1 / np.arange(1, 200_001)
    lengths = rng.integers(4, 20, size=n)
    drawn = rng.choice(200_000, size=int(lengths.sum()), p=chances / chances.sum())
    words = np.char.add("w", np.arange(200_000).astype(str))[drawn]
    return [" ".join(part) for part in np.split(words, np.cumsum(lengths)[:-1])]


def dense(folder: Path, n: int) -> list[Figure]:
    vectors = next(clustered(n, batch=n))
    queries = next(clustered(n, batch=N_QUERIES))
    _, true_ids = faiss.knn(queries, vectors, K, metric=faiss.METRIC_INNER_PRODUCT)
    store = Embedded.create(folder, create("dense(encoder='fake384')"), expected=n, exact_up_to=0)
    start = time.perf_counter()
    store.add([Pair(str(i), "", "") for i in range(n)], {"utterance": vectors}, source="made", consumed=n)
    store.finish()
    built = time.perf_counter() - start
    start = time.perf_counter()
    dimensions, n_lists = vectors.shape[1], 2 ** round(np.log2(n) / 2)
    peer = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(dimensions), dimensions, n_lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    peer.cp.max_points_per_centroid = 64
    peer.train(vectors)
    peer.add(vectors)
    peer_built = time.perf_counter() - start
    recall = share_found(store.nearest("utterance", queries, K)[0], true_ids)
    peer.nprobe, peer_recall = 1, 0.0
    while peer_recall < recall and peer.nprobe < n_lists:
        peer.nprobe = int(peer.nprobe * 1.25) + 1
        peer_recall = share_found(peer.search(queries, K)[1], true_ids)

    def sweep() -> None:
        products, lists = peer.quantizer.search(queries, peer.nprobe)
        Sweep([peer], [0]).nearest(queries, K, lists, products)

    few = queries[:100]
    ours = best_rate(lambda: store.nearest("utterance", queries, K), N_QUERIES)
    theirs = best_rate(lambda: peer.search(queries, K), N_QUERIES)
    earlier = best_rate(sweep, N_QUERIES)
    ours_single = best_rate(lambda: [store.nearest("utterance", query[None], K) for query in few], len(few))
    theirs_single = best_rate(lambda: [peer.search(query[None], K) for query in few], len(few))
    return [
        Figure("vectors, build", built, "s", peer_built, "faiss in memory, without pairs"),
        Figure("vectors, recall@15", recall, "", peer_recall, "faiss"),
        Figure("vectors, lists visited", store.manifest.n_probe, "", peer.nprobe, f"faiss, of {n_lists:,}"),
        Figure("vectors, batch of 1,000", ours, "queries/s", theirs, "faiss"),
        Figure("vectors, batch of 1,000, beside earlier versions", ours, "queries/s", earlier, "matrix products"),
        Figure("vectors, one by one", ours_single, "queries/s", theirs_single, "faiss"),
    ]


def share_found(ids: Ids, true_ids: Ids) -> float:
    """Return the recall of searches."""
    shared = [len(set(row) & set(true)) for row, true in zip(ids.tolist(), true_ids.tolist(), strict=True)]
    return float(np.mean(shared) / true_ids.shape[1])


def bm25(folder: Path, n: int) -> list[Figure]:
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
    difference = float(np.abs(np.sort(peer_scores)[:, ::-1] * 2.2 - scores).max())
    return [
        Figure("BM25, build", built, "s", peer_built, "bm25s"),
        Figure("BM25, batch of 1,000", ours, "queries/s", theirs, "bm25s"),
        Figure("BM25, largest difference in score", difference),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=400_000)
    add_json_option(parser)
    args = parser.parse_args()
    logging.getLogger("bm25s").setLevel(logging.ERROR)
    folder = Path(tempfile.mkdtemp())
    try:
        figures = [*dense(folder / "dense", args.pairs), *bm25(folder / "bm25", args.pairs)]
    finally:
        shutil.rmtree(folder)
    report(f"{args.pairs:,} pairs, 1,000 queries", figures, args.json)


if __name__ == "__main__":
    main()
