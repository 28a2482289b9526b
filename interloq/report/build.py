# SPDX-License-Identifier: Apache-2.0
"""From records and results to the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from interloq.errors import InputError
from interloq.meta.comparison import Comparison
from interloq.meta.continuity_table import ContinuityTable
from interloq.meta.dialogue_scores import DialogueScore, Extremes
from interloq.meta.disagreements import Disagreements
from interloq.meta.gate import Gate
from interloq.meta.human_preferences import PreferenceAgreement, PreferenceRanking
from interloq.meta.matrix import Matrix
from interloq.meta.ranking import Ranking
from interloq.meta.table import MetaTable
from interloq.records import NO_SYSTEM, Dialogue, Key, Note, Sample, SampleKeys, Score, format_key
from interloq.reliability.curve import Curve
from interloq.reliability.summary import Predictions
from interloq.report import text
from interloq.report.agreement import agreement
from interloq.report.continuity import continuity
from interloq.report.curves import Trained, model
from interloq.report.decisions import decision
from interloq.report.dialogues import dialogue_readings, rank_table
from interloq.report.elements import Mark, Name
from interloq.report.filters import filters
from interloq.report.heat_map import heat_map
from interloq.report.notices import judges, notices, orders_users, weak_references
from interloq.report.overview import mean_judgments, overview
from interloq.report.page import TITLE, Fact, Notice, Page, Reading, SampleRow, Scatter, Source
from interloq.report.preferences import preference_table
from interloq.report.reading import reading
from interloq.report.reference_curves import reference_curve
from interloq.report.sample_rows import WHOLE, Places, listed, sample_note, sample_row
from interloq.report.scatter import Drawn, drawn, points_per_plot, scatter
from interloq.report.scores import SystemScore, complete, score_tables
from interloq.report.side_by_side import contexts, contrasts, dialogue_contrasts
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
    curves: Sequence[Curve] = ()  # of metrics, as references are added
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
    sources: Sequence[Source] = (),
    date: str = "",
) -> Page:
    """The page, independent of the order of samples and scores."""
    samples = sorted(evidence.samples, key=lambda s: s.key)
    names = _names(evidence)
    marks = _marks(_systems(evidence))
    results = complete(evidence.results, evidence.scores)
    who = judges(samples, aspect)
    dialogues = {dialogue.id: dialogue for dialogue in evidence.dialogues}
    scored = _by_metric(evidence.scores, names)
    places = Places(contexts(samples), filters(samples, evidence.slice_by))
    rows, scatters = _samples(evidence, samples, names, marks, scored, places)
    return Page(
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
        agreement=agreement(evidence.table, names, who) if evidence.table and evidence.judgments else None,
        scatters=scatters,
        heat_map=heat_map(evidence.matrix, names) if evidence.matrix and len(evidence.matrix.names) > 1 else None,
        readings=_readings(evidence, samples, names, marks, aspect),
        samples=rows,
        sample_note=sample_note(len(rows), len(samples)),
        filters=places.filters,
        contrasts=contrasts(samples, places.contexts, evidence.judgments, scored, marks),
        version=__version__,
        command=command,
        sources=tuple(sources),
        date=date,
        aspects=tuple(sorted({r.aspect for s in samples for r in s.ratings} - {aspect})),
        models=tuple(model(trained) for trained in evidence.models),
        reference_curves=tuple(reference_curve(curve) for curve in evidence.curves),
        rankings=tuple(rank_table(r, names[r.metric], marks) for r in _in_order(evidence.rankings, names)),
        continuity=tuple(continuity(table) for table in evidence.continuity),
        preferences=tuple(preference_table(one, evidence.preferred, names, marks) for one in evidence.preferences),
        decisions=tuple(decision(found) for found in evidence.comparisons),
        dialogues=dialogue_readings(evidence.extremes, dialogues, evidence.scores, names, marks),
        dialogue_contrasts=dialogue_contrasts(evidence.contrasts, dialogues, evidence.scores, names, marks),
    )


def _systems(evidence: Evidence) -> set[str]:
    """Names of all systems that the page mentions."""
    ranked = {standing.system for ranking in evidence.rankings for standing in ranking.standings}
    preferred = {one.system for ranking in evidence.preferences for one in ranking.systems}
    return {s.system for s in evidence.samples} | {r.system for r in evidence.results} | ranked | preferred


def identified(scores: Iterable[Score], samples: Iterable[Sample]) -> list[Score]:
    """Scores with their systems; a score without one gets the system of its sample if the id is unique."""
    known = SampleKeys(sample.key for sample in samples)
    keys = ((score, known.find(score.id, score.system)) for score in scores)
    return [score if key in (None, score.key) else replace(score, system=key[1]) for score, key in keys]


def _by_metric(scores: Iterable[Score], names: Iterable[str]) -> dict[str, dict[Key, float]]:
    found = columns(scores)
    return {metric: found.get(metric, {}) for metric in names}


def columns(scores: Iterable[Score]) -> dict[str, dict[Key, float]]:
    """Values by metric and sample; two different scores of a sample by one metric are refused."""
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


def _in_order(rankings: Sequence[Ranking], names: Mapping[str, Name]) -> list[Ranking]:
    order = list(names)
    return sorted(rankings, key=lambda ranking: order.index(ranking.metric))


def _marks(systems: set[str]) -> dict[str, Mark]:
    """Colour and shape of each system; shapes shift after every 8 systems, so 64 systems look different."""
    order = [*sorted(systems - {"", NO_SYSTEM}), NO_SYSTEM]
    marks = {system: Mark(system, i % COLOURS, (i + i // COLOURS) % SHAPES) for i, system in enumerate(order)}
    return {**marks, "": marks[NO_SYSTEM]}


def _notices(
    evidence: Evidence,
    samples: Sequence[Sample],
    results: Sequence[SystemScore],
    names: Mapping[str, Name],
    aspect: str,
) -> tuple[Notice, ...]:
    return (
        *notices(samples, evidence.scores, results, names, aspect, evidence.unranked, evidence.notes),
        *weak_references(evidence.predictions, samples),
        *(orders_users(evidence.table.users) if evidence.table else ()),
    )


def _facts(
    samples: Sequence[Sample], names: Mapping[str, Name], table: MetaTable | None, aspect: str, who: str
) -> tuple[Fact, ...]:
    systems = {s.system for s in samples} - {""}
    counts = [(len(samples), "sample"), (len(systems), "system"), (len(names), "metric")]
    facts = [Fact(f"{n:,}", one if n == 1 else one + "s") for n, one in counts]
    if table and table.counted.judgments:
        kind = "judgments by people" if who == "people" else who
        return (*facts, Fact(f"{table.counted.judgments:,}", f"{kind}, aspect {aspect}"))
    return (*facts, Fact("0", f"judgments, aspect {aspect}"))


def _samples(
    evidence: Evidence,
    samples: Sequence[Sample],
    names: Mapping[str, Name],
    marks: Mapping[str, Mark],
    scored: Mapping[str, Mapping[Key, float]],
    places: Places,
) -> tuple[tuple[SampleRow, ...], tuple[Scatter, ...]]:
    """The rows of the sample table, and the plots, whose points refer to them."""
    people, most = evidence.judgments, points_per_plot(len(names))
    judged = [Drawn(s.key, people[s.key]) for s in samples if s.key in people]
    used = {point.key for column in scored.values() for point in drawn(judged, column, most)}
    shown = listed(samples, used)
    index = {s.key: i for i, s in enumerate(shown)}
    values = [people, *scored.values()]
    is_whole = {s.key: len(shown) <= WHOLE or s.key in used for s in shown}
    rows = (sample_row(s, values, places, is_whole=is_whole[s.key]) for s in shown)
    tested = {row.metric: row for row in evidence.table.rows} if evidence.table else {}
    plots = (scatter(n, tested.get(m), judged, scored[m], marks, index, most) for m, n in names.items())
    return tuple(rows), tuple(plot for plot in plots if plot.groups)


def _readings(
    evidence: Evidence, samples: Sequence[Sample], names: Mapping[str, Name], marks: Mapping[str, Mark], aspect: str
) -> tuple[Reading, ...]:
    by_key = {s.key: s for s in samples}
    weak = evidence.predictions.weak(by_key)
    found = ((name, evidence.disagreements.get(metric)) for metric, name in names.items())
    return tuple(reading(name, d, by_key, marks, aspect, weak) for name, d in found if d and (d.over or d.under))
