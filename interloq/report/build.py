# SPDX-License-Identifier: Apache-2.0
"""From records and results to the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from interloq.agree.dialogue_scores import DialogueScore, Extremes
from interloq.agree.disagreements import Disagreements
from interloq.agree.labels.continuity_table import ContinuityTable
from interloq.agree.metric_similarity import Matrix
from interloq.agree.table import MetaTable
from interloq.compare.comparison import Comparison
from interloq.compare.gate.gate import Gate
from interloq.errors import InputError, count
from interloq.rank.human_preferences import PreferenceAgreement, PreferenceRanking
from interloq.rank.ranking import Ranking
from interloq.records import NO_SYSTEM, Dialogue, Key, Note, Sample, SampleKeys, Score, format_key
from interloq.reliability.curve import AgreementCurve
from interloq.reliability.weak_references import Predictions
from interloq.report import text
from interloq.report.elements import Mark, Name
from interloq.report.filters import filters
from interloq.report.page import DisagreementReading, Fact, InputFile, Notice, ReportPage, SampleRow, Scatter
from interloq.report.report_options import TITLE
from interloq.report.sections.agreement import agreement
from interloq.report.sections.continuity import continuity
from interloq.report.sections.curves import Trained, model
from interloq.report.sections.decisions import decision
from interloq.report.sections.dialogues import dialogue_readings, rank_table
from interloq.report.sections.heat_map import heat_map
from interloq.report.sections.largest_disagreements import reading
from interloq.report.sections.notices import judges, notices, orders_users, weak_references
from interloq.report.sections.overview import mean_judgments, overview
from interloq.report.sections.preferences import preference_table
from interloq.report.sections.reference_curves import reference_curve
from interloq.report.sections.sample_rows import WHOLE, Places, listed, sample_note, sample_row
from interloq.report.sections.scatter import JudgedSample, drawn, points_per_plot, scatter
from interloq.report.sections.scores import SystemScore, complete, score_tables
from interloq.report.sections.side_by_side import contexts, contrasts, dialogue_contrasts
from interloq.version import __version__

COLOURS = SHAPES = 8


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
    names = _names(evidence)
    marks = _marks(_systems(evidence))
    results = complete(evidence.results, evidence.scores)
    who = judges(samples, aspect)
    dialogues = {dialogue.id: dialogue for dialogue in evidence.dialogues}
    scored = _by_metric(evidence.scores, names)
    places = Places(contexts(samples), filters(samples, evidence.slice_by))
    rows, scatters = _samples(evidence, samples, names, marks, scored, places)
    agreement_section, heat_map_section = None, None
    if evidence.table and evidence.judgments:
        agreement_section = agreement(evidence.table, names, who)
    if evidence.matrix and len(evidence.matrix.names) > 1:
        heat_map_section = heat_map(evidence.matrix, names)
    rankings = sorted(evidence.rankings, key=lambda ranking: list(names).index(ranking.metric))
    rated_aspects: set[str] = set()
    for sample in samples:
        rated_aspects.update(rating.aspect for rating in sample.ratings)
    return ReportPage(
        title=title,
        aspect=aspect,
        judges=who,
        facts=_facts(samples, names, evidence.table, aspect, who),
        notices=_notices(evidence, samples, results, names, aspect),
        overview=overview(
            results,
            mean_judgments(evidence.judgments, samples),
            evidence.table,
            names,
            marks,
            who,
            evidence.lower_is_better,
        ),
        marks=tuple(marks[s] for s in sorted({s.system for s in samples})),
        scores=score_tables(results, names, marks),
        agreement=agreement_section,
        scatters=scatters,
        heat_map=heat_map_section,
        readings=_readings(evidence, samples, names, marks, aspect),
        samples=rows,
        sample_note=sample_note(len(rows), len(samples)),
        filters=places.filters,
        contrasts=contrasts(samples, places.contexts, evidence.judgments, scored, marks),
        version=__version__,
        command=command,
        sources=tuple(sources),
        date=date,
        aspects=tuple(sorted(rated_aspects - {aspect})),
        models=tuple(map(model, evidence.models)),
        reference_curves=tuple(map(reference_curve, evidence.curves)),
        rankings=tuple(rank_table(r, names[r.metric], marks) for r in rankings),
        continuity=tuple(map(continuity, evidence.continuity)),
        preferences=tuple(preference_table(r, evidence.preferred, names, marks) for r in evidence.preferences),
        decisions=tuple(map(decision, evidence.comparisons)),
        dialogues=dialogue_readings(evidence.extremes, dialogues, evidence.scores, names, marks),
        dialogue_contrasts=dialogue_contrasts(evidence.contrasts, dialogues, evidence.scores, names, marks),
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


def identified(scores: Iterable[Score], samples: Iterable[Sample]) -> list[Score]:
    """Return the scores with their systems; a score without one gets its sample's if the id is unique."""
    known = SampleKeys(sample.key for sample in samples)
    identified_scores = []
    for score in scores:
        key = known.find(score.id, score.system)
        if key is not None and key != score.key:
            score = replace(score, system=key[1])
        identified_scores.append(score)
    return identified_scores


