# SPDX-License-Identifier: Apache-2.0
"""Explain a reply's score: every n-gram that earned credit, and the reference that gave it.

For BLEU and for ΔBLEU's `sentence` mode, score = BP · (Π_n p_n)^(1/N) with p_n = credit / (n-grams · largest weight).
An n-gram's credit is max_j w_j · min(its count in the reply, its count in reference j), or 0. In BLEU all weights are
1.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeGuard

from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.metrics.metric import ClashMetric, FollowingMetric, PipelineMetric, TurnClash, TurnScore, as_metric
from interloq.metrics.overlap.bleu import Bleu
from interloq.metrics.overlap.delta_bleu import DeltaBleu
from interloq.metrics.overlap.ngrams import ngrams
from interloq.records import NO_SYSTEM, Sample, SampleKeys
from interloq.registry import title
from interloq.score.evaluate import evaluate
from interloq.score.score_options import EXPLAIN_DEFAULTS, ExplainOptions
from interloq.spec_text import split_label

Grams = Counter[tuple[Any, ...]]
COMPARED = 20_000  # ids that an unknown id is compared with


@dataclass(frozen=True, slots=True)
class NgramCredit:
    """An n-gram of the reply, and the index (from 0) of the reference that gives it the most credit."""

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
    references: tuple[ExplainedReference, ...]

    @property
    def distrusted(self) -> tuple[ExplainedReference, ...]:
        """References of weight 0 or below that share n-grams with the reply."""
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
    # whether orders longer than the reply also count
    every_order = isinstance(metric, DeltaBleu) or not metric.effective_order or metric.smoothing in ("add-k", "tiny")
    row = metric.stats([sample])[0]
    parts = metric.details(row)
    closest: list[int] = []
    if not (isinstance(metric, Bleu) and metric.brevity == "average"):
        closest = [i for i, text in enumerate(texts) if len(text) == parts["reference_length"]]
    references = tuple(_explain_reference(sample, i, reply, text, metric.order) for i, text in enumerate(texts))
    orders = []
    for n in range(1, metric.order + 1):
        reply_grams = ngrams(reply, n)
        matches = tuple(_match_ngrams(reply_grams, [ngrams(text, n) for text in texts], weights))
        earned = {match.ngram for match in matches}
        order = Order(
            n=n,
            ngrams=reply_grams.total(),
            matches=matches,
            missed=tuple(text for text in map(" ".join, reply_grams) if text not in earned),
            credit=float(sum(match.credit for match in matches)),
            denominator=reply_grams.total() * max(weights),
            precision=parts[f"precision_{n}"],
            used=every_order or reply_grams.total() > 0,
        )
        orders.append(order)
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
        references=references,
    )


def _match_ngrams(reply: Grams, references: Sequence[Grams], weights: Sequence[float]) -> Iterator[NgramCredit]:
    """Yield each n-gram of the reply that earns credit, with the first of the references that give it the most."""
    for gram, count in reply.items():
        gains = [weight * min(count, reference[gram]) for weight, reference in zip(weights, references, strict=True)]
        best = max(range(len(gains)), key=gains.__getitem__)
        if gains[best] > 0:
            counted = min(count, references[best][gram])
            yield NgramCredit(" ".join(gram), count, counted, best, weights[best], gains[best])


def _explain_reference(
    sample: Sample, place: int, reply: Sequence[str], text: Sequence[str], order: int
) -> ExplainedReference:
    reference = sample.references[place]
    shared = []
    for n in range(1, order + 1):
        reference_grams = ngrams(text, n)
        shared.append(tuple(" ".join(gram) for gram in ngrams(reply, n) if gram in reference_grams))
    return ExplainedReference(place, reference.text, reference.source, reference.weight, len(text), tuple(shared))


# ---- one sample of a file --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Explained:
    """A sample as scored, with the weights of a pipeline, and its score or the reason why it has none."""

    sample: Sample
    metric: str
    score: float | None
    reason: str
    explanation: Explanation | None  # None if there is no score, or the metric cannot be broken down
    taken_apart: bool  # whether the metric can be
    course: tuple[TurnScore, ...] = ()  # scores of the dialogue's replies so far, for metrics that follow a dialogue
    clash: TurnClash | None = None  # the turn that the reply contradicts most, for metrics that look for one

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values."""
        facts: dict[str, Any] = {
            "id": self.sample.id,
            "system": self.sample.system,
            "metric": self.metric,
            "score": self.score,
            "reason": self.reason,
            "context": [turn.text for turn in self.sample.context],
            "response": self.sample.response,
            "references": self.references(),
        }
        if self.explanation:
            names = ("length", "reference_length", "closest", "brevity_penalty", "largest_weight")
            facts |= {name: getattr(self.explanation, name) for name in names}
            facts |= {"orders": [asdict(order) for order in self.explanation.orders]}
        if self.course:
            fall = largest_fall(self.course)
            facts["course"] = [asdict(turn_score) for turn_score in self.course]
            facts["fell_most"] = fall[0].turn if fall else None
        if self.clash:
            facts["clash"] = asdict(self.clash)
        return facts

    def references(self) -> list[dict[str, Any]]:
        """Return references with their weights; if the metric uses weights, only `trusted` ones can give credit."""
        rows = []
        for i, reference in enumerate(self.sample.references):
            row: dict[str, Any] = {"place": i, "source": reference.source}
            row |= {"weight": reference.weight, "text": reference.text}
            if self.explanation:
                explained = self.explanation.references[i]
                if self.explanation.weighted:
                    row["trusted"] = explained.is_trusted
                row["shared"] = list(map(list, explained.shared))
            rows.append(row)
        return rows


