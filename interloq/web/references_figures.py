# SPDX-License-Identifier: Apache-2.0
"""Figures of a task of kind references for administrators: references added, and how predictions changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from sqlalchemy import Connection, select

from interloq.errors import count
from interloq.reliability.decisions import Step
from interloq.web.schema import assignment, step
from interloq.web.sections import headline, number, section
from interloq.web.tasks import Stored

DECIMALS = 3  # as on the pages of annotators
CHOSEN = (
    "People see the prediction when they choose, so a rise says little by itself: whether a metric agrees better with "
    "people can be seen on rated samples only."
)


@dataclass(frozen=True)
class Outcome:
    """A query that somebody finished: references added, and predictions for the first and the last references."""

    added: int
    edited: int
    before: float | None
    after: float | None


def outcomes(connection: Connection, stored: Stored) -> list[Outcome]:
    """All finished queries of a task."""
    found: dict[int, list[Step]] = {}
    rows = connection.execute(
        select(step.c.assignment_id, step.c.body)
        .join(assignment, assignment.c.id == step.c.assignment_id)
        .where(assignment.c.task_id == stored.id, assignment.c.finished.is_not(None))
        .order_by(step.c.assignment_id, step.c.place)
    )
    for row in rows:
        found.setdefault(row.assignment_id, []).append(Step(**row.body))
    return [_outcome(steps) for steps in found.values()]


def _outcome(steps: Sequence[Step]) -> Outcome:
    kept = [one for one in steps if one.action == "keep"]
    before = steps[0].before
    return Outcome(len(kept), sum(one.source == "human" for one in kept), before, kept[-1].after if kept else before)


def references_figures(found: Sequence[Outcome], warning: str = "") -> tuple[dict[str, str], dict[str, Any]]:
    """The headline and the section of the page; `warning` is about the model."""
    known = [(one.before, one.after) for one in found if one.before is not None and one.after is not None]
    before, after = (mean(values) for values in zip(*known, strict=True)) if known else (float("nan"),) * 2
    numbers = [number(value, DECIMALS) for value in (before, after, after - before)]
    added, edited = sum(one.added for one in found), sum(one.edited for one in found)
    text = [f"Means over {count(len(known), 'finished query', 'finished queries')} with predictions. {CHOSEN}"]
    text += [f"About the model: {warning}."] if warning else []
    columns = ["Finished", "References added", "Edited", "Mean before", "Mean after", "Change"]
    rows = [[f"{len(found):,}", f"{added:,}", f"{edited:,}", *numbers]] if found else []
    return (
        headline("reliability", "Predicted reliability", numbers[1], f"{numbers[0]} before"),
        section("reliability", "References and their predicted reliability", text, columns, rows),
    )
