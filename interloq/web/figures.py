# SPDX-License-Identifier: Apache-2.0
"""The figures of a task as the administrators' page shows them: headlines, tables and sentences, as JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interloq.data.pseudonyms import Pseudonyms
from interloq.errors import InputError, count
from interloq.meta.table import Estimate, HumanRow
from interloq.records import Score
from interloq.statistics.clustered import Clustered
from interloq.web import monitor
from interloq.web.blindness import guess_sections
from interloq.web.chat import Chat
from interloq.web.chat_budget import Budget, cost_of
from interloq.web.collected import Page, Person
from interloq.web.guesses import guesses
from interloq.web.metric_order import metrics_enough
from interloq.web.monitor import Enough, SystemFigure, Vote
from interloq.web.observed_survival import survival_section
from interloq.web.questions import Question
from interloq.web.references_figures import Outcome, references_figures
from interloq.web.sections import NONE, headline, interval, number, section
from interloq.web.suspicion import Annotator, annotators
from interloq.web.tasks import Stored
from interloq.web.workload import workload

ACCURACY = "A metric’s accuracy is the share of pairs of replies to one context that it orders as people do."


@dataclass(frozen=True)
class Collected:
    """Everything that figures of a task are computed from."""

    stored: Stored
    pages: Sequence[Page]
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


def figures(found: Collected, name: Pseudonyms) -> dict[str, Any]:
    """Headlines and sections of the page."""
    settings = found.stored.settings
    guessed = guesses(settings)
    questions = [question for question in settings.questions if question.aspect not in guessed.aspects()]
    aspects = [question.aspect for question in questions]
    workers = annotators(found.pages, aspects, least_seconds=settings.least_seconds)
    headlines = [*_counted(found, workers), *_calls(found.budget)]
    survival = survival_section(found.chats, settings.turns)
    sections = [*survival, *guess_sections(found.pages, guessed), _people(found.people, workers, name)]
    if settings.kind == "references":
        shown, one = references_figures(found.outcomes, str(found.stored.source.get("warning", "")))
        headlines, sections = [*headlines, shown], [one, *sections]
    if aspects:
        looked = (found.pages, aspects[0], *monitor.wanted(settings, found.pages, found.clusters))
        enough, ordered = monitor.enough(*looked), metrics_enough(*looked)
        agreed = {one: monitor.agreement(monitor.votes(found.pages, one), one) for one in aspects}
        headlines += [_alpha(agreed[aspects[0]]), _ranking(enough)]
        asked = [one for question in questions for one in _of_question(found, question, agreed)]
        about = f" (by {aspects[0]!r})" if len(aspects) > 1 else ""
        first = [_enough("enough", f"Is it enough?{about}", enough, settings.per_item)]
        if ordered is not None:
            title = f"Is it enough to order the metrics?{about}"
            first.append(_enough("enough-metrics", title, ordered, settings.per_item, [ACCURACY]))
        sections = [*first, *asked, *sections]
    return {"headlines": headlines, "sections": sections, **_needed(found)}


# ---- headlines -------------------------------------------------------------------------------------------------------


def _counted(found: Collected, workers: Sequence[Annotator]) -> list[dict[str, str]]:
    suspicious = sum(bool(one.reasons) for one in workers)
    return [
        headline("pages", "Finished pages", f"{found.done:,}", f"of {found.wanted:,}"),
        headline("people", "Annotators", f"{len(workers):,}", f"{suspicious:,} to look at"),
    ]


def _calls(budget: Budget | None) -> list[dict[str, str]]:
    if budget is None:
        return []
    limit = budget.limit
    note = f"of {limit.calls:,.0f}"
    if budget.cost or math.isfinite(limit.cost):
        note += f"; cost {budget.cost:.4g}" + (f" of {limit.cost:.4g}" if math.isfinite(limit.cost) else "")
    return [headline("calls", "Calls of bots", f"{budget.calls:,}", note)]


def _alpha(agreed: HumanRow | None) -> dict[str, str]:
    alpha = agreed.alpha if agreed else Estimate(math.nan, 0, note="nothing was judged twice")
    note = f"95 %: {interval(alpha.ci)}" if alpha.ci else alpha.note
    return headline("alpha", "Krippendorff’s α", number(alpha.value), note)


def _ranking(enough: Enough) -> dict[str, str]:
    return headline("settled", "Ranking", "settled" if enough.settled else "open", _progress(enough))


def _progress(enough: Enough) -> str:
    return f"{enough.complete:,} of {count(enough.items, 'item')} complete"


def _needed(found: Collected) -> dict[str, Any]:
    """How many people the task needs, and a warning if fewer are invited."""
    needed = workload(found.stored.settings, found.clusters)
    over = found.stored.closed or found.done >= found.wanted or found.invited is None
    missing = 0 if over else max(0, needed.people - (found.invited or 0))
    invited = count(found.invited or 0, "person is", "people are")
    warning = f"{invited} invited, but at least {needed.people:,} are needed: nobody gets two pages about one context."
    if not missing:
        warning = ""
    for budget, name in ((found.budget, "this task"), (found.study_budget, "the study")):
        if budget is not None and not budget.allows(cost_of(found.stored.settings)):
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


def _of_question(found: Collected, question: Question, agreed: Mapping[str, HumanRow | None]) -> list[dict[str, Any]]:
    aspect, votes = question.aspect, monitor.votes(found.pages, question.aspect)
    sections = [_systems(question, monitor.systems(votes)), _agreement(agreed[aspect], aspect)]
    if scores := monitor.scores(found.pages):
        sections.append(_metrics(scores, votes, aspect))
    if gaps := monitor.chatter_gap(found.pages, aspect):
        sections.append(_gaps(gaps, aspect))
    return sections


def _systems(question: Question, found: Sequence[SystemFigure]) -> dict[str, Any]:
    compared = question.control == "choice"
    low, high = (0.0, 1.0) if compared else (question.low, question.high)
    columns = ["System", "Wins" if compared else "Mean", "95 % interval", "", "Answers"]
    rows = [
        [one.name, number(one.mean.value), interval(ci), _bar(one.mean.value, ci, low, high), f"{one.mean.n:,}"]
        for one, ci in ((one, one.mean.ci_within(low, high)) for one in found)
    ]
    text = ["Intervals count each item once, however many people judged it; there is none if all answers are equal."]
    if compared and found:
        columns += ["Strength", "95 % interval"]
        for row, one in zip(rows, found, strict=True):
            strength = one.strength or Estimate(math.nan, 0)
            row += [number(strength.value), interval(strength.ci)]
        text.append("Strengths are Bradley–Terry log-odds: a difference of 1 means odds of e : 1.")
        text += [found[0].strength.note] if found[0].strength and found[0].strength.note else []
    return section(
        f"systems-{question.aspect}",
        f"Systems: {question.aspect}",
        text if found else ["No answers yet."],
        columns,
        rows,
    )


def _bar(mean: float, ci: tuple[float, float] | None, low: float, high: float) -> dict[str, Any]:
    """Places of the interval and the mean on the scale, from 0 to 1."""
    first, last = ci or (mean, mean)
    return {"bar": [(place - low) / (high - low) for place in (first, mean, last)]}


def _agreement(found: HumanRow | None, aspect: str) -> dict[str, Any]:
    title = f"Agreement: {aspect}"
    if found is None:
        return section(f"agreement-{aspect}", title, ["No two people have judged the same thing yet."])
    rows = [
        [name, number(one.value), interval(one.ci), f"{one.n:,}", one.note]
        for name, one in (("α, interval", found.alpha), ("α, ordinal", found.alpha_ordinal))
    ]
    for name, pairs in found.pairwise.items():
        note = f"{count(pairs.annotators, 'pair')} of annotators with three or more in common"
        rows.append(
            [f"pairwise {name}", number(pairs.mean), f"{number(pairs.min)} to {number(pairs.max)} (range)", "", note]
        )
    return section(f"agreement-{aspect}", title, [], ["Measure", "Value", "95 % interval", "Items", "Note"], rows)


def _metrics(scores: Sequence[Score], votes: Sequence[Vote], aspect: str) -> dict[str, Any]:
    try:
        found = monitor.metric_agreement(scores, votes, aspect)
    except InputError as error:
        return section(f"metrics-{aspect}", f"Metrics: {aspect}", [str(error)])
    rows = [[name, number(one.value), interval(one.ci), f"{one.n:,}", one.note] for name, one in found.items()]
    text = (
        ["Spearman’s correlation with the mean judgment so far."] if rows else ["No scored reply has been judged yet."]
    )
    return section(
        f"metrics-{aspect}",
        f"Metrics: {aspect}",
        text,
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
    known = {one.person: one for one in workers}
    nobody = Annotator(0, 0, math.nan, 0, 0, math.nan, 0)
    rows = [_person(one, known.get(one.id, nobody), name) for one in people]
    columns = ["Person", "Reasons to look", "Pages", "Seconds per page", "Checks failed", "Agreement", ""]
    text = [
        "Median seconds. Agreement is the correlation with the mean of the others. Nobody is excluded by the program."
    ]
    return section("people", "Annotators", text if rows else ["Nobody has opened an invitation yet."], columns, rows)


def _person(one: Person, work: Annotator, name: Pseudonyms) -> list[Any]:
    checks = f"{work.failed} of {work.checks}" if work.checks else NONE
    shown = name(one.rater)
    return [
        {"text": shown, "identity": [one.label, one.participant], "note": "withdrew" if one.withdrawn else ""},
        {"reasons": list(work.reasons)},
        f"{work.pages:,}",
        number(work.seconds, 1),
        checks,
        number(work.correlation),
        {"person": one.id, "name": shown, "actions": ["readmit", "forget"] if one.participant else ["forget"]},
    ]