def _by_metric(scores: Iterable[Score], names: Iterable[str]) -> dict[str, dict[Key, float]]:
    values = columns(scores)
    return {metric: values.get(metric, {}) for metric in names}


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


def _names(evidence: Evidence) -> dict[str, Name]:
    """Metrics in the order of the results, then those that have only sample scores, by name."""
    with_results = dict.fromkeys(result.metric for result in evidence.results)
    rest = sorted({score.metric for score in evidence.scores} - with_results.keys())
    return {metric: text.name(metric, i) for i, metric in enumerate([*with_results, *rest], start=1)}


def _marks(systems: set[str]) -> dict[str, Mark]:
    """Colour and shape of each system; shapes shift after every 8 systems, so 64 systems look different."""
    order = [*sorted(systems - {"", NO_SYSTEM}), NO_SYSTEM]
    marks = {}
    for i, system in enumerate(order):
        marks[system] = Mark(system, i % COLOURS, (i + i // COLOURS) % SHAPES)
    return {**marks, "": marks[NO_SYSTEM]}


def _notices(
    evidence: Evidence,
    samples: Sequence[Sample],
    results: Sequence[SystemScore],
    names: Mapping[str, Name],
    aspect: str,
) -> tuple[Notice, ...]:
    warnings = [*notices(samples, evidence.scores, results, names, aspect, evidence.unranked, evidence.notes)]
    warnings += weak_references(evidence.predictions, samples)
    if evidence.table:
        warnings += orders_users(evidence.table.users)
    return tuple(warnings)


def _facts(
    samples: Sequence[Sample], names: Mapping[str, Name], table: MetaTable | None, aspect: str, who: str
) -> tuple[Fact, ...]:
    systems = {s.system for s in samples} - {""}
    facts = []
    for n, noun in ((len(samples), "sample"), (len(systems), "system"), (len(names), "metric")):
        number, _, label = count(n, noun).partition(" ")
        facts.append(Fact(number, label))
    judgments, kind = 0, "judgments"
    if table and table.counted.judgments:
        judgments, kind = table.counted.judgments, who
        if who == "people":
            kind = "judgments by people"
    return (*facts, Fact(f"{judgments:,}", f"{kind}, aspect {aspect}"))


def _samples(
    evidence: Evidence,
    samples: Sequence[Sample],
    names: Mapping[str, Name],
    marks: Mapping[str, Mark],
    scored: Mapping[str, Mapping[Key, float]],
    places: Places,
) -> tuple[tuple[SampleRow, ...], tuple[Scatter, ...]]:
    """Return the rows of the sample table, and the plots, whose points refer to them."""
    people, most = evidence.judgments, points_per_plot(len(names))
    judged = [JudgedSample(s.key, people[s.key]) for s in samples if s.key in people]
    used: set[Key] = set()
    for column in scored.values():
        used.update(point.key for point in drawn(judged, column, most))
    shown = listed(samples, used)
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
    for metric, name in names.items():
        plot = scatter(name, tested.get(metric), judged, scored[metric], marks, index, most)
        if plot.groups:
            plots.append(plot)
    return tuple(rows), tuple(plots)


def _readings(
    evidence: Evidence, samples: Sequence[Sample], names: Mapping[str, Name], marks: Mapping[str, Mark], aspect: str
) -> tuple[DisagreementReading, ...]:
    by_key = {s.key: s for s in samples}
    weak = evidence.predictions.weak(by_key)
    readings = []
    for metric, name in names.items():
        largest = evidence.disagreements.get(metric)
        if largest and (largest.over or largest.under):
            readings.append(reading(name, largest, by_key, marks, aspect, weak))
    return tuple(readings)
