# SPDX-License-Identifier: Apache-2.0
"""The figures of a task as the administrators' page shows them: headlines, tables and sentences, as JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interloq.agree.table import HumanRow
from interloq.data.pseudonyms import Pseudonyms
from interloq.errors import InputError
from interloq.records import Score
from interloq.statistics.correlation import TWO_POINTS
from interloq.statistics.estimate import Estimate
from interloq.web.admin import monitor
from interloq.web.admin.annotator_checks import Annotator, annotators
from interloq.web.admin.collected import FinishedPage, Person
from interloq.web.admin.kind_figures import Outcome, guess_sections, references_figures, survival_section
from interloq.web.admin.monitor import SystemFigure, Vote
from interloq.web.admin.stop import Enough, count_wanted_items, look_at_metrics, look_at_systems
from interloq.web.chat.chat_budget import Budget, cost_of
from interloq.web.chat.conversations import Chat
from interloq.web.messages import NONE, Message, Shown, headline, interval, message, number, section
from interloq.web.references.rating_task import KIND as REFERENCES_RATING
from interloq.web.studies.questions import Question, guesses
from interloq.web.studies.tasks import Stored, workload

NOTES = {  # of the statistics below, which write them in English
    "constant judgments": message("constant_judgments"),
    "constant scores": message("constant_scores"),
    "constant scores and judgments": message("constant_scores_and_judgments"),
    "0 points: nothing to correlate": message("too_few_points", points=0),
    "1 point: nothing to correlate": message("too_few_points", points=1),
    TWO_POINTS: message("two_points"),
    "some systems were never compared, not even through others": message("never_compared"),
}


@dataclass(frozen=True)
class Collected:
    """Everything that figures of a task are computed from."""

    stored: Stored
    pages: Sequence[FinishedPage]
    clusters: Mapping[str, int]
    people: Sequence[Person]
    invited: int | None = None  # people who can take part; None: anybody with the link of a crowd platform
    outcomes: Sequence[Outcome] = ()  # finished queries of a task of kind references
    chats: Sequence[Chat] = ()
    budget: Budget | None = None  # of the bots of a chat
    study_budget: Budget | None = None  # of the bots of all chats

    @property
    def done(self) -> int:
        """Finished pages without attention checks."""
        return sum(page.correct is None for page in self.pages)

    @property
    def wanted(self) -> int:
        """Pages that should be finished."""
        return sum(self.clusters.values()) * self.stored.settings.per_item


def figures(task: Collected, name: Pseudonyms) -> dict[str, Any]:
    """Return the headlines and sections of the page."""
    settings = task.stored.settings
    guessed = guesses(settings)
    questions = [question for question in settings.questions if question.aspect not in guessed.aspects()]
    aspects = [question.aspect for question in questions]
    workers = annotators(task.pages, aspects, least_seconds=settings.least_seconds)
    suspicious = sum(bool(worker.reasons) for worker in workers)
    headlines = [
        headline("pages", message("finished_pages"), f"{task.done:,}", message("of_wanted", wanted=task.wanted)),
        headline("people", message("annotators"), f"{len(workers):,}", message("to_look_at", n=suspicious)),
        *_calls(task.budget),
    ]
    survival = survival_section(task.chats, settings.turns)
    sections = [*survival, *guess_sections(task.pages, guessed), _people(task.people, workers, name)]
    if settings.kind == "references":
        reliability, outcomes = references_figures(task.outcomes, str(task.stored.source.get("warning", "")))
        headlines.append(reliability)
        sections.insert(0, outcomes)
    if aspects:
        agreed = {aspect: monitor.agreement(monitor.votes(task.pages, aspect), aspect) for aspect in aspects}
        headlines.append(_alpha(agreed[aspects[0]]))
        answered = [section for question in questions for section in _of_question(task, question, agreed)]
        if settings.kind != REFERENCES_RATING:  # whose references belong to no system
            settled, enough = _look(task, aspects)
            headlines.append(settled)
            answered = enough + answered
        sections = answered + sections
    return {"headlines": headlines, "sections": sections, **_describe_need(task)}


def _look(task: Collected, aspects: Sequence[str]) -> tuple[dict[str, Shown], list[dict[str, Any]]]:
    """Return a headline and sections that say whether the rankings by the first aspect are settled."""
    settings = task.stored.settings
    looked = (task.pages, aspects[0], *count_wanted_items(settings, task.pages, task.clusters))
    enough, ordered = look_at_systems(*looked), look_at_metrics(*looked)
    sections = [_enough("enough", _by_aspect("enough", aspects), enough, settings.per_item)]
    if ordered is not None:
        title = _by_aspect("enough_metrics", aspects)
        sections.append(_enough("enough-metrics", title, ordered, settings.per_item, [message("metric_accuracy")]))
    state = message("settled" if enough.settled else "open")
    progress = message("items_complete", done=enough.complete, items=enough.items)
    return headline("settled", message("ranking"), state, progress), sections


def _by_aspect(key: str, aspects: Sequence[str]) -> Message:
    """Return a title that names the first aspect if there are several."""
    if len(aspects) == 1:
        return message(key)
    return message(f"{key}_by", aspect=repr(aspects[0]))


def _calls(budget: Budget | None) -> list[dict[str, Shown]]:
    if budget is None:
        return []
    limit, cost = budget.limit, f"{budget.cost:.4g}"
    calls = f"{limit.calls:,.0f}"
    if math.isfinite(limit.cost):
        note = message("calls_cost_of", wanted=calls, cost=cost, most=f"{limit.cost:.4g}")
    elif budget.cost:
        note = message("calls_cost", wanted=calls, cost=cost)
    else:
        note = message("calls_of", wanted=calls)
    return [headline("calls", message("calls"), f"{budget.calls:,}", note)]


def _alpha(agreed: HumanRow | None) -> dict[str, Shown]:
    if agreed is None:
        return headline("alpha", message("alpha"), NONE, message("alpha_unknown"))
    alpha = agreed.alpha
    note = message("alpha_interval", interval=interval(alpha.ci)) if alpha.ci else NOTES.get(alpha.note, alpha.note)
    return headline("alpha", message("alpha"), number(alpha.value), note)


def _describe_need(task: Collected) -> dict[str, Any]:
    """Return how many people the task needs, and a warning if fewer are invited."""
    needed = workload(task.stored.settings, task.clusters)
    missing = 0
    warning: Shown = ""
    if task.invited is not None and task.invited < needed.people and not task.stored.closed and task.done < task.wanted:
        missing = needed.people - task.invited
        warning = message("too_few_invited", n=task.invited, needed=needed.people)
    for budget, reached in ((task.budget, "task_limit_reached"), (task.study_budget, "study_limit_reached")):
        if budget is not None and not budget.allows(cost_of(task.stored.settings)):
            warning = message(reached)
    text = message("task_needs", people=needed.people, pages=needed.pages)
    return {"needed": text, "warning": warning, "missing": missing}


def _enough(
    id: str, title: Message, enough: Enough, per_item: int, explanations: Sequence[Message] = ()
) -> dict[str, Any]:
    columns: list[Message] = []
    rows = []
    for gap in enough.open_gaps:
        columns = list(map(message, ("better_so_far", "next", "difference", "interval", "separated")))
        difference, ci = number(gap.difference), interval(gap.interval)
        rows.append([gap.better, gap.worse, difference, ci, message("not_separated")])
    return section(id, title, [*_verdict(enough, per_item), *explanations], columns, rows)


def _verdict(enough: Enough, per_item: int) -> list[Message]:
    if enough.systems < 2:
        return [message("enough_systems")]
    if not enough.first_look:
        return [message("enough_items")]
    if enough.settled:
        return [message("enough_settled", n=enough.looked, order=", ".join(enough.order))]
    if not enough.looked:
        return [message("enough_first_look", n=enough.first_look, done=enough.complete, items=enough.items)]
    verdict = [message("enough_not_settled", n=enough.looked)]
    pages = round(enough.pages)
    if pages != per_item:
        verdict.append(message("enough_item", pages=pages))
    verdict.append(_more(enough))
    return verdict


def _more(enough: Enough) -> Message:
    """Return how many more items would separate the systems."""
    if enough.wanted is None:
        return message("enough_equal")
    more = max(1, enough.wanted - enough.complete)
    pages = math.ceil(more * enough.pages)
    if enough.wanted > enough.items:
        return message("enough_more_than_left", n=more, pages=pages, left=enough.items - enough.complete)
    return message("enough_more", n=more, pages=pages)


def _of_question(task: Collected, question: Question, agreed: Mapping[str, HumanRow | None]) -> list[dict[str, Any]]:
    aspect, votes = question.aspect, monitor.votes(task.pages, question.aspect)
    names = message("system"), message("systems_by", aspect=aspect)
    if task.stored.settings.kind == REFERENCES_RATING:
        names = message("source"), message("sources_by", aspect=aspect)
    sections = [_systems(question, monitor.systems(votes), *names), _agreement(agreed[aspect], aspect)]
    if scores := monitor.scores(task.pages):
        sections.append(_metrics(scores, votes, aspect))
    if gaps := monitor.chatter_gap(task.pages, aspect):
        rows = [[name, number(gap.value), interval(gap.ci), f"{gap.n:,}"] for name, gap in gaps.items()]
        columns = list(map(message, ("system", "gap", "interval_95", "rated_by_both")))
        title = message("gaps_by", aspect=aspect)
        sections.append(section(f"gap-{aspect}", title, [message("gap_text")], columns, rows))
    return sections


def _systems(question: Question, systems: Sequence[SystemFigure], name: Message, title: Message) -> dict[str, Any]:
    """Return the figures of each system, or of the references from each source."""
    compared = question.control == "choice"
    low, high, mean_column = question.low, question.high, "mean"
    if compared:
        low, high, mean_column = 0.0, 1.0, "wins"
    columns: list[Shown] = [name, message(mean_column), message("interval_95"), "", message("answers")]
    rows: list[list[Any]] = []
    for system in systems:
        mean, ci = system.mean, system.mean.ci_within(low, high)
        first, last = ci or (mean.value, mean.value)
        places = [(place - low) / (high - low) for place in (first, mean.value, last)]  # on the scale, from 0 to 1
        rows.append([system.name, number(mean.value), interval(ci), {"bar": places}, f"{mean.n:,}"])
    text: list[Shown] = [message("intervals_count_items")]
    if not systems:
        text = [message("no_answers")]
    elif compared:
        columns += [message("strength"), message("interval_95")]
        strengths = [system.strength or Estimate(math.nan, 0) for system in systems]
        for row, strength in zip(rows, strengths, strict=True):
            row += [number(strength.value), interval(strength.ci)]
        text.append(message("strengths_are_log_odds"))
        if strengths[0].note:
            text.append(NOTES.get(strengths[0].note, strengths[0].note))
    return section(f"systems-{question.aspect}", title, text, columns, rows)


def _agreement(agreed: HumanRow | None, aspect: str) -> dict[str, Any]:
    id, title = f"agreement-{aspect}", message("agreement_by", aspect=aspect)
    if agreed is None:
        return section(id, title, [message("nothing_judged_twice")])
    rows = [
        _estimate_row(message("alpha_interval_scale"), agreed.alpha),
        _estimate_row(message("alpha_ordinal_scale"), agreed.alpha_ordinal),
    ]
    for coefficient, pairs in agreed.pairwise.items():
        reach = message("pairwise_range", low=number(pairs.min), high=number(pairs.max))
        note = message("pairs_of_annotators", pairs=pairs.annotators)
        rows.append([message("pairwise", coefficient=coefficient), number(pairs.mean), reach, "", note])
    return section(id, title, [], list(map(message, ("measure", "value", "interval_95", "items", "note"))), rows)


def _estimate_row(name: Shown, estimate: Estimate) -> list[Shown]:
    note = NOTES.get(estimate.note, estimate.note)
    return [name, number(estimate.value), interval(estimate.ci), f"{estimate.n:,}", note]


def _metrics(scores: Sequence[Score], votes: Sequence[Vote], aspect: str) -> dict[str, Any]:
    id, title = f"metrics-{aspect}", message("metrics_by", aspect=aspect)
    try:
        correlations = monitor.metric_agreement(scores, votes, aspect)
    except InputError as error:
        return section(id, title, [str(error)])
    rows = [_estimate_row(name, correlation) for name, correlation in correlations.items()]
    text = message("spearman" if rows else "nothing_scored")
    return section(
        id, title, [text], list(map(message, ("metric", "correlation", "interval_95", "judged", "note"))), rows
    )


def _people(people: Sequence[Person], workers: Sequence[Annotator], name: Pseudonyms) -> dict[str, Any]:
    known = {worker.person: worker for worker in workers}
    nobody = Annotator(0, 0, math.nan, 0, 0, math.nan, 0)
    rows = [_person(person, known.get(person.id, nobody), name) for person in people]
    keys = ("person", "reasons", "pages", "seconds", "checks_failed", "agreement")
    text = message("people_text" if rows else "nobody_came")
    return section("people", message("annotators"), [text], [*map(message, keys), ""], rows)


def _person(person: Person, work: Annotator, name: Pseudonyms) -> list[Any]:
    pseudonym = name(person.rater)
    checks = message("done_of_wanted", done=work.failed, wanted=work.checks) if work.checks else NONE
    note = message("withdrew") if person.withdrawn else ""
    actions = ["forget"]
    if person.participant:
        actions.insert(0, "readmit")
    return [
        {"text": pseudonym, "identity": [person.label, person.participant], "note": note},
        {"reasons": list(work.reasons)},
        f"{work.pages:,}",
        number(work.seconds, 1),
        checks,
        number(work.correlation),
        {"person": person.id, "name": pseudonym, "actions": actions},
    ]
