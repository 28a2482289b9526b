# SPDX-License-Identifier: Apache-2.0
"""The report as plain values: everything the template shows, already formatted.

Texts are not escaped (the template does it); coordinates are texts, in the units of their picture.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from interloq.report.bubbles import Bubbles
from interloq.report.elements import Bar, Cell, Folded, Mark, Name, Tick
from interloq.report.filters import Filter
from interloq.report.sections.continuity import Continuity
from interloq.report.sections.curves import ModelSection
from interloq.report.sections.decisions import VerdictSection
from interloq.report.sections.dialogues import DialogueReading, RankTable
from interloq.report.sections.preferences import PreferenceTable
from interloq.report.sections.reference_curves import ReferenceCurve
from interloq.report.sections.scores import MetricScores
from interloq.report.sections.side_by_side import Contrast, DialogueContrast

# id, system, last turn, reply, mean judgment, one score per metric, number of its context, one value per filter
SampleRow = tuple[str | float | None, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning that a reader must know before believing a number."""

    kind: Literal["illustrative", "warning", "note"]
    text: str
    details: tuple[tuple[str, str], ...] = ()  # subject and text


@dataclass(frozen=True, slots=True)
class Fact:
    """A count with its label."""

    count: str
    label: str


@dataclass(frozen=True, slots=True)
class OverviewCell:
    """A system's score or mean judgment in the overview."""

    value: str
    interval: str
    sort: str
    is_best: bool = False  # and distinguishable from every other system


@dataclass(frozen=True, slots=True)
class OverviewRow:
    """One system in the overview."""

    system: str
    mark: Mark | None
    cells: tuple[OverviewCell, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """Systems by metrics, and what led."""

    metrics: tuple[Name, ...]
    has_people: bool  # if so, the first cell of each row is the mean judgment
    rows: tuple[OverviewRow, ...]
    note: str  # below the table
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One cell of the agreement table."""

    value: str
    sort: str
    interval: str = ""
    bar: Bar | None = None
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """One metric's agreement with people."""

    metric: Name
    cells: tuple[Coefficient, ...]
    n: str
    unscored: str


@dataclass(frozen=True, slots=True)
class PeopleRow:
    """One measure of agreement between people."""

    label: str
    cells: tuple[Coefficient, ...]


@dataclass(frozen=True, slots=True)
class SplitRow:
    """One metric's correlation, split by user: values with intervals."""

    metric: Name
    coefficient: str
    cells: tuple[Cell, ...]  # overall, between users, within users, mean of users
    users: str


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """Two metrics compared."""

    first: Name
    second: Name
    coefficient: str
    difference: str
    sort: str
    n: str
    williams: str
    permutation: str
    adjusted: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of metrics with people."""

    summary: str
    columns: tuple[str, ...]
    rows: tuple[AgreementRow, ...]
    people: tuple[PeopleRow, ...]
    alphas: tuple[str, ...]
    comparisons: tuple[ComparisonRow, ...]
    low: str
    high: str
    zero: str  # position of 0 on the shared scale, in percent
    notes: tuple[str, ...]
    signature: str
    users: tuple[SplitRow, ...] = ()  # if people in the dialogues rated the samples


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """One sample in a scatter plot."""

    index: int  # index in the page's samples
    x: str
    y: str
    title: str


@dataclass(frozen=True, slots=True)
class PointGroup:
    """The samples of one system in a scatter plot."""

    mark: Mark
    points: tuple[ScatterPoint, ...]


@dataclass(frozen=True, slots=True)
class Scatter:
    """One metric against mean judgments."""

    metric: Name
    groups: tuple[PointGroup, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    caption: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One correlation in the heat map."""

    text: str
    shade: int  # -10 to 10; 0 if there is no number
    title: str


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One metric's correlations in the heat map."""

    metric: Name | None  # None: people
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Correlations between metrics."""

    columns: tuple[str, ...]
    rows: tuple[HeatRow, ...]


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """One reference of a sample."""

    text: Folded
    weight: str
    source: str


@dataclass(frozen=True, slots=True)
class RatingLine:
    """One person's rating of a sample."""

    rater: str
    value: str
    role: str


@dataclass(frozen=True, slots=True)
class Card:
    """One sample to read."""

    id: str
    mark: Mark
    difference: str
    score: str
    percentile: str
    judgment: str
    judgment_percentile: str
    dots: tuple[str, str]  # metric and people, in percent
    context: Bubbles
    response: Folded
    references: tuple[ReferenceLine, ...]
    ratings: tuple[RatingLine, ...]
    weak: str = ""  # predicted reliability of the references if it is too low


@dataclass(frozen=True, slots=True)
class DisagreementReading:
    """The largest disagreements of one metric with people."""

    metric: Name
    over: tuple[Card, ...]
    under: tuple[Card, ...]
    n: str


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file of the report."""

    name: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ReportPage:
    """Everything that the template shows."""

    title: str
    aspect: str
    judges: str  # "people", or another word if no person gave the ratings
    facts: tuple[Fact, ...]
    notices: tuple[Notice, ...]
    overview: Overview
    marks: tuple[Mark, ...]
    scores: tuple[MetricScores, ...]
    agreement: Agreement | None
    scatters: tuple[Scatter, ...]
    heat_map: HeatMap | None
    readings: tuple[DisagreementReading, ...]
    samples: tuple[SampleRow, ...]
    sample_note: str  # what these rows omit
    filters: tuple[Filter, ...]  # of these rows, by fields of the samples
    contrasts: tuple[Contrast, ...]  # replies to the same context
    version: str
    command: str
    sources: tuple[InputFile, ...]
    date: str = ""
    aspects: tuple[str, ...] = field(default=())  # rated aspects, if this one has no ratings
    models: tuple[ModelSection, ...] = ()
    reference_curves: tuple[ReferenceCurve, ...] = ()
    rankings: tuple[RankTable, ...] = ()
    dialogues: tuple[DialogueReading, ...] = ()
    dialogue_contrasts: tuple[DialogueContrast, ...] = ()
    continuity: tuple[Continuity, ...] = ()
    decisions: tuple[VerdictSection, ...] = ()
    preferences: tuple[PreferenceTable, ...] = ()
