# SPDX-License-Identifier: Apache-2.0
"""From records and results to the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from interloq.agree.continuity_table import ContinuityTable
from interloq.agree.dialogue_scores import DialogueScore, Extremes
from interloq.agree.disagreements import Disagreements
from interloq.agree.judgments import aspects
from interloq.agree.metric_similarity import Matrix
from interloq.agree.table import MetaTable
from interloq.compare.comparison import Comparison
from interloq.compare.gate.gate import Gate
from interloq.errors import InputError, count
from interloq.rank.human_preferences import PreferenceAgreement, PreferenceRanking
from interloq.rank.ranking import Ranking
from interloq.records import Dialogue, Key, Note, Sample, SampleKeys, Score, format_key
from interloq.reliability.curve import AgreementCurve
from interloq.reliability.weak_references import Predictions
from interloq.report.marks import Name, mark_systems, name_metrics
from interloq.report.page import Fact, InputFile, Occasion, ReportPage, SystemExtremes
from interloq.report.report_options import TITLE
from interloq.report.sections.agreement import order_matrix
from interloq.report.sections.decisions import decision
from interloq.report.sections.dialogues import DialogueCard, dialogue_cards
from interloq.report.sections.models import Trained
from interloq.report.sections.notices import Notice, name_judges, note_user_orders, note_weak_references, notices
from interloq.report.sections.overview import mean_judgments, overview
from interloq.report.sections.samples import (
    WHOLE,
    Places,
    SampleRow,
    list_samples,
    sample_filters,
    sample_note,
    sample_row,
)
from interloq.report.sections.scatter import JudgedSample, Scatter, choose_points, points_per_plot, scatter
from interloq.report.sections.scores import SystemScore, complete_results, score_tables
from interloq.report.sections.side_by_side import find_contrasts, name_contexts


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that a report shows, already computed."""

    samples: Sequence[Sample]
    scores: Sequence[Score]
    results: Sequence[SystemScore] = ()
    notes: Sequence[Note] | None = None  # notes on the data from the score files; None if they have none
    judgments: Mapping[Key, float] = field(default_factory=dict)  # people's mean by sample
    table: MetaTable | None = None
    matrix: Matrix | None = None
    disagreements: Mapping[str, Disagreements] = field(default_factory=dict)  # by metric
    models: Sequence[Trained] = ()  # models that the scores depend on
    rankings: Sequence[Ranking] = ()
    dialogues: Sequence[Dialogue] = ()  # those that `extremes` names
    extremes: Mapping[str, Mapping[str, Extremes]] = field(default_factory=dict)  # by metric and system
    contrasts: Mapping[str, Sequence[Sequence[DialogueScore]]] = field(default_factory=dict)  # occasions by metric
    unranked: Mapping[str, str] = field(default_factory=dict)  # metrics that systems cannot be ranked by, and why
    curves: Sequence[AgreementCurve] = ()  # of metrics, as references are added
    predictions: Predictions = field(default_factory=Predictions)  # of how reliable references are
    continuity: Sequence[ContinuityTable] = ()  # how well replies are predicted
    comparisons: Sequence[Comparison | Gate] = ()  # of two versions, whose verdicts come first
    preferences: Sequence[PreferenceRanking] = ()  # systems by people's preferences, one per aspect
    preferred: Sequence[PreferenceAgreement] = ()  # of metrics with these preferences
    lower_is_better: bool | None = None  # None: as each metric defines it
    slice_by: Sequence[str] | None = None  # fields to filter samples by; None: those that `interloq compare` slices by


