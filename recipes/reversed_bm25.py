"""Retrieve references as υBLEU's public program does, to reproduce published figures.

    python recipes/reversed_bm25.py samples.jsonl pairs.jsonl -o as_coded.jsonl        # --both compares replies too

The program (Tsuta, Yoshinaga and Toyoda, 2020 and 2023) indexes the *test items* with gensim 3.8's BM25 and queries it
with every line of the log, while the papers describe an index over the log:

    score(item, line) = Σ_{w ∈ line} idf(w) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |item| / avgdl)),  tf of w in item

with idf = log(N − df + ½) − log(df + ½) over the N test items; a negative idf becomes ¼ of the mean idf; k1 = 1.5 and
b = .75. A word that a line repeats counts each time. `--both` is score_u · (½ · score_r + ½ · .1), the second score
over replies. If scores are equal, the later line comes first; lines that share no word with the item are ranked too.

The reference list is parrot, gold, then retrieved replies, cut to the first k lines (13 retrieved of 15 for one gold
reply). Like the program, the recipe has no leak guard and keeps duplicates, so copies of test items become references;
their number is printed. Use it only to reproduce published figures, and `interloq extend` for everything else.
"""

from __future__ import annotations

import argparse
import heapq
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interloq import InterloqError, Reference, Sample, load, read, write
from interloq.data.records.jsonl import header
from interloq.data.text.tokenize import Tokenizer
from interloq.records import Pair
from interloq.registry import create, full_spec
from interloq.retrieve.extend import query, utterance
from interloq.retrieve.leaks import guard, normalise_text, originals
from interloq.retrieve.retriever import Query
from interloq.signature import file_fingerprint, fingerprint
from interloq.version import __version__

K1, B, FLOOR = 1.5, 0.75, 0.25  # gensim's defaults
ALPHA, EPSILON = 0.5, 0.1


class ReversedBm25:
    """BM25 index of the test items; a line of the log is a query."""

    def __init__(self, items: Sequence[Sequence[str]]) -> None:
        df = Counter(word for item in items for word in dict.fromkeys(item))
        idf = {word: math.log(len(items) - n + 0.5) - math.log(n + 0.5) for word, n in df.items()}
        floor = FLOOR * sum(idf.values()) / max(len(idf), 1)
        mean = sum(map(len, items)) / max(len(items), 1)
        self.items = len(items)
        self.worth = {word: np.zeros(len(items)) for word in df}  # of a word for each item
        for place, item in enumerate(items):
            for word, tf in Counter(item).items():
                weight = idf[word] if idf[word] >= 0 else floor
                norm = K1 * (1 - B + B * len(item) / mean)
                self.worth[word][place] = weight * tf * (K1 + 1) / (tf + norm)

    def scores(self, line: Iterable[str]) -> NDArray[np.float64]:
        """Score of every item. Words are added in order, because another order rounds differently and breaks ties."""
        total = np.zeros(self.items)
        for word in line:
            if word in self.worth:
                total += self.worth[word]
        return total


@dataclass
class Nearest:
    """The k best lines of each item, as heaps with the worst entry first; a later line beats an equal one."""

    items: int
    k: int
    heaps: list[list[tuple[float, int, Pair]]] = field(init=False)

    def __post_init__(self) -> None:
        self.heaps = [[] for _ in range(self.items)]
        self._worst = np.full(self.items, -np.inf)

    def add(self, line: int, pair: Pair, scores: NDArray[np.float64]) -> None:
        for place in np.flatnonzero(scores >= self._worst).tolist():
            heap, entry = self.heaps[place], (float(scores[place]), line, pair)
            if len(heap) < self.k:
                heapq.heappush(heap, entry)
            else:
                heapq.heapreplace(heap, entry)
            if len(heap) == self.k:
                self._worst[place] = heap[0][0]

    def best(self, place: int) -> list[tuple[float, Pair]]:
        return [(score, pair) for score, _, pair in sorted(self.heaps[place], reverse=True)]


