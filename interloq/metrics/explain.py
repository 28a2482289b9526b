# SPDX-License-Identifier: Apache-2.0
"""Explain a reply's score: every n-gram that earned credit, and the reference that it earned it from.

For BLEU and for ΔBLEU's `sentence` mode, score = BP · (Π_n p_n)^(1/N) with p_n = credit / (n-grams · largest weight).
An n-gram's credit is max_j w_j · min(its count in the reply, its count in reference j), or 0. In BLEU all weights are
1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from interloq.metrics.bleu import Bleu
from interloq.metrics.delta_bleu import DeltaBleu
from interloq.metrics.ngrams import ngrams
from interloq.records import Sample
from interloq.registry import title

Grams = Counter[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Match:
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
    matches: tuple[Match, ...]
    missed: tuple[str, ...]  # n-grams without credit
    credit: float
    denominator: float
    precision: float
    used: bool  # False: longer than the reply, and ignored by `effective_order`


@dataclass(frozen=True, slots=True)
class Source:
    """A reference, and the number of distinct n-grams of each order that the reply shares with it."""

    place: int
    text: str
    source: str
    weight: float
    length: int
    shared: tuple[tuple[str, ...], ...]

    @property
    def is_trusted(self) -> bool:
        """Whether it can give a reply credit."""
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
    references: tuple[Source, ...]

    @property
    def distrusted(self) -> tuple[Source, ...]:
        """References of weight 0 or below that share n-grams with the reply."""
        return tuple(r for r in self.references if self.weighted and not r.is_trusted and any(r.shared))


def is_explained(metric: object) -> TypeGuard[Bleu | DeltaBleu]:
    """Whether scores of this metric can be broken down into n-grams."""
    return isinstance(metric, Bleu) or (isinstance(metric, DeltaBleu) and metric.mode == "sentence")


def explain(metric: Bleu | DeltaBleu, sample: Sample) -> Explanation:
    """Break down a sample's score; check `metric.unscorable(sample)` first."""
    weighted = isinstance(metric, DeltaBleu)
    reply = metric.tokenizer.tokens(sample.response)
    texts = [metric.tokenizer.tokens(reference.text) for reference in sample.references]
    weights = [reference.weight if weighted else 1.0 for reference in sample.references]
    grams = [ngrams(reply, n) for n in range(1, metric.order + 1)]
    matched = [_matches(own, [ngrams(text, n) for text in texts], weights) for n, own in enumerate(grams, start=1)]
    row = metric.stats([sample])[0]
    parts = metric.details(row)
    average = isinstance(metric, Bleu) and metric.brevity == "average"
    return Explanation(
        metric=title(metric),
        score=float(metric.value(row)),
        weighted=weighted,
        largest_weight=max(weights),
        length=len(reply),
        reference_length=parts["reference_length"],
        closest=() if average else tuple(i for i, text in enumerate(texts) if len(text) == parts["reference_length"]),
        brevity_penalty=parts["brevity_penalty"],
        orders=tuple(
            _order(n, own, found, max(weights), parts[f"precision_{n}"], every=_uses_every_order(metric))
            for n, (own, found) in enumerate(zip(grams, matched, strict=True), start=1)
        ),
        references=tuple(_source(sample, i, reply, text, metric.order) for i, text in enumerate(texts)),
    )


def _matches(own: Grams, references: Sequence[Grams], weights: Sequence[float]) -> tuple[Match, ...]:
    found = (_match(gram, count, references, weights) for gram, count in own.items())
    return tuple(match for match in found if match)


def _match(gram: tuple[str, ...], count: int, references: Sequence[Grams], weights: Sequence[float]) -> Match | None:
    """First of the references that give most credit; None if no reference with the n-gram has weight above 0."""
    gains = [weight * min(count, reference[gram]) for weight, reference in zip(weights, references, strict=True)]
    best = max(range(len(gains)), key=gains.__getitem__)
    if gains[best] <= 0:
        return None
    return Match(" ".join(gram), count, min(count, references[best][gram]), best, weights[best], gains[best])


def _order(n: int, own: Grams, matches: tuple[Match, ...], largest: float, precision: float, *, every: bool) -> Order:
    count = own.total()
    return Order(
        n=n,
        ngrams=count,
        matches=matches,
        missed=_missed(own, matches),
        credit=float(sum(match.credit for match in matches)),
        denominator=count * largest,
        precision=precision,
        used=every or count > 0,
    )


def _uses_every_order(metric: Bleu | DeltaBleu) -> bool:
    """Whether orders longer than the reply also count."""
    return isinstance(metric, DeltaBleu) or not metric.effective_order or metric.smoothing in ("add-k", "tiny")


def _missed(own: Grams, matches: Sequence[Match]) -> tuple[str, ...]:
    earned = {match.ngram for match in matches}
    return tuple(text for gram in own if (text := " ".join(gram)) not in earned)


def _source(sample: Sample, place: int, reply: Sequence[str], text: Sequence[str], order: int) -> Source:
    reference = sample.references[place]
    shared = []
    for n in range(1, order + 1):
        theirs = ngrams(text, n)
        shared.append(tuple(" ".join(gram) for gram in ngrams(reply, n) if gram in theirs))
    return Source(place, reference.text, reference.source, reference.weight, len(text), tuple(shared))