def build(
    evidence: Evidence,
    *,
    title: str = TITLE,
    aspect: str = "overall",
    command: str = "",
    sources: Sequence[InputFile] = (),
    date: str = "",
) -> ReportPage:
    """Build the page, which does not depend on the order of samples and scores."""
    samples = sorted(evidence.samples, key=lambda s: s.key)
    sample_of = {sample.key: sample for sample in samples}
    with_results = dict.fromkeys(result.metric for result in evidence.results)
    only_scored = sorted({score.metric for score in evidence.scores} - with_results.keys())
    names = name_metrics([*with_results, *only_scored])
    marks = mark_systems(_systems(evidence))
    results = complete_results(evidence.results, evidence.scores)
    who, judgments = name_judges(samples, aspect), mean_judgments(evidence.judgments, samples)
    judged = [evidence.judgments] if evidence.judgments else []
    values = columns(evidence.scores)
    scored = {metric: values.get(metric, {}) for metric in names}
    places = Places(name_contexts(samples), sample_filters(samples, evidence.slice_by))
    sample_rows, scatters = _samples(evidence, samples, scored, places)
    extremes, occasions = _dialogues(evidence, names)
    return ReportPage(
        title=title,
        aspect=aspect,
        judges=who,
        facts=_facts(samples, names, evidence.table, aspect, who),
        notices=_notices(evidence, samples, results, names, aspect),
        names=names,
        marks=marks,
        legend=tuple(marks[system] for system in sorted({sample.system for sample in samples})),
        overview=overview(results, judgments, evidence.table, names, who, evidence.lower_is_better),
        scores=score_tables(results, names),
        agreement=_agreement(evidence, names),
        scatters=scatters,
        matrix=_matrix(evidence, names),
        disagreements=_disagreements(evidence, names),
        sample_of=sample_of,
        weak=evidence.predictions.weak(sample_of),
        columns=(*judged, *scored.values()),
        samples=sample_rows,
        sample_note=sample_note(len(sample_rows), len(samples)),
        filters=places.filters,
        contrasts=find_contrasts(samples, places.contexts, evidence.judgments, scored),
        command=command,
        sources=tuple(sources),
        date=date,
        aspects=tuple(sorted(aspects(samples).keys() - {aspect})),
        models=tuple(evidence.models),
        curves=tuple(evidence.curves),
        rankings=tuple(sorted(evidence.rankings, key=lambda ranking: names[ranking.metric].number)),
        extremes=extremes,
        occasions=occasions,
        cards=_cards(evidence, names, extremes, occasions),
        continuity=tuple(table.with_labels() for table in evidence.continuity),
        decisions=tuple(map(decision, evidence.comparisons)),
        preferences=tuple(evidence.preferences),
        preferred=tuple(evidence.preferred),
    )


def _systems(evidence: Evidence) -> set[str]:
    """Return the names of all systems that the page mentions."""
    systems = {sample.system for sample in evidence.samples}
    systems.update(result.system for result in evidence.results)
    for ranking in evidence.rankings:
        systems.update(standing.system for standing in ranking.standings)
    for preferences in evidence.preferences:
        systems.update(strength.system for strength in preferences.systems)
    return systems


def identify_scores(scores: Iterable[Score], samples: Iterable[Sample]) -> list[Score]:
    """Return the scores with their systems; a score without a system gets its sample's if the id is unique."""
    known = SampleKeys(sample.key for sample in samples)
    identified_scores = []
    for score in scores:
        key = known.find(score.id, score.system)
        if key is not None and key != score.key:
            score = replace(score, system=key[1])
        identified_scores.append(score)
    return identified_scores


def columns(scores: Iterable[Score]) -> dict[str, dict[Key, float]]:
    """Return values by metric and sample; two different scores of a sample by one metric are refused."""
    table: dict[str, dict[Key, float]] = {}
    seen: dict[tuple[str, Key], float | None] = {}
    for score in scores:
        first = seen.setdefault((score.metric, score.key), score.value)
        if first != score.value:
            raise InputError(
                f"{score.metric} gives {format_key(score.key)} two different scores: {first} and {score.value}",
                hint="report on one run of a metric at a time",
            )
        column = table.setdefault(score.metric, {})
        if score.value is not None:
            column[score.key] = score.value
    return table


def _notices(
    evidence: Evidence,
    samples: Sequence[Sample],
    results: Sequence[SystemScore],
    names: Mapping[str, Name],
    aspect: str,
) -> tuple[Notice, ...]:
    warnings = [*notices(samples, evidence.scores, results, names, aspect, evidence.unranked, evidence.notes)]
    warnings += note_weak_references(evidence.predictions, samples)
    if evidence.table:
        warnings += note_user_orders(evidence.table.users)
    return tuple(warnings)


