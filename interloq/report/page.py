# SPDX-License-Identifier: Apache-2.0
"""The report as values: results of the evaluation, which the templates format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interloq.agree.continuity_table import ContinuityTable
from interloq.agree.dialogue_scores import DialogueScore, Extremes
from interloq.agree.disagreements import Disagreements
from interloq.agree.metric_similarity import Matrix
from interloq.agree.table import MetaTable
from interloq.rank.human_preferences import PreferenceAgreement, PreferenceRanking
from interloq.rank.ranking import Ranking
from interloq.records import Key, Sample
from interloq.reliability.curve import AgreementCurve
from interloq.report.marks import Mark, Name
from interloq.report.sections.decisions import Decision
from interloq.report.sections.dialogues import DialogueCard
from interloq.report.sections.models import Trained
from interloq.report.sections.notices import Notice
from interloq.report.sections.overview import Overview
from interloq.report.sections.samples import Filter, SampleRow
from interloq.report.sections.scatter import Scatter
from interloq.report.sections.scores import MetricScores
from interloq.report.sections.side_by_side import Contrast

SystemExtremes = tuple[str, str, Extremes]  # metric, system, its best and worst dialogues
Occasion = tuple[str, Sequence[DialogueScore]]  # metric, dialogues of several systems on the same occasion


@dataclass(frozen=True, slots=True)
class Fact:
    """A count with its label."""

    count: int
    label: str


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file of the report."""

    name: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ReportPage:
    """Everything that the templates show."""

    title: str
    aspect: str
    judges: str  # "people", or another word if no person gave the ratings
    facts: tuple[Fact, ...]
    notices: tuple[Notice, ...]
    names: Mapping[str, Name]  # of all metrics, in the order of the page
    marks: Mapping[str, Mark]  # of all systems
    legend: tuple[Mark, ...]  # of the systems that the samples name
    overview: Overview
    scores: tuple[MetricScores, ...]
    agreement: MetaTable | None
    scatters: tuple[Scatter, ...]
    matrix: Matrix | None
    disagreements: Mapping[str, Disagreements]  # by metric
    sample_of: Mapping[Key, Sample]
    weak: Mapping[Key, float]  # predicted reliability of references that are too weak
    columns: tuple[Mapping[Key, float], ...]  # mean judgments, if there are any, and scores by each metric
    samples: tuple[SampleRow, ...]
    sample_note: str  # what these rows omit
    filters: tuple[Filter, ...]  # of these rows, by fields of the samples
    contrasts: tuple[Contrast, ...]  # replies to the same context
    command: str
    sources: tuple[InputFile, ...]
    date: str
    aspects: tuple[str, ...]  # other rated aspects
    models: tuple[Trained, ...]
    curves: tuple[AgreementCurve, ...]
    rankings: tuple[Ranking, ...]
    extremes: tuple[SystemExtremes, ...]  # dialogues to read
    occasions: tuple[Occasion, ...]  # dialogues to compare
    cards: Mapping[tuple[str, str], DialogueCard]  # of these dialogues, by id and system
    continuity: tuple[ContinuityTable, ...]
    decisions: tuple[Decision, ...]
    preferences: tuple[PreferenceRanking, ...]
    preferred: tuple[PreferenceAgreement, ...]  # of metrics with these preferences
