# SPDX-License-Identifier: Apache-2.0
"""Figures that only some tasks have: guesses about bots, how long people stayed in chats, and references added.

How blind people were: bots that were taken for people, and bots that were recognised, against chance.

How long people stayed with each bot: Kaplan–Meier curves of conversations that are over. A conversation that the person
ended or left counts as left after its last reply; a conversation that reached the limit of turns is censored there.
With labels 0 and 1 the curves of `rank/survival.py` are this estimate; resamples draw people.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import mean
from typing import Any

from sqlalchemy import Connection, select

from interloq.agree.dialogue_scores import DialogueScore
from interloq.rank.survival import Survival, survival_curves
from interloq.reliability.annotate import DecisionStep
from interloq.statistics.clustered import Proportion
from interloq.terminal.console import p_value
from interloq.web.admin.collected import FinishedPage
from interloq.web.chat.conversations import Chat
from interloq.web.messages import NONE, Message, Shown, headline, interval, message, number, section
from interloq.web.schema import assignment, step
from interloq.web.studies.questions import GUESSED_HUMAN, PERSON_GUESSED_HUMAN, RECOGNISED, Guesses, export_answer
from interloq.web.studies.tasks import Stored

RESAMPLES = 500
MOST_ROWS = 30  # of the table
DECIMALS = 3  # as on the pages of annotators


def guess_sections(pages: Iterable[FinishedPage], guesses: Guesses) -> Iterator[dict[str, Any]]:
    """Yield a section for each kind of guess that a task asks for."""
    pages = list(pages)
    if guesses.human:
        rows = _share_rows(guess_shares(pages, guesses, GUESSED_HUMAN))
        if people := _total(guess_shares(pages, guesses, PERSON_GUESSED_HUMAN)):
            rows.append(_share_row(message("people_who_chatted"), people))
        yield _guess_section("guessed-human", message("person_or_bot"), message("guessed_human"), rows)
    if guesses.names is not None:
        shares = guess_shares(pages, guesses, RECOGNISED)
        rows, text = _share_rows(shares), message("no_guesses")
        if all_bots := _total(shares):
            rows.append(_share_row(message("all_bots"), all_bots))
            chance = 1 / len(guesses.names)
            p = all_bots.p(chance)
            compared = p_value(p) if p < 0.001 else f"= {p_value(p)}"
            text = message("guessed_right", chance=number(chance), p=compared)
        yield _guess_section("recognised", message("recognised"), text, rows)


def _share_rows(shares: Mapping[str, Proportion]) -> list[list[Shown]]:
    return [_share_row(name, share) for name, share in shares.items()]


def _share_row(name: Shown, share: Proportion) -> list[Shown]:
    return [name, number(share.value), interval(share.ci), f"{share.n:,}"]


def _guess_section(id: str, title: Message, text: Message, rows: Sequence[Sequence[Shown]]) -> dict[str, Any]:
    texts = [text, message("guesses_independent")] if rows else [message("no_guesses")]
    columns = [message("system"), message("share"), message("interval_95"), message("guesses")]
    return section(id, title, texts, columns, rows)


def guess_shares(pages: Iterable[FinishedPage], guesses: Guesses, aspect: str) -> dict[str, Proportion]:
    """Return the share of guesses "yes" per system, by the aspect of exports, without attention checks."""
    values: dict[str, list[float]] = {}
    for page in pages:
        if page.correct is not None:
            continue
        for answer in page.answers:
            unit = page.units[answer.unit]
            for name, value, system in export_answer(guesses, answer.aspect, answer.value, unit):
                if name == aspect and value is not None:
                    values.setdefault(system or unit["system"], []).append(value)
    return {system: Proportion(int(sum(yes_or_no)), len(yes_or_no)) for system, yes_or_no in sorted(values.items())}


def _total(shares: Mapping[str, Proportion]) -> Proportion | None:
    """Return one proportion over all systems; None without guesses."""
    yes = n = 0
    for share in shares.values():
        yes += share.yes
        n += share.n
    return Proportion(yes, n) if n else None


def estimate_curves(chats: Iterable[Chat]) -> tuple[Survival, ...]:
    """Return one curve per bot; conversations that are not over are ignored."""
    over = [chat for chat in chats if chat.over]
    rows = [DialogueScore(str(chat.assignment), chat.bot, "", 0.0, "", turns=_labels(chat)) for chat in over]
    return survival_curves(rows, [str(chat.person) for chat in over], n_bootstrap=RESAMPLES)


def _labels(chat: Chat) -> tuple[float, ...]:
    """Return 1 per answered reply, 0 for the last one before the person left, NaN if the limit ended the chat."""
    labels = []
    for place in chat.reply_places:
        label = chat.was_continued(place)
        labels.append(math.nan if label is None else float(label))
    return tuple(labels)


def survival_section(chats: Iterable[Chat], limit: int) -> Iterator[dict[str, Any]]:
    """Yield the curves as a plot and a table; nothing before the first conversation is over."""
    curves = estimate_curves(chats)
    if not curves:
        return
    columns: list[Shown] = [message("reply")]
    expected = []
    for curve in curves:
        system = curve.system
        columns += [system, message("system_interval", system=system), message("system_at_risk", system=system)]
        value, ci = number(curve.expected.value), interval(curve.expected.ci)
        expected.append(message("value_with_interval", system=system, value=value, interval=ci))
    expected_answers = message("survival_expected", replies=curves[0].horizon, systems=expected)
    text = [message("survival_text", turns=limit), expected_answers]
    shown = section("survival", message("survival"), text, columns, _rows(curves))
    yield {**shown, "plot": [{"name": curve.system, "points": _points(curve)} for curve in curves]}


def _rows(curves: Sequence[Survival]) -> list[list[Shown]]:
    """Return one row per turn, or per n-th turn if there are many."""
    turns = list(zip_longest(*(curve.turns for curve in curves)))
    step = math.ceil(len(turns) / MOST_ROWS)
    rows = []
    for i in range(0, len(turns), step):
        cells: list[Shown] = [str(i + 1)]
        for share in turns[i]:
            if share is None:
                cells += [NONE, NONE, NONE]
            else:
                cells += [number(share.value), interval(share.ci), f"{share.n:,}"]
        rows.append(cells)
    return rows


def _points(curve: Survival) -> list[list[float]]:
    """Return value and interval after each turn, from the start; the plot ends where nobody is left."""
    points = [[1.0, 1.0, 1.0]]
    for share in curve.turns:
        if math.isfinite(share.value):
            low, high = share.ci or (share.value, share.value)
            points.append([share.value, low, high])
    return points


@dataclass(frozen=True)
class Outcome:
    """A query that somebody finished: references added, and predictions for the first and the last references."""

    added: int
    edited: int
    before: float | None
    after: float | None


def outcomes(connection: Connection, stored: Stored) -> list[Outcome]:
    """Return all finished queries of a task."""
    steps_of: dict[int, list[DecisionStep]] = {}
    rows = connection.execute(
        select(step.c.assignment_id, step.c.body)
        .join(assignment, assignment.c.id == step.c.assignment_id)
        .where(assignment.c.task_id == stored.id, assignment.c.finished.is_not(None))
        .order_by(step.c.assignment_id, step.c.place)
    )
    for row in rows:
        steps_of.setdefault(row.assignment_id, []).append(DecisionStep(**row.body))
    return [_outcome(steps) for steps in steps_of.values()]


def _outcome(steps: Sequence[DecisionStep]) -> Outcome:
    added = edited = 0
    before = after = steps[0].before
    for step_taken in steps:
        if step_taken.action == "keep":
            added += 1
            edited += step_taken.source == "human"
            after = step_taken.after
    return Outcome(added, edited, before, after)


def references_figures(finished: Sequence[Outcome], warning: str = "") -> tuple[dict[str, Shown], dict[str, Any]]:
    """Return the headline and the section of the page; `warning` is about the model."""
    added = edited = 0
    all_before, all_after = [], []
    for outcome in finished:
        added += outcome.added
        edited += outcome.edited
        if outcome.before is not None and outcome.after is not None:
            all_before.append(outcome.before)
            all_after.append(outcome.after)
    before = after = math.nan
    if all_before:
        before, after = mean(all_before), mean(all_after)
    numbers = [number(value, DECIMALS) for value in (before, after, after - before)]
    text = [message("references_means", queries=len(all_before))]
    if warning:
        text.append(message("about_model", warning=warning))
    keys = ("finished", "references_added", "edited", "mean_before", "mean_after", "change")
    rows = []
    if finished:
        rows.append([f"{len(finished):,}", f"{added:,}", f"{edited:,}", *numbers])
    return (
        headline(
            "reliability", message("predicted_reliability"), numbers[1], message("reliability_before", value=numbers[0])
        ),
        section("reliability", message("references_title"), text, list(map(message, keys)), rows),
    )
