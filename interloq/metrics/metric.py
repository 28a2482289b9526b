"""The seam of every metric: a row of sums a sample, and a value from summed rows.

`value(row)` is the sample's score and `value(sum of rows)` the set's, so corpus scores, bootstrap intervals and
permutation tests cost no second pass. A row of NaN is an unscored sample; `unscorable` gives its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from interloq.records import Sample

Array = NDArray[np.float64]
Direction = Literal["higher", "lower", "neither"]  # which score is better

NO_REFERENCES = "no references"


class Metric(Protocol):
    """A frozen dataclass whose fields are its whole configuration.

    Higher is better, unless it says `direction: ClassVar[Direction] = "lower"`, or "neither": then no ranking is made
    of it unless somebody says which is better. One whose value of a set is not the mean of its sample scores has
    `is_mean`, which says so. For checks on the data (checks.py) one that reads the weights of references has a true
    `reads_weights`, and one that scores replies of few tokens 0 whatever they say has `tokens_needed() -> int`.
    One whose scores are probabilities, comparable with those of any rater, has a true `is_probability` (see
    pipelines/by.py).
    One whose rows hold more than the value has `details(total) -> Mapping[str, float]`, the numbers behind the value
    of a row or a sum of rows, such as precision and recall; `Result.details` shows those of the whole set.
    """

    def unscorable(self, sample: Sample) -> str | None:
        """Why this sample gets no score, or None."""

    def stats(self, samples: Sequence[Sample]) -> Array:
        """One row a sample; NaN where `unscorable` has a reason."""

    def value(self, total: Array) -> Array:
        """Scores from rows or sums of rows: the last axis is the row."""


@runtime_checkable
class FittedMetric(Protocol):
    """A metric with constants that come from the whole set, such as NIST's information weights."""

    def fit(self, samples: Sequence[Sample]) -> Self: ...

    def fitted(self) -> str:
        """What the constants were fitted on, for the signature; empty before `fit`."""


@runtime_checkable
class SetMetric(Protocol):
    """A metric whose rows do not add up, such as distinct-n: it scores a weighted set as a whole."""

    def value_of_set(self, samples: Sequence[Sample], counts: Iterable[NDArray[np.int64]]) -> Array:
        """The value of each resampled set; `counts[b, i]` of a block says how often sample i stands in set b."""


def is_mean(metric: object) -> bool:
    """Whether the value of a set is the mean of its sample scores."""
    return bool(getattr(metric, "is_mean", True))


def details(metric: object, total: Array) -> Mapping[str, float]:
    """The numbers behind a metric's value of a sum of rows; none where the rows hold nothing else."""
    found: Mapping[str, float] = metric.details(total) if hasattr(metric, "details") else {}
    return found


def mean_value(total: Array) -> Array:
    """The value of rows [score, 1]: the mean over samples."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total[..., 0] / total[..., 1])


def score_rows(scores: Array, *parts: Array) -> Array:
    """Rows [score, 1] from scores, for metrics whose set score is the mean; `parts` are columns for `mean_parts`."""
    rows = np.column_stack([scores, np.ones_like(scores), *parts])
    rows[np.isnan(scores)] = np.nan
    return rows


def mean_parts(total: Array, *names: str) -> dict[str, float]:
    """The parts that follow [score, 1] in a sum of rows, by name: their means over samples."""
    return dict(zip(names, (total[2:] / total[1]).tolist(), strict=True))


def needs_references(sample: Sample) -> str | None:
    """Why a sample without references gets no score."""
    return None if sample.references else NO_REFERENCES
