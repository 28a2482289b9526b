"""Figures of models trained with several seeds: means, intervals from resampled users or dialogues, and verdicts.

A claim holds if the whole 95 % interval of the difference is above 0. It does not hold if the interval is below half of
the published difference (or below 0, if none was published). Otherwise it is undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq import Sample
from interloq.statistics.correlation import pearson_rows, resample_coefficients
from interloq.statistics.resampling import cluster_counts, percentile_interval
from interloq.terminal.console import print_line, print_table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PEARSON = {"pearson": "pearson"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, and its value in each bootstrap resample; figures of the same clusters share their resamples."""

    value: float
    draws: Floats = field(repr=False)

    @property
    def ci(self) -> tuple[float, float]:
        """95 % interval."""
        return percentile_interval(self.draws)

    def __sub__(self, other: Figure) -> Figure:
        return Figure(self.value - other.value, self.draws - other.draws)

    def __str__(self) -> str:
        if np.isnan(self.value):
            return "n/a"
        return f"{self.value:.3f} [{self.ci[0]:.3f}, {self.ci[1]:.3f}]"

    def plain(self) -> dict[str, Any]:
        """The figure for results.json."""
        return {"value": self.value, "ci": self.ci}


def numbered(names: Iterable[str]) -> Ints:
    """A number from 0 for each name."""
    return np.unique(list(names), return_inverse=True)[1].astype(np.int64)


def dialogue_of(sample: Sample) -> str:
    """Id of a sample's dialogue."""
    return sample.id.rpartition("#")[0]


def turn_of(sample: Sample) -> float:
    """Number of a sample's turn in its dialogue."""
    return float(sample.id.rpartition("#")[2])


def pearson(predicted: Sequence[Floats], people: Floats, cluster: Ints, resamples: int) -> Figure:
    """Pearson's r with people, averaged over models; resamples draw clusters."""
    values = [float(pearson_rows(each[None], people[None])[0]) for each in predicted]
    options: dict[str, Any] = {"n_bootstrap": resamples, "seed": 0, "chosen": PEARSON, "cluster": cluster}
    draws = [resample_coefficients(each, people, **options)["pearson"] for each in predicted]
    return Figure(float(np.mean(values)), np.mean(draws, axis=0))


def user_parts(predicted: Sequence[Floats], people: Floats, user: Ints, resamples: int) -> dict[str, Figure]:
    """Pearson's r over all samples, between means of users, and within users (deviations from their means)."""
    means, everybody = [_means(each, user) for each in predicted], np.arange(int(user.max()) + 1)
    apart = [np.round(each - mean[user], 9) for each, mean in zip(predicted, means, strict=True)]  # 0 if constant
    own = _means(people, user)
    return {
        "overall": pearson(predicted, people, user, resamples),
        "between users": pearson(means, own, everybody, resamples),
        "within users": pearson(apart, people - own[user], user, resamples),
    }


def _means(values: Floats, user: Ints) -> Floats:
    return np.bincount(user, values) / np.bincount(user)


def share(correct: Floats, cluster: Ints, resamples: int) -> Figure:
    """Mean of values such as the correctness of decisions; resamples draw clusters."""
    drawn = [counts @ correct / counts.sum(axis=1) for counts in cluster_counts(cluster, resamples, 0)]
    return Figure(float(correct.mean()), np.concatenate(drawn))


def print_parts(title: str, found: Mapping[str, Mapping[str, Figure]], published: Mapping[str, float]) -> None:
    """Print one row per model: r overall and its parts, with the published one."""
    names = list(next(iter(found.values())))
    rows = []
    for row, parts in found.items():
        last = f"{published[row]:.3f}" if row in published else ""
        rows.append([row, *(str(parts[name]) for name in names), last])
    print_table(title, ["", *names, "published"], rows)
    print_line()


# ---- claims ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed difference between two rows: ours, and the published one if there is any."""

    text: str
    ours: Figure | None
    published: float | None = None
    reason: str = ""  # why there is no figure

    @property
    def verdict(self) -> str:
        """`holds`, `does not hold` or `undecided`."""
        if self.ours is None:
            return f"undecided: {self.reason}"
        low, high = self.ours.ci
        if low > 0:
            return "holds"
        return "does not hold" if high < (self.published or 0) / 2 else "undecided"

    def plain(self) -> dict[str, Any]:
        """The claim for results.json."""
        ours = self.ours.plain() if self.ours else None
        return {"claim": self.text, "ours": ours, "published": self.published, "verdict": self.verdict}


def above(found: Mapping[str, Figure], one: str, other: str, published: float | None = None) -> Claim:
    """The claim that one row is above another; without a figure if one of them was not trained."""
    missing = [title for title in (one, other) if title not in found]
    ours = None if missing else found[one] - found[other]
    return Claim(f"{one} above {other}", ours, published, f"{missing[0]} was not trained" if missing else "")


def print_claims(title: str, claims: Sequence[Claim]) -> None:
    """Print a table of differences and verdicts."""
    rows = [
        [
            claim.text,
            str(claim.ours) if claim.ours else "n/a",
            "n/a" if claim.published is None else f"{claim.published:+.3f}",
            claim.verdict,
        ]
        for claim in claims
    ]
    print_table(title, ["claim", "difference", "published", "verdict"], rows)
    print_line()
