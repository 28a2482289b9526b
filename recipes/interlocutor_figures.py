"""Figures of models trained with several seeds: means, intervals from resampled users or dialogues, and findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results import Cell, Finding

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

    def __neg__(self) -> Figure:
        return Figure(-self.value, -self.draws)

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


# ---- findings --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Basis:
    """What the findings of a table share: the data, and what was resampled."""

    data: str
    units: int
    unit: str
    note: str = ""

    def finding(
        self, item: str, way: str, figure: Figure | None, published: float | None = None, *, decides: bool = False
    ) -> Finding:
        """Return a figure as a finding about a row of docs/papers.md; without a figure, the claim is not decided."""
        known = figure is not None and not np.isnan(figure.value)
        return Finding(
            item=item,
            way=way,
            value=figure.value if figure and known else None,
            ci=figure.ci if figure and known else None,
            units=self.units,
            unit=self.unit,
            data=self.data,
            published=published,
            decides=decides,
            note=self.note if known else "not trained",
        )

    def above(
        self,
        item: str,
        figures: Mapping[str, Figure],
        one: str,
        other: str,
        published: float | None = None,
        *,
        decides: bool = False,
    ) -> Finding:
        """Return how far one row is above another; without a figure if one of them was not trained."""
        difference = None
        if one in figures and other in figures:
            difference = figures[one] - figures[other]
        return self.finding(item, f"{one} above {other}", difference, published, decides=decides)


def cell(figure: Figure | None, published: float | None = None) -> Cell:
    """Return a figure as a cell of a published table; empty without a figure."""
    if figure is None or np.isnan(figure.value):
        return Cell(published=published)
    return Cell(published=published, ours=figure.value, ci=figure.ci)


def plain_finding(finding: Finding) -> dict[str, Any]:
    """Return the finding for results.json."""
    return {**asdict(finding), "verdict": finding.verdict}
