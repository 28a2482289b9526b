"""The report as plain values: everything the template shows, ready to print, so that it only loops and chooses.

Texts are unescaped (the template escapes); coordinates are texts, in the units of the picture they belong to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

TITLE = "Interloq report"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a reader must know before believing a number."""

    kind: Literal["illustrative", "warning", "note"]
    text: str
    details: tuple[tuple[str, str], ...] = ()  # what it is about, and what is said of it


@dataclass(frozen=True, slots=True)
class Fact:
    """A count and what it counts."""

    count: str
    label: str


@dataclass(frozen=True, slots=True)
class Name:
    """A metric: its number in this report and its spec, cut where it may wrap."""

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
    """An interval on a line, in percent of its width; no ends where there is no interval."""

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
    is_mean: bool = False  # of sample scores: no header told the system's own score


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
    """One way in which people agree with people."""

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
    """Metrics against people."""

    summary: str
    columns: tuple[str, ...]
    rows: tuple[AgreementRow, ...]
    people: tuple[PeopleRow, ...]
    alphas: tuple[str, ...]
    comparisons: tuple[ComparisonRow, ...]
    low: str
    high: str
    zero: str  # where 0 lies on the shared scale, in percent
    notes: tuple[str, ...]
    signature: str


@dataclass(frozen=True, slots=True)
class Point:
    """One sample in a scatter plot."""

    index: int  # in the page's texts
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
    shade: int  # -10 to 10; 0 where there is no number
    title: str


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One metric's correlations in the heat map."""

    metric: Name | None  # None: people
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Which metrics say the same."""

    columns: tuple[str, ...]
    rows: tuple[HeatRow, ...]


@dataclass(frozen=True, slots=True)
class Folded:
    """A text; where it is long, the rest stands behind a fold."""

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
    """The worst disagreements of one metric."""

    metric: Name
    over: tuple[Card, ...]
    under: tuple[Card, ...]
    n: str


@dataclass(frozen=True, slots=True)
class RankRow:
    """Where one system stands."""

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
    over: str  # what the test was made over


@dataclass(frozen=True, slots=True)
class RankTable:
    """Systems from the best on, by one metric."""

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
    """What one metric says of a turn."""

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
    given: bool  # part of the opening: not theirs
    scores: tuple[TurnScore, ...]
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DialogueCard:
    """One dialogue to read; the system that is judged stands on the right."""

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
    best_at: str  # where the kept epoch lies; empty where no dev loss was measured
    best: str
    best_anchor: str  # on which side of that place there is room for a word
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    caption: str
    rows: tuple[tuple[str, ...], ...]  # epoch, train loss, dev loss, seconds, whether it was kept


@dataclass(frozen=True, slots=True)
class Reliability:
    """What came true of what a model claimed."""

    dots: tuple[Dot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    caption: str
    rows: tuple[tuple[str, ...], ...]  # bin, examples, mean probability, share that came true


@dataclass(frozen=True, slots=True)
class Model:
    """A trained model that stands behind scores."""

    name: str
    signature: str
    curve: Curve
    reliability: Reliability | None


@dataclass(frozen=True, slots=True)
class Source:
    """A file that the report was made from."""

    name: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that the template shows."""

    title: str
    aspect: str
    judges: str  # "people", or what to say instead where no person gave the ratings
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
    aspects: tuple[str, ...] = field(default=())  # aspects that do have ratings, where this one has none
    models: tuple[Model, ...] = ()
    rankings: tuple[RankTable, ...] = ()
    dialogues: tuple[DialogueReading, ...] = ()
