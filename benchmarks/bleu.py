"""Per-reply ΔBLEU of 10,000 replies with 17 references each, compared with NLTK and sacrebleu: same run, one core.

Replies and references are generated from a Zipf vocabulary in the lengths of chat replies. All weights are 1, so that
NLTK computes the same number; sacrebleu's sentence BLEU is the closest it offers. The other tools are timed on a part
of the replies and scaled up.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # one core, before numpy is imported

import argparse
import logging
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _figures import Figure, add_json_option, report
from nltk.translate.bleu_score import sentence_bleu
from sacrebleu.metrics.bleu import BLEU

from interloq import Reference, Sample, create, evaluate
from interloq.data.text.token_texts import remember_words
from interloq.metrics.overlap import ngrams
from interloq.metrics.overlap.bleu import Formula
from interloq.metrics.overlap.delta_bleu import delta_bleu_rows

N_REPLIES, N_REFERENCES, ORDER = 10_000, 17, 2


def made_samples(n: int, *, seed: int = 0, n_references: int = N_REFERENCES) -> list[Sample]:
    """Texts of 4 to 22 words and a full stop from a Zipf vocabulary of 5,000 words."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{i}" for i in range(5_000)])
    chances = 1 / np.arange(1, 5_001)
    chances /= chances.sum()
    lengths = rng.integers(4, 23, size=n * (1 + n_references))
    drawn = words[rng.choice(5_000, size=int(lengths.sum()), p=chances)]
    texts = iter([" ".join(part) + "." for part in np.split(drawn, np.cumsum(lengths)[:-1])])
    return [
        Sample(str(i), "context", next(texts), [Reference(next(texts)) for _ in range(n_references)]) for i in range(n)
    ]


def best_time(work: Callable[[], Any], *, repeats: int) -> float:
    """Return the shortest processor time, which other programs disturb less than the clock."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def nltk_scores(texts: Sequence[tuple[Sequence[Any], Sequence[Sequence[Any]]]]) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NLTK warns at every reply without a matching bigram
        return [float(sentence_bleu(references, reply, weights=(0.5, 0.5))) for reply, references in texts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=N_REPLIES)
    parser.add_argument("--peer-replies", type=int, default=2_000, help="replies that the other tools are timed on")
    parser.add_argument("--tokenizer", default="both", choices=("both", "13a", "whitespace"))
    add_json_option(parser)
    args = parser.parse_args()
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)  # sacrebleu warns at every reply
    samples = made_samples(args.replies)
    names = ("13a", "whitespace") if args.tokenizer == "both" else (args.tokenizer,)
    figures = [figure for name in names for figure in make_figures(samples, samples[: args.peer_replies], name)]
    report(
        f"{len(samples):,} replies × {N_REFERENCES} references, order {ORDER}, processor time of one core",
        figures,
        args.json,
    )


def make_figures(samples: list[Sample], part: list[Sample], tokenizer: str) -> list[Figure]:
    """Return the times of one way to split texts; other tools are timed on a part of the replies."""
    times, difference = measured(samples, part, tokenizer)
    ours = times["interloq from text"]
    return [
        Figure(f"{tokenizer}: from text", ours, "s", times["nltk from text"], peer="NLTK"),
        Figure(f"{tokenizer}: from text, beside sacrebleu", ours, "s", times["sacrebleu from text"], peer="sacrebleu"),
        Figure(f"{tokenizer}: from ids", times["interloq from ids"], "s", times["nltk from ids"], peer="NLTK"),
        Figure(f"{tokenizer}: 1,000 bootstrap resamples", times["1,000 bootstrap resamples"], "s"),
        Figure(f"{tokenizer}: largest difference to NLTK", difference),
    ]


def measured(samples: list[Sample], part: list[Sample], name: str) -> tuple[dict[str, float], float]:
    """Seconds for all samples (other tools are timed on a part of them), and the largest difference from NLTK."""
    scale = len(samples) / len(part)
    metric = create(f"delta_bleu(order={ORDER},tokenizer='{name}')")
    tokenizer = metric.tokenizer
    numbered = ngrams.number(samples, tokenizer)
    number = {token: i for i, token in enumerate(sorted({t for s in part for t in tokenizer.tokens(s.response)}))}

    def split(sample: Sample) -> tuple[list[str], list[list[str]]]:
        return tokenizer.tokens(sample.response), [tokenizer.tokens(r.text) for r in sample.references]

    def ids(tokens: Sequence[str]) -> list[int]:
        return [number.setdefault(token, len(number)) for token in tokens]

    pairs = [split(sample) for sample in part]
    numbers = [(ids(reply), [ids(reference) for reference in references]) for reply, references in pairs]
    sacre = BLEU(
        max_ngram_order=ORDER,
        smooth_method="none",
        effective_order=False,
        tokenize="none" if name == "whitespace" else name,
    )

    def from_text() -> Any:
        forget_words()
        return metric.stats(samples)

    def from_ids() -> Any:
        return Formula(ORDER, "none").score(delta_bleu_rows(numbered, ORDER, "sentence"))

    def nltk_from_text() -> Any:
        clear_cache()
        return nltk_scores([split(sample) for sample in part])

    def sacrebleu_from_text() -> Any:
        clear_cache()
        return [sacre.sentence_score(s.response, [r.text for r in s.references]).score for s in part]

    theirs = np.array(nltk_scores(pairs))
    ours = from_ids()[: len(part)]
    times = {
        "interloq from text": best_time(from_text, repeats=9),
        "interloq from ids": best_time(from_ids, repeats=15),
        "nltk from text": best_time(nltk_from_text, repeats=4) * scale,
        "nltk from ids": best_time(lambda: nltk_scores(numbers), repeats=4) * scale,
        "sacrebleu from text": best_time(sacrebleu_from_text, repeats=4) * scale,
        "1,000 bootstrap resamples": best_time(lambda: evaluate(metric, samples, n_bootstrap=1_000), repeats=3)
        - best_time(lambda: evaluate(metric, samples, n_bootstrap=0), repeats=3),
    }
    return times, float(np.abs(ours - theirs).max())


def forget_words() -> None:
    """Clear our cache of split words."""
    remember_words.cache_clear()


def clear_cache() -> None:
    """Clear sacrebleu's cache of split lines, so that a second run does not benefit from the first."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    Tokenizer13a.__call__.cache_clear()
    TokenizerRegexp.__call__.cache_clear()


if __name__ == "__main__":
    main()
