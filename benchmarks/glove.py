"""GloVe on one machine: pairs counted, entries trained and sentences averaged per second, compared with literal loops.

Texts are generated from a Zipf vocabulary in the lengths of chat replies. They are compared with plain Python for
counting, numpy one entry at a time for training, and the package `glove` (1.0.2, a Cython port of the authors' C
program) if it is installed. It needs Cython to build: `pip install cython setuptools; pip install --no-build-isolation
glove==1.0.2`. The literal loops are timed on a part of the work. All sides train from the same initial values; the
losses of one epoch are compared too. All use a single thread, because the package's loop has one.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _figures import Figure, add_json_option, report
from numpy.typing import NDArray

from interloq.registry import create
from interloq.vectors.glove import cooccur, shuffle
from interloq.vectors.glove.numba_engine import NumbaEngine
from interloq.vectors.glove.numbered_corpus import Corpus, write_corpus
from interloq.vectors.glove.settings import Glove, GloveParameters
from interloq.vectors.word_vectors import WordVectors

# this file has the same name as the package and must not be imported instead of it
sys.path = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]
SPACES = create("whitespace", kind="tokenizer")
Entries = tuple[NDArray[Any], ...]  # rows, columns, values


def made_texts(n: int, *, words: int = 30_000, seed: int = 0) -> list[str]:
    """Texts of 4 to 30 words from a Zipf vocabulary."""
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, words + 1)
    lengths = rng.integers(4, 31, size=n)
    drawn = np.searchsorted(np.cumsum(chances / chances.sum()), rng.random(int(lengths.sum())))
    names = np.array([f"w{i}" for i in range(words + 1)])[drawn]
    return [" ".join(part) for part in np.split(names, np.cumsum(lengths)[:-1])]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def nothing(_: int) -> None:
    pass


# ---- counting --------------------------------------------------------------------------------------------------------


def literal_counts(texts: Sequence[Sequence[int]], window: int) -> dict[tuple[int, int], float]:
    sums: dict[tuple[int, int], float] = defaultdict(float)
    for text in texts:
        for i, word in enumerate(text):
            for distance, other in enumerate(reversed(text[max(0, i - window) : i]), start=1):
                sums[word, other] += 1 / distance
                sums[other, word] += 1 / distance
    return sums


def count(corpus: Corpus, folder: Path, window: int) -> cooccur.Cooccurrence:
    words = len(corpus.words)
    return cooccur.count(corpus.parts(cooccur.PART), folder, words=words, window=window, memory=4e9, step=nothing)


def corpus_of(texts: Sequence[str], folder: Path) -> Corpus:
    return write_corpus(texts, folder, SPACES, min_count=5, max_vocabulary=400_000, keep_duplicates=True, step=nothing)


# ---- training --------------------------------------------------------------------------------------------------------


def train_ours(settings: Glove, chunks: shuffle.Chunks, start: GloveParameters, threads: int) -> float:
    engine = NumbaEngine(settings, _copied(start), threads=threads)
    return engine.epoch((chunks.chunk(i) for i in range(chunks.chunks)), np.random.default_rng(0), nothing)


def trained_entries(chunks: shuffle.Chunks) -> Entries:
    """All entries in the order in which `train_ours` processes them."""
    rng, parts = np.random.default_rng(0), []
    for chunk in (chunks.chunk(i) for i in range(chunks.chunks)):
        for diagonal in rng.permutation(shuffle.BLOCKS):
            ends = chunk.ends[[diagonal * shuffle.BLOCKS, (diagonal + 1) * shuffle.BLOCKS]]
            parts.append([array[slice(*ends)] for array in (chunk.rows, chunk.columns, chunk.values)])
    rows, columns, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return rows, columns, values.astype(np.float64)


def _copied(start: GloveParameters) -> GloveParameters:
    return GloveParameters(*(array.copy() for array in start.arrays()))


def train_literal(settings: Glove, entries: Entries, start: GloveParameters) -> float:
    """Train one entry at a time in numpy float64."""
    (w, c), (bw, bc) = start.vectors.astype(np.float64), start.biases.astype(np.float64)
    gw, gc, gbw, gbc = (np.ones_like(array) for array in (w, c, bw, bc))
    rate, total = settings.learning_rate, 0.0
    for i, j, x in zip(*entries, strict=True):
        difference = w[i] @ c[j] + bw[i] + bc[j] - np.log(x)
        pull = min(1.0, (x / settings.x_max) ** settings.alpha) * difference
        total += 0.5 * pull * difference
        step_w, step_c, step_b = pull * c[j] * rate, pull * w[i] * rate, pull * rate
        for values, squares, place, step in ((w, gw, i, step_w), (c, gc, j, step_c), (bw, gbw, i, step_b), (bc, gbc, j, step_b)):  # fmt: skip  # noqa: E501
            values[place] -= step / np.sqrt(squares[place])
            squares[place] += step**2
    return total


def train_peer(settings: Glove, entries: Entries, start: GloveParameters) -> float:
    """Call the package's compiled loop once on all entries."""
    train_glove = importlib.import_module("glove.glove_inner").train_glove
    error = np.zeros(1)
    jobs = entries[0].astype(np.uint32), entries[1].astype(np.uint32), entries[2]
    train_glove(_PeerModel(settings, start), jobs, settings.learning_rate, error)
    return float(error[0])


