"""Build and search an index of many pairs with 384-d vectors on one small machine.

The figures in docs/measured/speed.md are of `--pairs 16000000`: half an hour without generating, and 9 GB of disk.

Texts and clustered vectors are generated batch by batch and never held together. Reports build time, disk, peak memory,
queries per second and recall@15 against exact search (measured while building, on vectors before they are encoded).
`--real FILE.npy` measures on real sentence vectors instead.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _figures import Figure, add_json_option, report

from interloq.records import Pair
from interloq.registry import create
from interloq.retrieve.folder.folder_store import Embedded
from interloq.retrieve.retriever import Floats

DIMENSIONS, A_CLUSTER, NOISE, SEGMENT = 384, 80, 1.5, 1_000_000


def clustered(n: int, *, batch: int, seed: int = 0) -> Iterator[Floats]:
    """Unit vectors around cluster centres, as hard to find as real ones: with 232,030 vectors and 512 lists, recall@15
    by lists visited and the cosine of the 15th neighbour match those of the sentence vectors of `--real`.
    """
    rng = np.random.default_rng(seed)
    n_clusters = max(1, n // A_CLUSTER)
    spread = (
        np.arange(1, DIMENSIONS + 1, dtype=np.float32) ** -0.5
    )  # few directions carry most of the information, as in real vectors
    centres = rng.standard_normal((n_clusters, DIMENSIONS), dtype=np.float32)
    for start in range(0, n, batch):
        size = min(batch, n - start)
        vectors = centres[rng.integers(n_clusters, size=size)]
        vectors += rng.standard_normal(vectors.shape, dtype=np.float32) * NOISE
        vectors *= spread
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        yield vectors


def texts(start: int, size: int, words: list[str], rng: np.random.Generator) -> list[Pair]:
    picked = rng.zipf(1.3, size=(size, 16)) % len(words)
    rows = [[words[j] for j in row] for row in picked.tolist()]
    return [Pair(str(start + i), " ".join(row[:8]), " ".join(row[8:])) for i, row in enumerate(rows)]


def build(folder: Path, batches: Iterator[Floats], n: int) -> list[Figure]:
    retriever = create("dense(encoder='fake384')")
    store = Embedded.create(folder, retriever, expected=n)
    words = [f"word{i}" for i in range(50_000)]
    rng = np.random.default_rng(1)
    generating, started = 0.0, time.perf_counter()
    generating_cpu, started_cpu = 0.0, time.process_time()
    done = 0
    while True:
        start, start_cpu = time.perf_counter(), time.process_time()
        vectors = next(batches, None)
        if vectors is None:
            break
        pairs = texts(done, len(vectors), words, rng)
        generating += time.perf_counter() - start
        generating_cpu += time.process_time() - start_cpu
        done += len(vectors)
        store.add(pairs, {"utterance": vectors}, source="generated", consumed=done)
        print(f"  {done:>10,} pairs, {time.perf_counter() - started - generating:6.0f} s", flush=True)
    store.finish()
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return [
        Figure("build, without generating", time.perf_counter() - started - generating, "s"),
        Figure("processor time of the build", time.process_time() - started_cpu - generating_cpu, "s"),
        Figure("disk", disk / 1e9, "GB"),
        Figure("peak memory of the build", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, "GB"),
        Figure("recall@15", store.manifest.recall or 1.0),
        Figure("lists visited", store.manifest.n_probe),
    ]


def search(folder: Path, queries: Floats) -> list[Figure]:
    start = time.perf_counter()
    store = Embedded(folder, create("dense(encoder='fake384')"))
    store.pairs([len(store) - 1])
    opened = time.perf_counter() - start
    store.nearest("utterance", queries[:64], 15)  # load pages into memory
    together = [_time(lambda: store.nearest("utterance", queries, 15)) for _ in range(3)]
    alone = [_time(partial(store.nearest, "utterance", query[None], 15)) for query in queries[:50]]
    return [
        Figure("opening", opened, "s"),
        Figure("batch of 1,000", len(queries) / min(seconds for seconds, _ in together), "queries/s"),
        Figure("processor time per query in a batch", 1000 / len(queries) * min(cpu for _, cpu in together), "ms"),
        Figure("one by one", len(alone) / sum(seconds for seconds, _ in alone), "queries/s"),
        Figure("processor time per query one by one", 1000 / len(alone) * sum(cpu for _, cpu in alone), "ms"),
    ]


def _time(work: Callable[[], Any]) -> tuple[float, float]:
    """Return seconds and CPU seconds."""
    start, start_cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - start_cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=400_000)
    parser.add_argument("--batch", type=int, default=SEGMENT)
    parser.add_argument("--folder", type=Path, default=Path("out/scale"), help="written, measured and removed")
    parser.add_argument("--real", type=Path, help="a .npy of unit vectors to index instead of generated ones")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--kept", action="store_true", help="search a folder that an earlier run kept")
    add_json_option(parser)
    args = parser.parse_args()
    if not args.kept:
        shutil.rmtree(args.folder, ignore_errors=True)
    if args.real:
        vectors = np.load(args.real).astype(np.float32)
        batches, n = iter(np.array_split(vectors, max(1, len(vectors) // args.batch))), len(vectors)
        queries = vectors[:: max(1, len(vectors) // 1000)][:1000]
    else:
        batches, n = clustered(args.pairs, batch=args.batch), args.pairs
        queries = next(clustered(args.pairs, batch=1000))
    built = [] if args.kept else build(args.folder, batches, n)
    report(f"{n:,} pairs", [*built, *search(args.folder, queries)], args.json)
    if not (args.keep or args.kept):
        shutil.rmtree(args.folder)


if __name__ == "__main__":
    main()
