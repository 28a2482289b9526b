# SPDX-License-Identifier: Apache-2.0
"""Interface of metrics: one row of statistics per sample, and a value from summed rows.

`value(row)` is the sample's score and `value(sum of rows)` the score of the set, so corpus scores, bootstrap intervals
and permutation tests need no second pass. A row of NaN is an unscored sample; `unscorable` gives the reason.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, Self, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from interloq.needs import SENTENCE_ENCODER
from interloq.records import Sample
from interloq.registry import Component, complete, create

Array = NDArray[np.float64]
Direction = Literal["higher", "lower", "neither"]  # which score is better
Reduction = Literal["max", "mean"]  # from the scores of single references to the score of a reply

NO_REFERENCES = "no references"
EMPTY = "empty reply"
_WITHOUT_REFERENCES = Sample("bare", ["a context"], "a reply")


@dataclasses.dataclass(frozen=True, slots=True)
class TurnScore:
    """The score of the reply at a turn, counted from 0; None if it is unscored."""

    turn: int
    text: str
    score: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class TurnClash:
    """The turn, counted from 0, that a reply contradicts most; `same` says whether the reply's speaker said it."""

    turn: int
    text: str
    same: bool
    chance: float


class MetricLike(Protocol):
    """What a metric must have; `as_metric` adds the rest."""

    def unscorable(self, sample: Sample) -> str | None:
        """Return why this sample is unscored, or None."""

    def stats(self, samples: Sequence[Sample]) -> Array:
        """Return one row per sample; NaN if `unscorable` or `failures` gives a reason."""

    def value(self, total: Array) -> Array:
        """Return scores from rows or sums of rows, along the last axis."""


