"""A small index folder."""

from __future__ import annotations

from pathlib import Path
from random import Random

from interloq.records import Pair
from interloq.retrieve.index import open_index
from interloq.retrieve.retriever import Query

KINDS = {
    "words": ("bm25", 10_000),
    "exact": ("dense(encoder='fake32')", 10_000),
    "codes": ("dense(encoder='fake32')", 50),
    "lists": ("dense(encoder='fake32')", 50),  # as earlier versions made it
}
WORDS = [f"w{i}" for i in range(300)]


def pairs(n: int, seed: int = 0) -> list[Pair]:
    rng = Random(seed)
    texts = [" ".join(f"w{rng.randint(0, 40)}" for _ in range(5)) for _ in range(2 * n)]
    return [Pair(f"p{seed}-{i}", texts[2 * i], texts[2 * i + 1]) for i in range(n)]


def made(n: int, *, seed: int = 0) -> list[Pair]:
    rng = Random(seed)
    texts = iter([" ".join(rng.choices(WORDS, k=rng.randint(3, 10))) for _ in range(2 * n)])
    return [Pair(f"p{i}", next(texts), next(texts)) for i in range(n)]


PAIRS = made(2_000)


def use(folder: Path) -> None:
    """All that anybody does with an index."""
    index = open_index(folder)
    index.search([Query(pair.utterance) for pair in pairs(30, seed=3)], 150)
    index.store.pairs(range(len(index.store)))
    index.add(pairs(20, seed=4), source="b")