def search(
    items: Sequence[Query], pairs: Iterable[Pair], *, k: int = 15, both: bool = False, tokenizer: Tokenizer
) -> list[list[tuple[float, Pair]]]:
    """For each item the k lines with the highest scores, best first."""
    utterances = ReversedBm25([tokenizer.tokens(item.utterance) for item in items])
    responses = ReversedBm25([tokenizer.tokens(item.response) for item in items]) if both else None
    nearest = Nearest(len(items), k)
    for line, pair in enumerate(pairs):
        scores = utterances.scores(tokenizer.tokens(pair.utterance))
        if responses:
            scores *= ALPHA * responses.scores(tokenizer.tokens(pair.response)) + (1 - ALPHA) * EPSILON
        nearest.add(line, pair, scores)
    return [nearest.best(place) for place in range(len(items))]


def references(sample: Sample, found: Sequence[Pair], k: int) -> tuple[Reference, ...]:
    """Parrot, gold and retrieved replies, cut to the first k, without checks for leaks or duplicates."""
    retrieved = [Reference(pair.response, source=f"retrieved:{pair.id}") for pair in found]
    return tuple([Reference(utterance(sample), source="parrot"), *originals(sample), *retrieved][:k])


def leaks(samples: Sequence[Sample], found: Sequence[Sequence[Pair]]) -> Counter[str]:
    """Number of retrieved pairs that `interloq extend` would have dropped, by reason."""
    counts: Counter[str] = Counter()
    for sample, pairs in zip(samples, found, strict=True):
        protected, seen = guard(sample), {normalise_text(utterance(sample))}
        for pair in pairs:
            text = normalise_text(pair.response)
            counts[protected.reason(pair) or ("repeated" if text in seen else "")] += 1
            seen.add(text)
    return Counter({reason: n for reason, n in counts.items() if reason})


def signature(args: argparse.Namespace, tokenizer: Tokenizer) -> str:
    log = fingerprint(*(file_fingerprint(Path(path)) for path in args.pairs))
    options = f"k={args.k},both={args.both},k1={K1},b={B},tokenizer={full_spec(tokenizer)!r}"
    return f"extend|reversed_bm25({options})|layout:code|leak-guard:off|sources:{log}|version:{__version__}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("samples", metavar="SAMPLES")
    parser.add_argument("pairs", nargs="+", metavar="PAIRS", help="the log, in the order of its lines")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    parser.add_argument("-k", type=int, default=15, metavar="N", help="length of the reference list (default 15)")
    parser.add_argument("--both", action="store_true", help="also compare replies with the gold reply")
    parser.add_argument("--tokenizer", default="whitespace", metavar="SPEC", help="whitespace, as in the program")
    args = parser.parse_args(argv)
    try:
        _run(args)
    except InterloqError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _run(args: argparse.Namespace) -> None:
    tokenizer = create(args.tokenizer, kind="tokenizer")
    samples = load(args.samples)
    items = list(dict.fromkeys(query(sample) for sample in samples))
    pairs = chain.from_iterable(read(path, kind="pairs", strict=True) for path in args.pairs)
    hits = search(items, pairs, k=args.k, both=args.both, tokenizer=tokenizer)
    found = {item: [pair for _, pair in each] for item, each in zip(items, hits, strict=True)}
    extended = [replace(s, references=references(s, found[query(s)], args.k)) for s in samples]
    before = {name: value for name, value in header(args.samples).items() if name not in ("kind", "schema")}
    history = [*before.pop("extended", []), {"signature": signature(args, tokenizer)}]
    write(args.output, extended, kind="samples", **before, extended=history)
    counts = leaks(samples, [found[query(sample)] for sample in samples])
    print(f"{args.output}: {len(samples):,} samples, {len(items):,} test items")
    print("leak guard and duplicate removal are off, as in the program; `interloq extend` would have dropped:")
    print("\n".join(f"  {reason}: {n:,} retrieved pairs" for reason, n in sorted(counts.items())) or "  nothing")


if __name__ == "__main__":
    sys.exit(main())