class Metric(Component, kind="metric"):
    """Base of metrics: a frozen dataclass whose fields are its whole configuration.

    A metric must define `stats`. Everything else has a default, which suits metrics whose score of a set is the mean of
    sample scores. A class that does not inherit from here must have `unscorable`, `stats` and `value`; `as_metric` adds
    the other defaults to it.
    """

    direction: ClassVar[Direction] = "higher"  # "neither": the user must say which score is better to rank by it
    papers: ClassVar[tuple[str, ...]] = ()  # keys in score/papers.bib; none: the metric is our own
    variant_papers: ClassVar[Mapping[str, str]] = {}  # further papers of fields that are not at their default
    is_probability: ClassVar[bool] = False  # scores are probabilities, comparable with any rater's (see score/by.py)

    @classmethod
    def catalogue_facts(cls) -> dict[str, Any]:
        """Return what must be known about it without importing it."""
        defaults = {field.name: field.default for field in dataclasses.fields(cast("Any", cls))}
        return {
            "direction": cls.direction,
            "needs": dataclasses.asdict(cls.needs) if cls.needs else None,
            "papers": list(cls.papers),
            "variant_papers": {name: [defaults[name], paper] for name, paper in cls.variant_papers.items()},
            "always_mean": cls.is_mean in (True, Metric.is_mean),
            "compares_references": cls.over_references not in (None, Metric.over_references),
            "scores_sets": issubclass(cls, SetMetric),
        }

    def unscorable(self, sample: Sample) -> str | None:
        """Return why this sample is unscored, or None: by default, missing references if the metric needs them."""
        if self.needs and self.needs.references:
            return needs_references(sample)
        return None

    def stats(self, samples: Sequence[Sample]) -> Array:
        """Return one row per sample; NaN if `unscorable` or `failures` gives a reason."""
        raise NotImplementedError

    def value(self, total: Array) -> Array:
        """Return scores from rows or sums of rows, along the last axis; by default, rows are [score, 1]."""
        return mean_value(total)

    @property
    def is_mean(self) -> bool:
        """Whether the value of a set is the mean of its sample scores."""
        return True

    @property
    def of(self) -> Literal["reply", "dialogue"]:
        """What it scores: replies, or whole dialogues (see play/samples.py)."""
        return "reply"

    @property
    def reads_references(self) -> bool:
        """Whether it uses references."""
        return self.unscorable(_WITHOUT_REFERENCES) == NO_REFERENCES

    @property
    def reads_weights(self) -> bool:
        """Whether it uses the weights of references."""
        return False

    @property
    def over_references(self) -> Reduction | None:
        """How scores against single references (see `ReferenceMetric`) give a reply's score; None if they do not."""
        return None

    @property
    def scale(self) -> tuple[float, float] | None:
        """Lowest and highest score if scores are ratings on a scale, which can become weights like people's ratings."""
        return None

    @property
    def language(self) -> str:
        """The only language that its network knows; empty if unknown."""
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            if field.init and getattr(self, field.name) == SENTENCE_ENCODER:
                return "English"
        return ""

    def inner_metrics(self) -> list[Metric]:
        """Return the metrics that it combines."""
        inner: list[Metric] = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            if field.metadata.get("kind") == "metric":
                value = getattr(self, field.name)
                inner += value if isinstance(value, tuple) else (value,)
        if isinstance(self, PipelineMetric):
            inner.append(self.metric())
        return inner

    def usual_scores(self) -> tuple[float, float] | None:
        """Return quartiles of the scores of usual replies, if they are known."""
        return None

    def tokens_needed(self) -> int:
        """Return the fewest tokens for a score above 0: shorter replies score 0, whatever they say."""
        return 0

    def trained_on(self, samples: Sequence[Sample]) -> int:  # noqa: ARG002
        """Return the number of the samples whose ratings its network was trained on."""
        return 0

    def expected_errors(self, samples: Sequence[Sample]) -> Array | None:  # noqa: ARG002
        """Return the expected absolute difference of each score from people's; None if it is unknown."""
        return None

    def unknown_judges(self, samples: Sequence[Sample]) -> int:  # noqa: ARG002
        """Return the number of the samples judged by users whom its model does not know, although it knows others."""
        return 0

    def failures(self, samples: Sequence[Sample]) -> Sequence[str]:
        """Return why `stats` gave a row of NaN although `unscorable` gave no reason, "" for other samples.

        This is for reasons known only afterwards, such as an unusable answer from a server.
        """
        return [""] * len(samples)

    def failure(self, reason: str) -> str:  # noqa: ARG002
        """Return the error in the reason of an unscored sample, "" if the metric did not fail."""
        return ""

    def remark(self, total: Array) -> str:  # noqa: ARG002
        """Return a note on how far to trust the scores of a set."""
        return ""

    def details(self, total: Array) -> Mapping[str, float]:  # noqa: ARG002
        """Return further numbers in a row or a sum of rows, such as precision and recall."""
        return {}


class CountMetric(Metric):
    """Base of metrics with scores from counts: a set's score is from its summed counts or, if `is_mean`, a mean."""

    def counts(self, samples: Sequence[Sample]) -> Array:
        """Return one row of counts per sample."""
        raise NotImplementedError

    def score(self, counts: Array) -> Array:
        """Return scores from counts or sums of counts, along the last axis."""
        raise NotImplementedError

    def part_names(self) -> Sequence[str]:
        """Return the names of the columns of `parts`."""
        raise NotImplementedError

    def parts(self, counts: Array) -> Array:
        """Return the numbers behind scores, from rows as in `score`: by default the counts."""
        return counts

    def stats(self, samples: Sequence[Sample]) -> Array:
        """Return counts, or [score, 1, parts] if the score of a set is a mean."""
        counts = self.counts(samples)
        if not self.is_mean:
            return counts
        return score_rows(self.score(counts), self.parts(counts))

    def value(self, total: Array) -> Array:
        return mean_value(total) if self.is_mean else self.score(total)

    def details(self, total: Array) -> dict[str, float]:
        """Return the parts of the score, or their means if the score of a set is a mean."""
        if self.is_mean:
            return mean_parts(total, *self.part_names())
        return dict(zip(self.part_names(), self.parts(total).tolist(), strict=True))


