"""How often METEOR's number of chunks is not minimal, for NLTK's alignment and for ours, and the time ours takes.

NLTK pairs words from the right and ignores chunks; METEOR asks for the fewest. Sentences are drawn from Zipf
vocabularies, and the embedded English replies are compared with their references. NLTK gets a WordNet without synonyms,
so that both match equal words and stems. Pairs of up to seven words are also solved by trying every alignment.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from _figures import Figure, add_json_option, report
from nltk.translate.meteor_score import align_words

from interloq import load
from interloq.data.embedded import embedded_path
from interloq.metrics.overlap.meteor import Meteor
from interloq.metrics.overlap.word_alignment import Word, align

METRIC = Meteor(tokenizer="whitespace")  # type: ignore[arg-type]
SHORT = 7
Pair = tuple[list[str], list[str]]


class NoWordNet:
    def synsets(self, _word: str) -> list[Any]:
        return []


def drawn(rng: np.random.Generator, size: int, low: int, high: int) -> list[str]:
    """A sentence of `low` to `high` words from a Zipf vocabulary."""
    chances = 1 / np.arange(1, size + 1)
    words = rng.choice(size, size=rng.integers(low, high + 1), p=chances / chances.sum())
    return [f"w{word}x" for word in words]


def embedded_pairs() -> list[Pair]:
    tokens = Meteor().tokenizer.tokens
    return [
        (tokens(sample.response), tokens(reference.text))
        for sample in load(embedded_path("en"))
        for reference in sample.references
    ]


def chunks_of(pairs: Sequence[tuple[int, int]]) -> int:
    known = set(pairs)
    return sum((i - 1, j - 1) not in known for i, j in pairs)


def words(tokens: Sequence[str]) -> list[Word]:
    return METRIC._words(" ".join(tokens))


def fewest_chunks(response: list[Word], reference: list[Word]) -> tuple[int, int]:
    """The most matches, then the fewest chunks, by trying every alignment."""
    best = (0, 0, 0)

    def longer(i: int, pairs: list[tuple[int, int]], exact: int) -> Iterator[tuple[int, int, int]]:
        if i == len(response):
            yield (-exact, -len(pairs), chunks_of(pairs))
            return
        yield from longer(i + 1, pairs, exact)
        for j, other in enumerate(reference):
            if other.group == response[i].group and all(j != taken for _, taken in pairs):
                yield from longer(i + 1, [*pairs, (i, j)], exact + (other == response[i]))

    for found in longer(0, [], 0):
        best = min(best, found)
    return -best[1], best[2]


def compared(pairs: Sequence[Pair]) -> dict[str, Any]:
    matched = more = solved = wrong = unproven = 0
    lost = []
    for response, reference in pairs:
        ours = align(words(response), words(reference))
        theirs, _, _ = align_words(response, reference, wordnet=NoWordNet())
        unproven += not ours.proven
        if max(len(response), len(reference)) <= SHORT:
            solved += 1
            wrong += (ours.matches, ours.chunks) != fewest_chunks(words(response), words(reference))
        if not ours.matches:
            continue
        matched += 1
        if chunks_of(theirs) > ours.chunks:
            more += 1
            row = np.array(
                [[ours.matches, chunks, len(response), len(reference)] for chunks in (ours.chunks, chunks_of(theirs))]
            )
            best, nltk = METRIC.score(row.astype(np.float64))
            lost.append(float(best - nltk))
    return {
        "pairs with a match": matched,
        "NLTK has more chunks than needed": more / matched,
        "mean loss of score in NLTK then": float(np.mean(lost)) if lost else 0.0,
        "largest": max(lost, default=0.0),
        "solved by trying everything": solved,
        "ours not minimal there": wrong,
        "ours not proven": unproven,
    }


def timed(rng: np.random.Generator, length: int, repeats: int) -> dict[str, float]:
    """Seconds per pair of texts of this length, and the share proven optimal."""
    times, proven = [], 0
    for _ in range(repeats):
        response, reference = (words(drawn(rng, 5_000, length, length)) for _ in range(2))
        start = time.perf_counter()
        proven += align(response, reference).proven
        times.append(time.perf_counter() - start)
    return {"seconds": float(np.mean(times)), "slowest": max(times), "proven": proven / repeats}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5_000)
    add_json_option(parser)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    sets = {
        "4 to 7 words, vocabulary 5,000": [
            (drawn(rng, 5_000, 4, 7), drawn(rng, 5_000, 4, 7)) for _ in range(args.pairs)
        ],
        "8 to 20 words, vocabulary 5,000": [
            (drawn(rng, 5_000, 8, 20), drawn(rng, 5_000, 8, 20)) for _ in range(args.pairs)
        ],
        "4 to 7 words, vocabulary 20": [(drawn(rng, 20, 4, 7), drawn(rng, 20, 4, 7)) for _ in range(args.pairs)],
        "embedded English replies": embedded_pairs(),
    }
    figures = []
    for name, pairs in sets.items():
        figures += [Figure(f"{name}: {fact}", value) for fact, value in compared(pairs).items()]
    for length, repeats in ((12, 500), (25, 200), (50, 50), (100, 20), (1000, 3)):
        times = timed(rng, length, repeats)
        figures.append(Figure(f"{length} tokens, mean", times["seconds"], "s"))
        figures.append(Figure(f"{length} tokens, slowest", times["slowest"], "s"))
        figures.append(Figure(f"{length} tokens, share proven optimal", times["proven"]))
    report(f"alignments of METEOR, {args.pairs:,} pairs per generated set", figures, args.json)


if __name__ == "__main__":
    main()
