# SPDX-License-Identifier: Apache-2.0
"""How much a log has in common with the samples whose references it is to extend, measured without ratings.

- `utterance`: how similar the most similar utterance found is to the last turn.
- `reply`: in which share of comparisons a gold reply is more similar to one of the replies found for its own context
  than to any found for another context; ties count half. At .5, searching finds nothing that random replies lack.

Similarity is the Jaccard similarity of words. Copies of a test item are excluded, as when references are added.
Intervals are from resampled contexts. docs/measured/extended-references.md says what was gained at which overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interloq.records import Sample
from interloq.retrieve.extend import Finder, search_hits, utterance
from interloq.retrieve.leaks import jaccard, normalise_text, originals, words
from interloq.retrieve.retriever import Hit
from interloq.statistics.resampling import bootstrap_counts, percentile_interval

CONTEXTS, OTHERS, RESAMPLES = 200, 10, 1_000  # contexts measured, other contexts compared with each, resamples
Floats = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class LogOverlap:
    """What a log has in common with samples; None where nothing could be compared."""

    contexts: int
    utterance: float | None
    utterance_ci: Interval | None
    reply: float | None
    reply_ci: Interval | None


@dataclass(frozen=True, slots=True)
class _Found:
    """The texts of one context: the last turn, gold replies, and what was found for it."""

    utterance: str
    golds: tuple[str, ...]
    hits: tuple[Hit, ...]


def measure_overlap(
    samples: Iterable[Sample],
    index: Finder,
    *,
    k: int = 15,
    turns: int = 1,
    excluded: Set[str] = frozenset(),
    contexts: int = CONTEXTS,
    seed: int = 0,
) -> LogOverlap:
    """Return the overlap of a log with some contexts of the samples, drawn at random; each context counts once."""
    by_context = {tuple(turn.text for turn in sample.context): sample for sample in samples if utterance(sample)}
    rng = np.random.default_rng(seed)
    chosen = list(by_context.values())
    if len(chosen) > contexts:
        chosen = [chosen[place] for place in np.sort(rng.permutation(len(chosen))[:contexts])]
    found = []
    for sample, hits in search_hits(chosen, index, k=k, turns=turns, excluded=excluded):
        golds = tuple(reference.text for reference in originals(sample))
        found.append(_Found(utterance(sample), golds, hits))
    nearest = np.array([_highest(context.utterance, [h.pair.utterance for h in context.hits]) for context in found])
    wins = np.array([_compare_replies(place, found, rng) for place in range(len(found))])
    return LogOverlap(len(found), *_mean_with_interval(nearest, seed), *_mean_with_interval(wins, seed))


def _compare_replies(place: int, found: Sequence[_Found], rng: np.random.Generator) -> float:
    """Return how often the gold replies are nearer to the own replies than to another context's; NaN without either."""
    own = found[place]
    others = [other for other in rng.permutation(len(found))[: OTHERS + 1].tolist() if other != place][:OTHERS]
    if not own.golds or not own.hits or not others:
        return float("nan")
    copies = {normalise_text(gold) for gold in own.golds}
    wins = 0.0
    for other in others:
        replies = [hit.pair.response for hit in found[other].hits]
        replies = [reply for reply in replies if normalise_text(reply) not in copies]
        for gold in own.golds:
            difference = _highest(gold, [hit.pair.response for hit in own.hits]) - _highest(gold, replies)
            wins += (np.sign(difference) + 1) / 2
    return float(wins / len(others) / len(own.golds))


def _highest(text: str, others: Sequence[str]) -> float:
    """Return the similarity of the most similar text; 0 if there is none."""
    own = words(text)
    return max((jaccard(own, words(other)) for other in others), default=0.0)


def _mean_with_interval(values: Floats, seed: int) -> tuple[float | None, Interval | None]:
    values = values[np.isfinite(values)]
    if not len(values):
        return None, None
    means = [counts @ values / len(values) for counts in bootstrap_counts(len(values), RESAMPLES, seed)]
    return float(values.mean()), percentile_interval(np.concatenate(means))
