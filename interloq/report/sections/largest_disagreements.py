# SPDX-License-Identifier: Apache-2.0
"""The largest disagreements, shown as conversations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interloq.agree.disagreements import Disagreement, Disagreements
from interloq.records import Key, Rating, Sample
from interloq.report import text
from interloq.report.bubbles import bubbles
from interloq.report.elements import Mark, Name
from interloq.report.page import Card, DisagreementReading, RatingLine, ReferenceLine


def reading(
    name: Name,
    largest: Disagreements,
    samples: Mapping[Key, Sample],
    marks: Mapping[str, Mark],
    aspect: str,
    weak: Mapping[Key, float] | None = None,
) -> DisagreementReading:
    """Return the samples to read for one metric; `weak` are predictions for samples with too weak references."""

    def cards(side: Iterable[Disagreement]) -> tuple[Card, ...]:
        return tuple(_card(d, samples[d.key], marks, aspect, (weak or {}).get(d.key)) for d in side)

    return DisagreementReading(name, cards(largest.over), cards(largest.under), f"{largest.n:,}")


def _card(found: Disagreement, sample: Sample, marks: Mapping[str, Mark], aspect: str, weak: float | None) -> Card:
    return Card(
        id=sample.id,
        mark=marks[sample.system],
        difference=text.signed(found.difference, 0),
        score=text.score(found.score),
        percentile=f"{found.percentile:.0f}",
        judgment=text.number(found.judgment, 2),
        judgment_percentile=f"{found.judgment_percentile:.0f}",
        dots=(f"{found.percentile:.1f}", f"{found.judgment_percentile:.1f}"),
        context=bubbles(sample.context),
        response=text.folded(sample.response),
        references=tuple(
            ReferenceLine(text.folded(r.text), text.number(r.weight, 2), r.source) for r in sample.references
        ),
        ratings=tuple(_rating(r) for r in sample.ratings if r.aspect == aspect),
        weak="" if weak is None else text.number(weak),
    )


def _rating(rating: Rating) -> RatingLine:
    value = "not applicable" if rating.value is None else f"{rating.value:g}"
    return RatingLine(rating.rater, value, rating.role)