def as_metric(metric: MetricLike | str) -> Metric:
    """Return the metric of a spec, or the given one.

    A class that does not inherit from `Metric` gets its defaults here, where metrics enter the package, so that other
    code can rely on every attribute.
    """
    if isinstance(metric, str):
        metric = create(metric, kind="metric")
    complete(type(metric), "metric")
    return cast("Metric", metric)


@runtime_checkable
class FittedMetric(Protocol):
    """A metric with constants fitted to the whole set, such as NIST's information weights."""

    def fit(self, samples: Sequence[Sample]) -> Self: ...

    def fitted(self) -> str:
        """Identify the samples that the constants were fitted to, for the signature; empty before `fit`."""


@runtime_checkable
class ReferenceMetric(Protocol):
    """A metric whose `over_references` is not None."""

    def by_reference(self, samples: Sequence[Sample]) -> Array:
        """Return the score of each reply against each of its references alone, sample after sample; NaN if unscored."""


@runtime_checkable
class FollowingMetric(Protocol):
    """A metric that can follow a dialogue, such as dcp."""

    def course(self, sample: Sample) -> Iterable[TurnScore]:
        """Return the scores of the replies in the sample's context, in order, and then of its own reply."""


@runtime_checkable
class ClashMetric(Protocol):
    """A metric that compares the reply with each earlier turn, such as contradiction."""

    def clash(self, sample: Sample) -> TurnClash | None:
        """Return the turn that the reply contradicts most, None if the sample has no score."""


@runtime_checkable
class PipelineMetric(Protocol):
    """A metric that rates references first, such as vbleu."""

    def metric(self) -> Metric:
        """Return the metric that scores rated samples."""

    def rated(self, samples: Sequence[Sample]) -> list[Sample]:
        """Return the samples with the references and weights that are scored."""


@runtime_checkable
class SetMetric(Protocol):
    """A metric whose rows cannot be summed, such as distinct-n: it scores a weighted set as a whole."""

    def value_of_set(self, samples: Sequence[Sample], counts: Iterable[NDArray[np.int64]]) -> Array:
        """Return the value of each resampled set; `counts[b, i]` of a block is how often sample i is in set b."""


def mean_value(total: Array) -> Array:
    """Return the value of rows [score, 1]: the mean over samples."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total[..., 0] / total[..., 1])


def score_rows(scores: Array, *parts: Array) -> Array:
    """Return rows [score, 1], for metrics whose set score is the mean; `parts` are columns for `mean_parts`."""
    rows = np.column_stack([scores, np.ones_like(scores), *parts])
    rows[np.isnan(scores)] = np.nan
    return rows


def mean_parts(total: Array, *names: str) -> dict[str, float]:
    """Return the means over samples of the parts that follow [score, 1] in a sum of rows, by name."""
    return dict(zip(names, (total[2:] / total[1]).tolist(), strict=True))


def best_reference(scores: Array, samples: Sequence[Sample]) -> Array:
    """Return the largest score among each sample's consecutive references, ignoring NaN; NaN if there is none."""
    best = np.full(len(samples), -np.inf)
    owner = np.repeat(np.arange(len(samples)), reference_counts(samples))
    np.fmax.at(best, owner, scores)
    return np.where(np.isinf(best), np.nan, best)


def needs_references(sample: Sample) -> str | None:
    """Return why a sample without references is unscored, or None."""
    return None if sample.references else NO_REFERENCES


def needs_reply(sample: Sample) -> str | None:
    """Return why a sample whose reply has no text is unscored, or None."""
    return None if sample.response.strip() else EMPTY


def replies(samples: Iterable[Sample]) -> list[str]:
    """Return the reply of each sample."""
    return [sample.response for sample in samples]


def reference_counts(samples: Iterable[Sample]) -> list[int]:
    """Return the number of references of each sample."""
    return [len(sample.references) for sample in samples]


def reference_texts(samples: Iterable[Sample]) -> list[str]:
    """Return the texts of all references, sample after sample."""
    return [reference.text for sample in samples for reference in sample.references]
