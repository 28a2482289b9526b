"""Compare the four metrics with word vectors with a plain loop: same texts, same vectors, same run, one core.

Texts of 4 to 22 words come from a Zipf vocabulary of 5,000 words, of which every tenth is unknown; vectors are
generated. The loop is what users would write: a dictionary of vectors, numpy on one pair of texts at a time. It is
timed on a part of the replies and scaled up. Both run from text to scores; ours keeps no cache between runs. `evaluate`
is ours with reasons and signature. Seconds are processor time, so that other work on the machine has little effect.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # one core, before numpy is imported

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _figures import Figure, add_json_option, report

from interloq import Sample, create, evaluate
from interloq.metrics.word_vectors import bags_of_vectors as word_vectors
from interloq.vectors.word_vectors import WordVectors

WORDS = [f"word{i}" for i in range(5_000)]


def made_samples(n: int, n_references: int) -> list[Sample]:
    rng = np.random.default_rng(0)
    chances = 1 / np.arange(1, len(WORDS) + 1)
    lengths = rng.integers(4, 23, size=n * (1 + n_references))
    drawn = np.array(WORDS)[rng.choice(len(WORDS), size=int(lengths.sum()), p=chances / chances.sum())]
    texts = iter([" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])])
    return [Sample(str(i), (), next(texts), [next(texts) for _ in range(n_references)]) for i in range(n)]


def made_vectors(dimensions: int) -> WordVectors:
    known = [word for i, word in enumerate(WORDS) if i % 10 != 9]
    matrix = np.random.default_rng(1).normal(0.1, 1, (len(known), dimensions)).astype(np.float32)
    return WordVectors.of(known, matrix, tokenizer="whitespace")


def cosine(first: Any, second: Any) -> float:
    return float(np.dot(first, second) / (np.linalg.norm(first) * np.linalg.norm(second)))


def extrema(rows: Any) -> Any:
    high, low = rows.max(axis=0), rows.min(axis=0)
    return np.where(np.abs(low) > high, low, high)


def greedy(reply: Any, reference: Any) -> float:
    reply, reference = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (reply, reference))
    cosines = reply @ reference.T
    return float((cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2)


LOOPS: dict[str, Callable[[Any, Any], float]] = {
    "embedding_average": lambda reply, reference: cosine(reply.mean(axis=0), reference.mean(axis=0)),
    "vector_extrema": lambda reply, reference: cosine(extrema(reply), extrema(reference)),
    "greedy_matching": greedy,
    "ruber_referenced": lambda reply, reference: cosine(
        np.concatenate([reply.max(axis=0), reply.min(axis=0)]),
        np.concatenate([reference.max(axis=0), reference.min(axis=0)]),
    ),
}


def looped(name: str, samples: Sequence[Sample], table: dict[str, Any]) -> list[float]:
    def rows(text: str) -> Any:
        return np.array([table[word] for word in text.split() if word in table])

    scores = []
    for sample in samples:
        reply = rows(sample.response)
        found = [LOOPS[name](reply, other) for r in sample.references if len(other := rows(r.text))]
        scores.append(max(found) if len(reply) and found else float("nan"))
    return scores


def ours(name: str, samples: Sequence[Sample], folder: str) -> Any:
    word_vectors.lexicon.cache_clear()
    return create(f"{name}(vectors={folder!r})").stats(samples)[:, 0]


def evaluated(name: str, samples: Sequence[Sample], folder: str) -> Any:
    word_vectors.lexicon.cache_clear()
    return evaluate(create(f"{name}(vectors={folder!r})"), samples, n_bootstrap=0).value


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Seconds of the best run, and the result."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        scores = work()
        times.append(time.process_time() - start)
    return min(times), np.array(scores)


def measured(name: str, samples: list[Sample], part: int, vectors: WordVectors, folder: str) -> dict[str, float]:
    table = {word: row.astype(np.float64) for word, row in zip(vectors.words, vectors.matrix, strict=True)}
    here, scores = timed(lambda: ours(name, samples, folder), 4)
    whole, _ = timed(lambda: evaluated(name, samples, folder), 4)
    loop, expected = timed(lambda: looped(name, samples[:part], table), 4)
    loop *= len(samples) / part
    if (np.isnan(scores[:part]) != np.isnan(expected)).any():
        raise SystemExit(f"{name}: the unscored samples differ from those of the loop")
    difference = float(np.nanmax(np.abs(scores[:part] - expected)))
    seconds = {"ours": here, "evaluate": whole, "loop": loop}
    return {**seconds, "largest difference": difference}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=10_000)
    parser.add_argument("--references", type=int, default=2)
    parser.add_argument("--dimensions", type=int, default=300)
    parser.add_argument("--peer-replies", type=int, default=2_000, help="replies that the loop is timed on")
    add_json_option(parser)
    args = parser.parse_args()
    samples, vectors = made_samples(args.replies, args.references), made_vectors(args.dimensions)
    with tempfile.TemporaryDirectory() as folder:
        vectors.save(folder)
        part = min(args.peer_replies, args.replies)
        figures = {name: measured(name, samples, part, vectors, folder) for name in LOOPS}
    rows = []
    for name, row in figures.items():
        rows.append(Figure(name, row["ours"], "s", row["loop"], peer="a numpy loop over pairs"))
        rows.append(Figure(f"{name}, by evaluate", row["evaluate"], "s"))
        rows.append(Figure(f"{name}, largest difference", row["largest difference"]))
    facts = f"{args.replies:,} replies × {args.references} references, {args.dimensions} dimensions, one core"
    report(facts, rows, args.json)


if __name__ == "__main__":
    main()
