"""The report as plain values: everything the template shows, already formatted.

Texts are not escaped (the template does it); coordinates are texts, in the units of their picture.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

TITLE = "Interloq report"


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
class Name:
    """A metric: its number in this report and its spec, split where it may wrap."""

    number: int
    head: str
    rest: tuple[str, ...]

    @property
    def spec(self) -> str:
        """The whole spec."""
        return self.head + "".join(self.rest)


@dataclass(frozen=True, slots=True)
class Mark:
    """How a system is drawn: one of 8 colours and one of 8 shapes."""

    system: str
    colour: int
    shape: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with its interval on a line, in percent of the line's width; the ends are empty without an interval."""

    at: str
    low: str = ""
    high: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: str
    label: str


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One system's score."""

    system: str
    mark: Mark | None
    value: str
    sort: str
    interval: str
    bar: Bar | None
    n: str
    unscored: str
    is_mean: bool = False  # of sample scores, because no header has the system's own score


@dataclass(frozen=True, slots=True)
class MetricScores:
    """The scores of all systems by one metric."""

    metric: Name
    rows: tuple[ScoreRow, ...]
    low: str  # the ends of the scale that the bars share
    high: str
    signatures: tuple[str, ...]


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


@dataclass(frozen=True, slots=True)
class Point:
    """One sample in a scatter plot."""

    index: int  # index in the page's texts
    x: str
    y: str
    title: str


@dataclass(frozen=True, slots=True)
class PointGroup:
    """The samples of one system in a scatter plot."""

    mark: Mark
    points: tuple[Point, ...]


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
class Folded:
    """A text; the rest of a long one is folded."""

    start: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Bubble:
    """One turn of a context."""

    speaker: str
    side: Literal["left", "right"]
    text: Folded


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
    earlier: tuple[Bubble, ...]
    context: tuple[Bubble, ...]
    response: Folded
    references: tuple[ReferenceLine, ...]
    ratings: tuple[RatingLine, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """The largest disagreements of one metric with people."""

    metric: Name
    over: tuple[Card, ...]
    under: tuple[Card, ...]
    n: str


@dataclass(frozen=True, slots=True)
class RankRow:
    """Rank of one system."""

    system: str
    mark: Mark | None
    rank: str
    rank_sort: str
    rank_range: str
    value: str
    sort: str
    interval: str
    bar: Bar | None
    best: str  # the probability of being best
    dialogues: str
    unscored: str
    failures: str


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """Two systems compared."""

    better: str
    worse: str
    difference: str
    sort: str
    interval: str
    p: str
    adjusted: str
    n: str
    over: str  # what the test is based on


@dataclass(frozen=True, slots=True)
class RankTable:
    """Systems ranked by one metric, best first."""

    metric: Name
    caption: str
    rows: tuple[RankRow, ...]
    low: str
    high: str
    differences: tuple[DifferenceRow, ...]
    notes: tuple[str, ...]
    signature: str


@dataclass(frozen=True, slots=True)
class TurnScore:
    """One metric's score of a turn."""

    metric: str
    value: str
    reason: str  # why there is no value
    chosen: bool  # the metric that this dialogue was chosen by


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One turn of a dialogue with its scores."""

    speaker: str
    side: Literal["left", "right"]
    text: Folded
    given: bool  # part of the given opening
    scores: tuple[TurnScore, ...]
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DialogueCard:
    """One dialogue to read; the judged system is on the right."""

    id: str
    partner: str
    score: str
    turns: tuple[SpokenTurn, ...]
    ended: tuple[str, ...]  # failures after the last turn
    failed: bool


@dataclass(frozen=True, slots=True)
class DialogueReading:
    """One system's best and worst dialogues by one metric."""

    metric: Name
    mark: Mark
    best: tuple[DialogueCard, ...]
    worst: tuple[DialogueCard, ...]
    n: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a drawing."""

    x: str
    y: str
    title: str
    radius: str = "4"


@dataclass(frozen=True, slots=True)
class Curve:
    """Losses by epoch."""

    train: tuple[Dot, ...]
    dev: tuple[Dot, ...]
    best_at: str  # position of the kept epoch; empty if no dev loss was measured
    best: str
    best_anchor: str  # text anchor of its label
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    caption: str
    rows: tuple[tuple[str, ...], ...]  # epoch, train loss, dev loss, seconds, whether it was kept


@dataclass(frozen=True, slots=True)
class Reliability:
    """Predicted probabilities against observed shares."""

    dots: tuple[Dot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    caption: str
    rows: tuple[tuple[str, ...], ...]  # bin, examples, mean probability, observed share


@dataclass(frozen=True, slots=True)
class Model:
    """A trained model that scores depend on."""

    name: str
    signature: str
    curve: Curve
    reliability: Reliability | None


@dataclass(frozen=True, slots=True)
class Source:
    """An input file of the report."""

    name: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that the template shows."""

    title: str
    aspect: str
    judges: str  # "people", or another word if no person gave the ratings
    facts: tuple[Fact, ...]
    notices: tuple[Notice, ...]
    marks: tuple[Mark, ...]
    scores: tuple[MetricScores, ...]
    agreement: Agreement | None
    scatters: tuple[Scatter, ...]
    heat_map: HeatMap | None
    readings: tuple[Reading, ...]
    texts: tuple[tuple[str, str, str, str], ...]  # id, system, last turn, response of each drawn sample
    version: str
    command: str
    sources: tuple[Source, ...]
    date: str = ""
    aspects: tuple[str, ...] = field(default=())  # rated aspects, if this one has no ratings
    models: tuple[Model, ...] = ()
    rankings: tuple[RankTable, ...] = ()
    dialogues: tuple[DialogueReading, ...] = ()
