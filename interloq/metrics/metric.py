# SPDX-License-Identifier: Apache-2.0
"""Interface of metrics: one row of statistics per sample, and a value from summed rows.

`value(row)` is the sample's score and `value(sum of rows)` the set's, so corpus scores, bootstrap intervals and
permutation tests need no second pass. A row of NaN is an unscored sample; `unscorable` gives the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from interloq.records import Sample

Array = NDArray[np.float64]
Direction = Literal["higher", "lower", "neither"]  # which score is better
Reduction = Literal["max", "mean"]  # from the scores of single references to the score of a reply

NO_REFERENCES = "no references"
EMPTY = "empty reply"


class Metric(Protocol):
    """A frozen dataclass whose fields are its whole configuration.

    Optional attributes:

    - `direction: ClassVar[Direction]`: "higher" (default) or "lower" is better, or "neither": then nothing is ranked by
      it unless the user says which is better.
    - `is_mean`: False if the value of a set is not the mean of its sample scores.
    - `reads_references`: whether it uses references; by default, whether it needs them.
    - `reads_weights`: True if it uses the weights of references (for checks on the data, see checks.py).
    - `tokens_needed() -> int`: replies with fewer tokens score 0 whatever they say (see checks.py).
    - `is_probability`: True if scores are probabilities that are comparable with any rater's (see
      score/by.py).
    - `trained_on(samples) -> int`: number of the samples whose ratings its network was trained on (see checks.py).
    - `unknown_judges(samples) -> int`: number of the samples judged by users that its model does not know, although it
      knows others (see checks.py).
    - `over_references`: "max" or "mean" if a reply's score is the largest or the mean of its scores against each
      reference alone, which `by_reference` returns (see reliability/labels.py); None or absent otherwise.
    - `course(sample) -> Iterable[TurnScore]`: scores of the replies in the sample's context and of its own, one after
      the other (see course.py and score/explain.py).
    - `failures(samples) -> Sequence[str]`: why `stats` gave a row of NaN although `unscorable` gave no reason, "" for
      other samples; for reasons known only afterwards, such as a server's answer that cannot be used.
    - `failure(reason) -> str`: the error in the reason of an unscored sample, "" if the metric did not fail; `evaluate`
      warns of failures.
    - `of`: "dialogue" if it scores whole dialogues (see play/samples.py) instead of replies.
    - `scale`: lowest and highest score if scores are ratings on a scale, which become weights as people's ratings do.
    - `remark(total) -> str`: a note on how far to trust the scores of a set.
    - `details(total) -> Mapping[str, float]`: further numbers in a row or a sum of rows, such as precision and recall;
      `Result.details` has the numbers of the whole set.
    """

    def unscorable(self, sample: Sample) -> str | None:
        """Reason why this sample is unscored, or None."""

    def stats(self, samples: Sequence[Sample]) -> Array:
        """One row per sample; NaN if `unscorable` or `failures` gives a reason."""

    def value(self, total: Array) -> Array:
        """Scores from rows or sums of rows: the last axis is the row."""


@runtime_checkable
class FittedMetric(Protocol):
    """A metric with constants fitted to the whole set, such as NIST's information weights."""

    def fit(self, samples: Sequence[Sample]) -> Self: ...

    def fitted(self) -> str:
        """Identifies the samples that the constants were fitted to, for the signature; empty before `fit`."""


class ReferenceMetric(Protocol):
    """A metric whose `over_references` is not None."""

    over_references: Reduction

    def by_reference(self, samples: Sequence[Sample]) -> Array:
        """Score of each reply against each of its references alone, sample after sample; NaN if unscored."""


@runtime_checkable
class SetMetric(Protocol):
    """A metric whose rows cannot be summed, such as distinct-n: it scores a weighted set as a whole."""

    def value_of_set(self, samples: Sequence[Sample], counts: Iterable[NDArray[np.int64]]) -> Array:
        """Value of each resampled set; `counts[b, i]` of a block is how often sample i is in set b."""


def judges_dialogues(metric: object) -> bool:
    """Whether it scores whole dialogues instead of replies."""
    return getattr(metric, "of", "reply") == "dialogue"


def is_mean(metric: object) -> bool:
    """Whether the value of a set is the mean of its sample scores."""
    return bool(getattr(metric, "is_mean", True))


def details(metric: object, total: Array) -> Mapping[str, float]:
    """Further numbers in a sum of rows; empty if the metric has none."""
    numbers: Mapping[str, float] = {}
    if hasattr(metric, "details"):
        numbers = metric.details(total)
    return numbers


def mean_value(total: Array) -> Array:
    """Value of rows [score, 1]: the mean over samples."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total[..., 0] / total[..., 1])


def score_rows(scores: Array, *parts: Array) -> Array:
    """Rows [score, 1] from scores, for metrics whose set score is the mean; `parts` are columns for `mean_parts`."""
    rows = np.column_stack([scores, np.ones_like(scores), *parts])
    rows[np.isnan(scores)] = np.nan
    return rows


def mean_parts(total: Array, *names: str) -> dict[str, float]:
    """Means over samples of the parts that follow [score, 1] in a sum of rows, by name."""
    return dict(zip(names, (total[2:] / total[1]).tolist(), strict=True))


def best_reference(scores: Array, samples: Sequence[Sample]) -> Array:
    """Largest score of each sample's references, which follow each other, ignoring NaN; NaN without any."""
    best = np.full(len(samples), -np.inf)
    owner = np.repeat(np.arange(len(samples)), reference_counts(samples))
    np.fmax.at(best, owner, scores)
    return np.where(np.isinf(best), np.nan, best)


def needs_references(sample: Sample) -> str | None:
    """Reason why a sample without references is unscored, or None."""
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
