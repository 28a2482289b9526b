# SPDX-License-Identifier: Apache-2.0
"""Figures of a task of kind references for administrators: references added, and how predictions changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from sqlalchemy import Connection, select

from interloq.reliability.annotate import DecisionStep
from interloq.web.admin.sections import Shown, headline, number, section
from interloq.web.messages import message
from interloq.web.schema import assignment, step
from interloq.web.studies.tasks import Stored

DECIMALS = 3  # as on the pages of annotators


@dataclass(frozen=True)
class Outcome:
    """A query that somebody finished: references added, and predictions for the first and the last references."""

    added: int
    edited: int
    before: float | None
    after: float | None


def outcomes(connection: Connection, stored: Stored) -> list[Outcome]:
    """All finished queries of a task."""
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
            "reliability",
            message("predicted_reliability"),
            numbers[1],
            message("reliability_before", value=numbers[0]),
        ),
        section("reliability", message("references_title"), text, list(map(message, keys)), rows),
    )