def explain_file(
    id: str,
    samples: str | Path,
    options: ExplainOptions = EXPLAIN_DEFAULTS,
    *,
    reading: ReadOptions = READ_DEFAULTS,
) -> Explained:
    """Explain the score of the sample with this id.

    Only bleu and delta_bleu can be broken down, alone or within a pipeline such as vbleu. Metrics with a `course`, such
    as dcp, also give the scores of the dialogue's earlier replies, and contradiction gives the turn that the reply
    contradicts most; for other metrics, only the score is given. `-` is standard input.
    """
    if Path(id).is_file() and str(samples) != "-" and not Path(samples).exists():
        raise InputError(
            f"{id!r} is a file, and {str(samples)!r} is not", hint="give the sample's id first, then the file"
        )
    label, written = split_label(options.metric)
    made = as_metric(written)
    inner = made.metric() if isinstance(made, PipelineMetric) else made  # in vbleu, the metric after rating
    taken_apart = is_explained(inner) or isinstance(made, FollowingMetric | ClashMetric)
    records = reading.read(samples)
    if taken_apart:
        sample = _find_sample(records, id, options.system, str(samples))
        scored_metric = inner
    else:  # a metric that cannot be broken down may depend on the whole file
        listed = list(records)
        sample = _find_sample(listed, id, options.system, str(samples))
        scored_metric = made
    if isinstance(made, PipelineMetric):  # the sample with the weights from the pipeline is scored
        (sample,) = made.rated([sample])
    result = evaluate(scored_metric, [sample] if taken_apart else listed, n_bootstrap=0)
    name = label or title(made)
    if reason := result.reasons.get(sample.key, ""):
        return Explained(sample, name, None, reason, None, taken_apart)
    explanation = explain(inner, sample) if is_explained(inner) else None
    course = tuple(made.course(sample)) if isinstance(made, FollowingMetric) else ()
    clash = made.clash(sample) if isinstance(made, ClashMetric) else None
    return Explained(sample, name, result.by_sample[sample.key], "", explanation, taken_apart, course, clash)


def _find_sample(samples: Iterable[Sample], id: str, system: str | None, where: str) -> Sample:
    """Return the chosen sample; all samples are read, because the id alone may be ambiguous."""
    ids: dict[str, None] = {}
    with_id = {}
    for sample in samples:
        ids[sample.id] = None
        if sample.id == id:
            with_id[sample.key] = sample
    key = SampleKeys(with_id).only(id) if system is None else (id, system)
    if key in with_id:
        return with_id[key]
    if with_id:
        systems = ", ".join(repr(system or NO_SYSTEM) for _, system in sorted(with_id))
        raise InputError(f"{id!r} is not a sample of {system!r}", hint=f"its systems are: {systems}", where=where)
    close = difflib.get_close_matches(id, list(ids)[:COMPARED], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, close))}?"
    if not close:
        hint = f"the first are {' or '.join(map(repr, list(ids)[:3]))}"
    raise InputError(f"no sample {id!r} among {len(ids):,}", hint=hint, where=where)


def largest_fall(course: Sequence[TurnScore]) -> tuple[TurnScore, float] | None:
    """Return the reply that scored furthest below the one before it, and by how much; None if no score fell."""
    largest: tuple[TurnScore, float] | None = None
    before = None
    for reply in course:
        if reply.score is None:
            continue
        if before is not None and before - reply.score > (largest[1] if largest else 0):
            largest = (reply, before - reply.score)
        before = reply.score
    return largest
