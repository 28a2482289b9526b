# SPDX-License-Identifier: Apache-2.0
"""The figures of a task as the administrators' page shows them: headlines, tables and sentences, as JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interloq.agree.table import HumanRow
from interloq.data.pseudonyms import Pseudonyms
from interloq.errors import InputError, count
from interloq.records import Score
from interloq.statistics.clustered import Clustered
from interloq.statistics.estimate import Estimate
from interloq.web.admin import monitor
from interloq.web.admin.blindness import guess_sections
from interloq.web.admin.metric_order import metrics_enough
from interloq.web.admin.monitor import Enough, SystemFigure, Vote
from interloq.web.admin.observed_survival import survival_section
from interloq.web.admin.sections import NONE, headline, interval, number, section
from interloq.web.admin.suspicion import Annotator, annotators
from interloq.web.chat.chat_budget import Budget, cost_of
from interloq.web.chat.conversations import Chat
from interloq.web.references.references_figures import Outcome, references_figures
from interloq.web.studies.guesses import guesses
from interloq.web.studies.questions import Question
from interloq.web.studies.tasks import Stored
from interloq.web.studies.workload import workload
from interloq.web.work.collected import FinishedPage, Person

ACCURACY = "A metric’s accuracy is the share of pairs of replies to one context that it orders as people do."


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
    study_budget: Budget | None = None  # of those of all chats

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
    headlines = [*_counted(task, workers), *_calls(task.budget)]
    survival = survival_section(task.chats, settings.turns)
    sections = [*survival, *guess_sections(task.pages, guessed), _people(task.people, workers, name)]
    if settings.kind == "references":
        reliability, outcomes = references_figures(task.outcomes, str(task.stored.source.get("warning", "")))
        headlines.append(reliability)
        sections.insert(0, outcomes)
    if aspects:
        looked = (task.pages, aspects[0], *monitor.wanted(settings, task.pages, task.clusters))
        enough, ordered = monitor.enough(*looked), metrics_enough(*looked)
        about = f" (by {aspects[0]!r})" if len(aspects) > 1 else ""
        first = [_enough("enough", f"Is it enough?{about}", enough, settings.per_item)]
        if ordered is not None:
            title = f"Is it enough to order the metrics?{about}"
            first.append(_enough("enough-metrics", title, ordered, settings.per_item, [ACCURACY]))
        agreed = {aspect: monitor.agreement(monitor.votes(task.pages, aspect), aspect) for aspect in aspects}
        for question in questions:
            first += _of_question(task, question, agreed[question.aspect])
        headlines += [_alpha(agreed[aspects[0]]), _ranking(enough)]
        sections = first + sections
    return {"headlines": headlines, "sections": sections, **_needed(task)}


# ---- headlines -------------------------------------------------------------------------------------------------------


def _counted(task: Collected, workers: Sequence[Annotator]) -> list[dict[str, str]]:
    suspicious = sum(bool(worker.reasons) for worker in workers)
    return [
        headline("pages", "Finished pages", f"{task.done:,}", f"of {task.wanted:,}"),
        headline("people", "Annotators", f"{len(workers):,}", f"{suspicious:,} to look at"),
    ]


def _calls(budget: Budget | None) -> list[dict[str, str]]:
    if budget is None:
        return []
    limit = budget.limit
    note = f"of {limit.calls:,.0f}"
    if budget.cost or math.isfinite(limit.cost):
        note += f"; cost {budget.cost:.4g}"
    if math.isfinite(limit.cost):
        note += f" of {limit.cost:.4g}"
    return [headline("calls", "Calls of bots", f"{budget.calls:,}", note)]


def _alpha(agreed: HumanRow | None) -> dict[str, str]:
    alpha = agreed.alpha if agreed else Estimate(math.nan, 0, note="nothing was judged twice")
    note = f"95 %: {interval(alpha.ci)}" if alpha.ci else alpha.note
    return headline("alpha", "Krippendorff’s α", number(alpha.value), note)


def _ranking(enough: Enough) -> dict[str, str]:
    return headline("settled", "Ranking", "settled" if enough.settled else "open", _progress(enough))


def _progress(enough: Enough) -> str:
    return f"{enough.complete:,} of {count(enough.items, 'item')} complete"


def _needed(task: Collected) -> dict[str, Any]:
    """Return how many people the task needs, and a warning if fewer are invited."""
    needed = workload(task.stored.settings, task.clusters)
    missing, warning = 0, ""
    if task.invited is not None and task.invited < needed.people and not task.stored.closed and task.done < task.wanted:
        missing = needed.people - task.invited
        invited = f"{count(task.invited, 'person is', 'people are')} invited"
        warning = f"{invited}, but at least {needed.people:,} are needed: nobody gets two pages about one context."
    for budget, name in ((task.budget, "this task"), (task.study_budget, "the study")):
        if budget is not None and not budget.allows(cost_of(task.stored.settings)):
            warning = f"Bots are not asked any more, because the limit of calls or cost of {name} is reached."
    return {"needed": f"This task needs {needed}.", "warning": warning, "missing": missing}


# ---- enough ----------------------------------------------------------------------------------------------------------


def _enough(id: str, title: str, enough: Enough, per_item: int, explained: Sequence[str] = ()) -> dict[str, Any]:
    text = [*_verdict(enough, per_item), *explained]
    rows = [[gap.better, gap.worse, number(gap.difference), interval(gap.interval), "no"] for gap in enough.open_gaps]
    columns = ["Better so far", "Next", "Difference", "Interval", "Separated"] if rows else []
    return section(id, title, text, columns, rows)


def _verdict(enough: Enough, per_item: int) -> list[str]:
    if enough.systems < 2:
        return ["A ranking needs answers about at least two systems."]
    if not enough.first_look:
        return ["The task has too few items for a ranking."]
    if enough.settled:
        order = ", ".join(enough.order)
        return [f"The ranking was settled after {count(enough.looked, 'complete item')}: {order}. You can stop."]
    if not enough.looked:
        return [f"The first look is after {count(enough.first_look, 'complete item')}; {_progress(enough)}."]
    return [
        f"Not settled at the look after {count(enough.looked, 'complete item')}.",
        *_item_text(enough, per_item),
        _more(enough),
    ]


def _item_text(enough: Enough, per_item: int) -> list[str]:
    """What an item is, if it is not one page per annotator."""
    pages = round(enough.pages)
    if pages == per_item:
        return []
    return [f"An item is one context with all its pages, or a page about each system: {count(pages, 'page')}."]


def _more(enough: Enough) -> str:
    if enough.wanted is None:
        return "Those below are equal so far, so no number of items can be named."
    more = max(1, enough.wanted - enough.complete)
    pages = count(math.ceil(more * enough.pages), "page")
    text = f"If the true differences are as seen, about {count(more, 'more item')} ({pages})"
    if enough.wanted > enough.items:
        left = enough.items - enough.complete
        return f"{text} would separate them; this task has {count(left, 'item')} left."
    return f"{text} would separate them."


# ---- questions -------------------------------------------------------------------------------------------------------


def _of_question(task: Collected, question: Question, agreed: HumanRow | None) -> list[dict[str, Any]]:
    aspect, votes = question.aspect, monitor.votes(task.pages, question.aspect)
    sections = [_systems(question, monitor.systems(votes)), _agreement(agreed, aspect)]
    if scores := monitor.scores(task.pages):
        sections.append(_metrics(scores, votes, aspect))
    if gaps := monitor.chatter_gap(task.pages, aspect):
        sections.append(_gaps(gaps, aspect))
    return sections


def _systems(question: Question, systems: Sequence[SystemFigure]) -> dict[str, Any]:
    compared = question.control == "choice"
    low, high, mean_column = question.low, question.high, "Mean"
    if compared:
        low, high, mean_column = 0.0, 1.0, "Wins"
    columns = ["System", mean_column, "95 % interval", "", "Answers"]
    rows = []
    for system in systems:
        mean, ci = system.mean, system.mean.ci_within(low, high)
        bar = _bar(mean.value, ci, low, high)
        rows.append([system.name, number(mean.value), interval(ci), bar, f"{mean.n:,}"])
    text = ["Intervals count each item once, however many people judged it; there is none if all answers are equal."]
    if not systems:
        text = ["No answers yet."]
    elif compared:
        columns += ["Strength", "95 % interval"]
        strengths = [system.strength or Estimate(math.nan, 0) for system in systems]
        for row, strength in zip(rows, strengths, strict=True):
            row += [number(strength.value), interval(strength.ci)]
        text.append("Strengths are Bradley–Terry log-odds: a difference of 1 means odds of e : 1.")
        if strengths[0].note:
            text.append(strengths[0].note)
    return section(f"systems-{question.aspect}", f"Systems: {question.aspect}", text, columns, rows)


def _bar(mean: float, ci: tuple[float, float] | None, low: float, high: float) -> dict[str, Any]:
    """Places of the interval and the mean on the scale, from 0 to 1."""
    first, last = ci or (mean, mean)
    return {"bar": [(place - low) / (high - low) for place in (first, mean, last)]}


def _agreement(agreed: HumanRow | None, aspect: str) -> dict[str, Any]:
    title = f"Agreement: {aspect}"
    if agreed is None:
        return section(f"agreement-{aspect}", title, ["No two people have judged the same thing yet."])
    rows = [_estimate_row("α, interval", agreed.alpha), _estimate_row("α, ordinal", agreed.alpha_ordinal)]
    for name, pairs in agreed.pairwise.items():
        note = f"{count(pairs.annotators, 'pair')} of annotators with three or more in common"
        rows.append(
            [f"pairwise {name}", number(pairs.mean), f"{number(pairs.min)} to {number(pairs.max)} (range)", "", note]
        )
    return section(f"agreement-{aspect}", title, [], ["Measure", "Value", "95 % interval", "Items", "Note"], rows)


def _estimate_row(name: str, estimate: Estimate) -> list[str]:
    return [name, number(estimate.value), interval(estimate.ci), f"{estimate.n:,}", estimate.note]


def _metrics(scores: Sequence[Score], votes: Sequence[Vote], aspect: str) -> dict[str, Any]:
    try:
        correlations = monitor.metric_agreement(scores, votes, aspect)
    except InputError as error:
        return section(f"metrics-{aspect}", f"Metrics: {aspect}", [str(error)])
    rows = [_estimate_row(name, correlation) for name, correlation in correlations.items()]
    text = "No scored reply has been judged yet."
    if rows:
        text = "Spearman’s correlation with the mean judgment so far."
    return section(
        f"metrics-{aspect}",
        f"Metrics: {aspect}",
        [text],
        ["Metric", "Correlation", "95 % interval", "Judged", "Note"],
        rows,
    )


def _gaps(gaps: Mapping[str, Clustered], aspect: str) -> dict[str, Any]:
    rows = [[name, number(gap.value), interval(gap.ci), f"{gap.n:,}"] for name, gap in gaps.items()]
    text = ["Mean rating by the people who chatted minus that by the outsiders of this task."]
    return section(
        f"gap-{aspect}",
        f"Chatters and outsiders: {aspect}",
        text,
        ["System", "Gap", "95 % interval", "Rated by both"],
        rows,
    )


# ---- people ----------------------------------------------------------------------------------------------------------


def _people(people: Sequence[Person], workers: Sequence[Annotator], name: Pseudonyms) -> dict[str, Any]:
    known = {worker.person: worker for worker in workers}
    nobody = Annotator(0, 0, math.nan, 0, 0, math.nan, 0)
    rows = [_person(person, known.get(person.id, nobody), name) for person in people]
    columns = ["Person", "Reasons to look", "Pages", "Seconds per page", "Checks failed", "Agreement", ""]
    text = [
        "Median seconds. Agreement is the correlation with the mean of the others. Nobody is excluded by the program."
    ]
    return section("people", "Annotators", text if rows else ["Nobody has opened an invitation yet."], columns, rows)


def _person(person: Person, work: Annotator, name: Pseudonyms) -> list[Any]:
    pseudonym = name(person.rater)
    checks = f"{work.failed} of {work.checks}" if work.checks else NONE
    note = "withdrew" if person.withdrawn else ""
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