def _facts(
    samples: Sequence[Sample], names: Mapping[str, Name], table: MetaTable | None, aspect: str, who: str
) -> tuple[Fact, ...]:
    systems = {sample.system for sample in samples} - {""}
    facts = []
    for n, noun in ((len(samples), "sample"), (len(systems), "system"), (len(names), "metric")):
        facts.append(Fact(n, count(n, noun).partition(" ")[2]))
    judgments, kind = 0, "judgments"
    if table and table.counted.judgments:
        judgments, kind = table.counted.judgments, who
        if who == "people":
            kind = "judgments by people"
    return (*facts, Fact(judgments, f"{kind}, aspect {aspect}"))


def _samples(
    evidence: Evidence, samples: Sequence[Sample], scored: Mapping[str, Mapping[Key, float]], places: Places
) -> tuple[tuple[SampleRow, ...], tuple[Scatter, ...]]:
    """Return the rows of the sample table, and the plots, whose points refer to them."""
    people, most = evidence.judgments, points_per_plot(len(scored))
    judged = [JudgedSample(s.key, people[s.key]) for s in samples if s.key in people]
    used: set[Key] = set()
    for column in scored.values():
        used.update(point.key for point in choose_points(judged, column, most))
    shown = list_samples(samples, used)
    values = [people, *scored.values()]
    rows, index = [], {}
    for i, sample in enumerate(shown):
        index[sample.key] = i
        is_whole = len(shown) <= WHOLE or sample.key in used
        rows.append(sample_row(sample, values, places, is_whole=is_whole))
    tested = {}
    if evidence.table:
        tested = {row.metric: row for row in evidence.table.rows}
    plots = []
    for metric, column in scored.items():
        plot = scatter(metric, tested.get(metric), judged, column, index, most)
        if plot.groups:
            plots.append(plot)
    return tuple(rows), tuple(plots)


def _agreement(evidence: Evidence, names: Mapping[str, Name]) -> MetaTable | None:
    """Return the agreement with people, with metrics in the order of the page."""
    if not evidence.table or not evidence.judgments:
        return None
    rows = sorted(evidence.table.rows, key=lambda row: names[row.metric].number)
    return replace(evidence.table, rows=tuple(rows))


def _matrix(evidence: Evidence, names: Iterable[str]) -> Matrix | None:
    if not evidence.matrix or len(evidence.matrix.names) < 2:
        return None
    return order_matrix(evidence.matrix, names)


def _disagreements(evidence: Evidence, names: Iterable[str]) -> dict[str, Disagreements]:
    """Return the disagreements of the metrics that have any, in the order of the page."""
    by_metric = {}
    for metric in names:
        largest = evidence.disagreements.get(metric)
        if largest and (largest.over or largest.under):
            by_metric[metric] = largest
    return by_metric


def _dialogues(evidence: Evidence, metrics: Iterable[str]) -> tuple[tuple[SystemExtremes, ...], tuple[Occasion, ...]]:
    """Return the dialogues to read and the dialogues to compare, by metric in the order of the page."""
    extremes: list[SystemExtremes] = []
    occasions: list[Occasion] = []
    for metric in metrics:
        by_system = evidence.extremes.get(metric, {})
        extremes += [(metric, system, by_system[system]) for system in sorted(by_system)]
        occasions += [(metric, rows) for rows in evidence.contrasts.get(metric, ())]
    return tuple(extremes), tuple(occasions)


def _cards(
    evidence: Evidence, metrics: Iterable[str], extremes: Iterable[SystemExtremes], occasions: Iterable[Occasion]
) -> dict[tuple[str, str], DialogueCard]:
    """Return all of these dialogues as they are shown."""
    rows: list[DialogueScore] = []
    for _, _, dialogues in extremes:
        rows += (*dialogues.best, *dialogues.worst)
    for _, occasion in occasions:
        rows += occasion
    by_id = {dialogue.id: dialogue for dialogue in evidence.dialogues}
    return dialogue_cards(rows, by_id, evidence.scores, metrics)
