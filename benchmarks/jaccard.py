"""Search by Jaccard similarity through an index on disk, compared with sets of words and with a matrix in memory.

Both others compare a query with every text: sets of strings in a plain loop, and a sparse matrix of texts by words,
multiplied with the query's row. All must find the same similarities. `--pairs` makes it smaller.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _figures import Figure, add_json_option, report
from scipy import sparse
from search import best_rate, texts

from interloq.records import Pair
from interloq.retrieve.index import create_index, open_index
from interloq.retrieve.leaks import jaccard, words
from interloq.retrieve.retriever import Query

K, N_QUERIES, FEW = 100, 200, 3
Search = Callable[[Sequence[str]], list[list[float]]]


def by_index(folder: Path, known: Sequence[str]) -> tuple[dict[str, float], Search]:
    start = time.perf_counter()
    pairs = (Pair(str(i), text, "") for i, text in enumerate(known))
    create_index(folder, "jaccard").add(pairs, source="made")
    built = time.perf_counter() - start
    index = open_index(folder)

    def search(queries: Sequence[str]) -> list[list[float]]:
        return [[hit.score for hit in hits] for hits in index.search([Query(query) for query in queries], K)]

    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"build s": built, "MB on disk": size / 1e6}, search


def by_sets(known: Sequence[str]) -> Search:
    sets = [words(text) for text in known]

    def search(queries: Sequence[str]) -> list[list[float]]:
        return [sorted((jaccard(words(query), own) for own in sets), reverse=True)[:K] for query in queries]

    return search


def by_matrix(known: Sequence[str]) -> Search:
    columns: dict[str, int] = {}
    matrix = _matrix(known, columns, grow=True)
    sizes = np.diff(matrix.indptr)

    def search(queries: Sequence[str]) -> list[list[float]]:
        own = _matrix(queries, columns, grow=False)
        own.resize(len(queries), matrix.shape[1])
        found = []
        for i, query in enumerate(queries):
            shared = np.asarray((matrix @ own[[i]].T).todense()).ravel()
            row = shared / np.maximum(len(words(query)) + sizes - shared, 1)
            found.append(np.sort(np.partition(row, -K)[-K:])[::-1].tolist())
        return found

    return search


def _matrix(known: Sequence[str], columns: dict[str, int], *, grow: bool) -> Any:
    places: list[int] = []
    ends = [0]
    for text in known:
        own = words(text)
        places += [columns.setdefault(word, len(columns)) for word in own if grow or word in columns]
        ends.append(len(places))
    values = np.ones(len(places), dtype=np.float32)
    return sparse.csr_matrix((values, places, ends), shape=(len(ends) - 1, len(columns)))


def compare(other: Search, queries: Sequence[str], expected: list[list[float]]) -> float:
    """Queries per second of another search, which must find the same similarities."""
    for ours, theirs in zip(expected, other(queries), strict=True):
        if not np.allclose(ours, theirs[: len(ours)], atol=1e-6):
            raise SystemExit("the searches found different similarities")
    return best_rate(lambda: other(queries), len(queries), repeats=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    add_json_option(parser)
    args = parser.parse_args()
    n = args.pairs
    known = texts(n)
    queries = known[:: max(1, n // N_QUERIES)][:N_QUERIES]
    with tempfile.TemporaryDirectory() as name:
        facts, search = by_index(Path(name) / "index", known)
        rate = best_rate(lambda: search(queries), len(queries), repeats=3)
        few, own = queries[:FEW], search(queries[:FEW])
        figures = [Figure("build", facts["build s"], "s"), Figure("disk", facts["MB on disk"], "MB")]
        for name, make in (("a sparse matrix in memory", by_matrix), ("a loop over sets of words", by_sets)):
            figures.append(Figure(f"queries, beside {name}", rate, "/s", compare(make(known), few, own), peer=name))
    report(f"the {K} most similar of {n:,} texts", figures, args.json)


if __name__ == "__main__":
    main()
