"""chrF, METEOR and NIST of replies with 35 references each beside sacrebleu and NLTK, and the checks of `evaluate`.

Texts are generated as in `bleu.py` and split at white space. Everything is timed in one run, in processor time. METEOR
compares words and stems; NLTK's gets a WordNet without synonyms, so that it does the same, but does not ask for the
fewest chunks. NIST includes fitting its information weights, which NLTK's `corpus_nist` also computes from the
references.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # one core, before numpy is imported

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _figures import Figure, add_json_option, report
from bleu import best_time, forget_words, made_samples, nltk_scores
from nltk.translate.meteor_score import meteor_score
from nltk.translate.nist_score import corpus_nist
from sacrebleu.metrics.chrf import CHRF

from interloq import Sample, create, evaluate
from interloq.metrics.metric import Metric
from interloq.retrieve.leaks import normalise_text
from interloq.score.checks import Checks

N_REPLIES, N_REFERENCES = 1_000, 35
CHECKED, CHECKED_REFERENCES = 3_000, 17
WHITESPACE = "tokenizer='whitespace'"


class NoWordNet:
    def synsets(self, _word: str) -> list[Any]:
        return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=N_REPLIES)
    parser.add_argument("--peer-replies", type=int, default=100, help="replies that the other tools are timed on")
    add_json_option(parser)
    args = parser.parse_args()
    samples = made_samples(args.replies, n_references=N_REFERENCES)
    part = samples[: args.peer_replies]
    figures = [
        compare("chrf", samples, part, score_by_sacrebleu(), "sacrebleu"),
        compare("chrf(word_order=2)", samples, part, score_by_sacrebleu(word_order=2), "sacrebleu"),
        compare(f"meteor({WHITESPACE})", samples, part, score_by_nltk_meteor, "NLTK"),
        compare(f"nist({WHITESPACE})", samples, part, score_by_nltk_nist, "NLTK"),
        *measure_checks(made_samples(CHECKED, n_references=CHECKED_REFERENCES)),
    ]
    title = f"{args.replies:,} replies × {N_REFERENCES} references, processor time per reply"
    report(f"{title}; evaluate of ΔBLEU-2: {CHECKED:,} × {CHECKED_REFERENCES}", figures, args.json)


def compare(
    spec: str, samples: list[Sample], part: list[Sample], other: Callable[[list[Sample]], Any], peer: str
) -> Figure:
    """Return milliseconds per reply."""
    ours = best_time(lambda: score(create(spec), samples), repeats=5) / len(samples)
    theirs = best_time(lambda: other(part), repeats=4) / len(part)
    return Figure(spec, 1000 * ours, "ms", 1000 * theirs, peer=peer)


def score(metric: Metric, samples: list[Sample]) -> Any:
    forget_words()
    if hasattr(metric, "fit"):
        metric = metric.fit(samples)
    return metric.stats(samples)


def score_by_sacrebleu(**options: int) -> Callable[[list[Sample]], Any]:
    metric = CHRF(**options)
    return lambda samples: [metric.sentence_score(s.response, [r.text for r in s.references]) for s in samples]


def score_by_nltk_meteor(samples: list[Sample]) -> Any:
    return [
        meteor_score([r.text.split() for r in sample.references], sample.response.split(), wordnet=NoWordNet())
        for sample in samples
    ]


def score_by_nltk_nist(samples: list[Sample]) -> Any:
    references = [[r.text.split() for r in sample.references] for sample in samples]
    return corpus_nist(references, [sample.response.split() for sample in samples])


def measure_checks(samples: list[Sample]) -> list[Figure]:
    """Return the time of `evaluate` beside NLTK, and the share of the data checks in it."""
    metric = create(f"delta_bleu(order=2,{WHITESPACE})")
    shares, times = [], []
    add = Checks.add
    for _ in range(15):
        checking = [0.0]

        def timed(*args: Any, checking: list[float] = checking) -> None:
            start = time.process_time()
            add(*args)
            checking[0] += time.process_time() - start

        Checks.add = timed  # type: ignore[method-assign,assignment]
        normalise_text.cache_clear()
        forget_words()
        start = time.process_time()
        evaluate(metric, samples, n_bootstrap=0)
        times.append(time.process_time() - start)
        shares.append(checking[0] / times[-1])
    Checks.add = add  # type: ignore[method-assign]
    part = samples[:500]
    pairs = [(s.response.split(), [r.text.split() for r in s.references]) for s in part]
    theirs = best_time(lambda: nltk_scores(pairs), repeats=4) / len(part)
    return [
        Figure("evaluate with delta_bleu(order=2)", 1000 * min(times) / len(samples), "ms", 1000 * theirs, peer="NLTK"),
        Figure("share of checks in it", float(np.median(shares))),
    ]


if __name__ == "__main__":
    main()