class _PeerModel:
    """The attributes that the package's loop reads from its model."""

    def __init__(self, settings: Glove, start: GloveParameters) -> None:
        self.d, self.x_max, self.alpha = settings.dimensions, settings.x_max, settings.alpha
        self.W, self.ContextW = (np.ascontiguousarray(side, dtype=np.float64) for side in start.vectors)
        self.b, self.ContextB = (side.astype(np.float64)[:, None] for side in start.biases)
        self.gradsqW, self.gradsqContextW = np.ones_like(self.W), np.ones_like(self.ContextW)
        self.gradsqb, self.gradsqContextB = np.ones_like(self.b), np.ones_like(self.ContextB)


def has_peer() -> bool:
    try:
        importlib.import_module("glove.glove_inner")
    except ImportError:
        return False
    return True


# ---- the benchmark ---------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=200_000)
    parser.add_argument("--dimensions", type=int, default=100)
    parser.add_argument("--peer-texts", type=int, default=10_000, help="texts that the literal loop counts")
    parser.add_argument("--peer-entries", type=int, default=30_000, help="entries that the literal loop trains")
    add_json_option(parser)
    args = parser.parse_args()
    settings = Glove(dimensions=args.dimensions, tokenizer=SPACES)
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(args, settings, Path(folder))
    report(describe(figures), make_rows(figures), args.json)


def measure(args: argparse.Namespace, settings: Glove, folder: Path) -> dict[str, Any]:
    texts = made_texts(args.texts)
    reading, corpus = timed(lambda: corpus_of(texts, folder))
    counting, counted = timed(lambda: count(corpus, folder, settings.window))
    part = next(corpus.parts(10**9))
    few = [part.tokens[part.ends[i] : part.ends[i + 1]].tolist() for i in range(args.peer_texts)]
    literal_counting, _ = timed(lambda: literal_counts(few, settings.window))
    chunks = shuffle.shuffle(counted, folder, seed=0, step=nothing)
    start = GloveParameters.start(len(corpus.words), settings.dimensions, seed=0)
    vectors = WordVectors.of(corpus.words, start.vectors[0], tokenizer=SPACES)
    half = len(texts) // 2
    vectors.sentences(texts[:half])  # words are looked up at first use
    averaging, _ = timed(lambda: vectors.sentences(texts[half:]))
    counts = {
        "texts": len(texts),
        "tokens": corpus.tokens,
        "words": len(corpus.words),
        "entries": chunks.entries,
        "tokens_read_per_s": corpus.tokens / reading,
        "tokens_counted_per_s": sum(corpus.counts) / counting,
        "tokens_counted_per_s_literal": sum(map(len, few)) / literal_counting,
        "sentences_per_s": (len(texts) - half) / averaging,
    }
    return counts | training(args, settings, chunks, len(corpus.words))


def training(args: argparse.Namespace, settings: Glove, chunks: shuffle.Chunks, words: int) -> dict[str, Any]:
    start, entries = GloveParameters.start(words, settings.dimensions, seed=0), trained_entries(chunks)
    few = tuple(array[: args.peer_entries] for array in entries)
    train_ours(settings, chunks, start, 1)  # compiles
    one, loss = timed(lambda: train_ours(settings, chunks, start, 1))
    every, same = timed(lambda: train_ours(settings, chunks, start, 0))
    literal, _ = timed(lambda: train_literal(settings, few, start))
    figures: dict[str, Any] = {
        "dimensions": settings.dimensions,
        "entries_per_s_one_thread": chunks.entries / one,
        "entries_per_s_all_threads": chunks.entries / every,
        "entries_per_s_literal": args.peer_entries / literal,
        "threads_agree_to_the_bit": loss == same,
        "loss_of_an_epoch": loss / chunks.entries,
    }
    if has_peer():
        seconds, peer_loss = timed(lambda: train_peer(settings, entries, start))
        figures["entries_per_s_glove_1.0.2"] = chunks.entries / seconds
        figures["loss_of_an_epoch_glove_1.0.2"] = peer_loss / chunks.entries
    return figures


def describe(figures: dict[str, Any]) -> str:
    """Return what was learned from, and whether the compiled package was measured."""
    made = ", ".join(f"{figures[name]:,} {name}" for name in ("texts", "tokens", "words", "entries", "dimensions"))
    return made if has_peer() else f"{made}; the package glove is not installed"


def make_rows(figures: dict[str, Any]) -> list[Figure]:
    counted, trained = figures["tokens_counted_per_s"], figures["entries_per_s_one_thread"]
    literal = "a plain loop"
    rows = [
        Figure("tokens read", figures["tokens_read_per_s"], "/s"),
        Figure("tokens counted", counted, "/s", figures["tokens_counted_per_s_literal"], peer=literal),
        Figure("entries trained, one thread", trained, "/s", figures["entries_per_s_literal"], peer=literal),
        Figure("entries trained, all threads", figures["entries_per_s_all_threads"], "/s"),
        Figure("sentence vectors", figures["sentences_per_s"], "/s"),
        Figure("loss of an epoch", figures["loss_of_an_epoch"]),
        Figure("threads agree to the bit", float(figures["threads_agree_to_the_bit"])),
    ]
    if "entries_per_s_glove_1.0.2" in figures:
        peer = "glove 1.0.2, compiled"
        rows.append(Figure("entries, one thread", trained, "/s", figures["entries_per_s_glove_1.0.2"], peer=peer))
        rows.append(Figure("its loss of an epoch", figures["loss_of_an_epoch_glove_1.0.2"]))
    return rows


if __name__ == "__main__":
    main()
