# SPDX-License-Identifier: Apache-2.0
"""Explain a reply's score: every n-gram that earned credit, and the reference that it earned it from.

For BLEU and for ΔBLEU's `sentence` mode, score = BP · (Π_n p_n)^(1/N) with p_n = credit / (n-grams · largest weight).
An n-gram's credit is max_j w_j · min(its count in the reply, its count in reference j), or 0. In BLEU all weights are
1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from interloq.metrics.overlap.bleu import Bleu
from interloq.metrics.overlap.delta_bleu import DeltaBleu
from interloq.metrics.overlap.ngrams import ngrams
from interloq.records import Sample
from interloq.registry import title

Grams = Counter[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class NgramCredit:
    """An n-gram of the reply, and the index (from 0) of the reference that gives it most credit."""

    ngram: str
    in_reply: int
    counted: int
    reference: int
    weight: float
    credit: float


@dataclass(frozen=True, slots=True)
class Order:
    """All n-grams of one length; `precision` is as used in the score, smoothed if the metric smooths."""

    n: int
    ngrams: int
    matches: tuple[NgramCredit, ...]
    missed: tuple[str, ...]  # n-grams without credit
    credit: float
    denominator: float
    precision: float
    used: bool  # False: longer than the reply, and ignored by `effective_order`


@dataclass(frozen=True, slots=True)
class ExplainedReference:
    """A reference, and the distinct n-grams of each order that the reply shares with it."""

    place: int
    text: str
    source: str
    weight: float
    length: int
    shared: tuple[tuple[str, ...], ...]

    @property
    def is_trusted(self) -> bool:
        """Return whether it can give a reply credit."""
        return self.weight > 0


@dataclass(frozen=True, slots=True)
class Explanation:
    """A sample's score, and everything it is computed from."""

    metric: str
    score: float
    weighted: bool  # False: the metric ignores weights
    largest_weight: float
    length: int
    reference_length: float
    closest: tuple[int, ...]  # references of that length; none if lengths are averaged
    brevity_penalty: float
    orders: tuple[Order, ...]
    references: tuple[ExplainedReference, ...]

    @property
    def distrusted(self) -> tuple[ExplainedReference, ...]:
        """Return references of weight 0 or below that share n-grams with the reply."""
        if not self.weighted:
            return ()
        return tuple(r for r in self.references if not r.is_trusted and any(r.shared))


def is_explained(metric: object) -> TypeGuard[Bleu | DeltaBleu]:
    """Return whether scores of this metric can be broken down into n-grams."""
    return isinstance(metric, Bleu) or (isinstance(metric, DeltaBleu) and metric.mode == "sentence")


def explain(metric: Bleu | DeltaBleu, sample: Sample) -> Explanation:
    """Break down a sample's score; check `metric.unscorable(sample)` first."""
    weighted = isinstance(metric, DeltaBleu)
    reply = metric.tokenizer.tokens(sample.response)
    texts = [metric.tokenizer.tokens(reference.text) for reference in sample.references]
    weights = [1.0] * len(texts)
    if weighted:
        weights = [reference.weight for reference in sample.references]
    row = metric.stats([sample])[0]
    parts = metric.details(row)
    closest: list[int] = []
    if not (isinstance(metric, Bleu) and metric.brevity == "average"):
        closest = [i for i, text in enumerate(texts) if len(text) == parts["reference_length"]]
    orders = []
    for n in range(1, metric.order + 1):
        reply_grams = ngrams(reply, n)
        matches = _match_ngrams(reply_grams, [ngrams(text, n) for text in texts], weights)
        precision, every = parts[f"precision_{n}"], _uses_every_order(metric)
        orders.append(_explain_order(n, reply_grams, matches, max(weights), precision, every=every))
    return Explanation(
        metric=title(metric),
        score=float(metric.value(row)),
        weighted=weighted,
        largest_weight=max(weights),
        length=len(reply),
        reference_length=parts["reference_length"],
        closest=tuple(closest),
        brevity_penalty=parts["brevity_penalty"],
        orders=tuple(orders),
        references=tuple(_explain_reference(sample, i, reply, text, metric.order) for i, text in enumerate(texts)),
    )


def _match_ngrams(reply: Grams, references: Sequence[Grams], weights: Sequence[float]) -> Iterator[NgramCredit]:
    """Yield each n-gram of the reply that earns credit, with the first of the references that give it most."""
    for gram, count in reply.items():
        gains = [weight * min(count, reference[gram]) for weight, reference in zip(weights, references, strict=True)]
        best = max(range(len(gains)), key=gains.__getitem__)
        if gains[best] > 0:
            counted = min(count, references[best][gram])
            yield NgramCredit(" ".join(gram), count, counted, best, weights[best], gains[best])


def _explain_order(
    n: int, reply: Grams, credited: Iterable[NgramCredit], largest: float, precision: float, *, every: bool
) -> Order:
    matches, count = tuple(credited), reply.total()
    earned = {match.ngram for match in matches}
    return Order(
        n=n,
        ngrams=count,
        matches=matches,
        missed=tuple(text for text in map(" ".join, reply) if text not in earned),
        credit=float(sum(match.credit for match in matches)),
        denominator=count * largest,
        precision=precision,
        used=every or count > 0,
    )


def _uses_every_order(metric: Bleu | DeltaBleu) -> bool:
    """Return whether orders longer than the reply also count."""
    return isinstance(metric, DeltaBleu) or not metric.effective_order or metric.smoothing in ("add-k", "tiny")


def _explain_reference(
    sample: Sample, place: int, reply: Sequence[str], text: Sequence[str], order: int
) -> ExplainedReference:
    reference = sample.references[place]
    shared = []
    for n in range(1, order + 1):
        reference_grams = ngrams(text, n)
        shared.append(tuple(" ".join(gram) for gram in ngrams(reply, n) if gram in reference_grams))
    return ExplainedReference(place, reference.text, reference.source, reference.weight, len(text), tuple(shared))
