# SPDX-License-Identifier: Apache-2.0
"""How often the bots of chats may be asked: a budget per person, per task and for the whole study, in the database.

A call is counted before the bot is asked, whether or not a reply comes, and it stays counted if the person withdraws.
The bots' own attempts to reach a server again are part of one call.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, select, update

from interloq.errors import InputError
from interloq.web.chat.chat_task import NO_LIMIT, Limit, chat_options
from interloq.web.schema import person, task
from interloq.web.studies.questions import StudyTask
from interloq.web.studies.tasks import Stored

PER_TURN = 2  # calls per turn of a person, unless the settings say otherwise: each reply may fail once
_SPENT = select(task.c.id, task.c.calls, task.c.cost, task.c.most_calls, task.c.most_cost)


@dataclass(frozen=True)
class Budget:
    """What was spent, and the limit."""

    calls: int
    cost: float
    limit: Limit

    def allows(self, cost: float) -> bool:
        """Return whether one more call of this cost may be made."""
        return self.calls < self.limit.calls and self.cost + cost <= self.limit.cost * (1 + 1e-9)

    @property
    def state(self) -> str:
        """A text that changes with the limit, with each twentieth of it that is spent, and with its last call."""
        limit = self.limit
        return (
            f"{limit.calls}-{limit.cost}-{[_twentieths(self.calls, limit.calls), _twentieths(self.cost, limit.cost)]}"
        )


def _twentieths(spent: float, most: float) -> int:
    if not most or math.isinf(most):
        return 0
    return math.floor(20 * spent / most)


def person_limit(settings: StudyTask) -> Limit:
    """Return what one person may spend in a chat."""
    options = chat_options(settings)
    conversations = len(options.bots) * max(1, len(options.topics))
    most = min(settings.most_items or conversations, conversations)
    return _with_calls(options.limits.get("person", NO_LIMIT), PER_TURN * settings.turns * most)


def task_limit(settings: StudyTask) -> Limit:
    """Return what all people together may spend in a chat, unless an administrator changed it."""
    options = chat_options(settings)
    conversations = len(options.bots) * max(1, len(options.topics)) * settings.per_item
    return _with_calls(options.limits.get("task", NO_LIMIT), PER_TURN * settings.turns * conversations)


def _with_calls(limit: Limit, default: int) -> Limit:
    """Return the limit, with this number of calls if it names none."""
    if math.isinf(limit.calls):
        return Limit(default, limit.cost)
    return limit


def cost_of(settings: StudyTask, bot: str = "") -> float:
    """Return the most that a call of a bot, or of the cheapest one, costs; infinite if unknown: no limit allows it."""
    options = chat_options(settings)
    if bot:
        return options.costs.get(bot, math.inf)
    return min(options.costs.get(name, math.inf) for name in options.bots)


def task_budget(connection: Connection, stored: Stored) -> Budget:
    """Return the budget of a chat."""
    return _task_budget(stored, connection.execute(_SPENT.where(task.c.id == stored.id)).one())


def study_budget(connection: Connection, limit: Limit) -> Budget:
    """Return the budget of all chats together."""
    return _study_budget(connection.execute(_SPENT).all(), limit)


def _study_budget(rows: Sequence[Any], limit: Limit) -> Budget:
    return Budget(sum(row.calls for row in rows), sum(row.cost for row in rows), limit)


def _task_budget(stored: Stored, row: Any) -> Budget:
    limit = task_limit(stored.settings)
    if row.most_calls is not None:
        limit = replace(limit, calls=row.most_calls)
    if row.most_cost is not None:
        limit = replace(limit, cost=row.most_cost)
    return Budget(row.calls, row.cost, limit)


def set_task_limit(connection: Connection, stored: Stored, calls: int, cost: float | None) -> None:
    """Change what all people together may spend in a chat; without a cost, the cost limit is unchanged."""
    values: dict[str, float] = {"most_calls": calls}
    if cost is not None:
        values["most_cost"] = cost
    connection.execute(update(task).where(task.c.id == stored.id).values(**values))


def spend(connection: Connection, stored: Stored, person_id: int, bot: str, study: Limit) -> bool:
    """Count a call of a bot before it is made; False, without counting it, if a budget does not allow it."""
    cost = cost_of(stored.settings, bot)
    rows = connection.execute(_SPENT.order_by(task.c.id).with_for_update(key_share=True)).all()
    own = connection.execute(select(person.c.calls, person.c.cost).where(person.c.id == person_id)).one()
    budgets = [
        Budget(own.calls, own.cost, person_limit(stored.settings)),
        *(_task_budget(stored, row) for row in rows if row.id == stored.id),
        _study_budget(rows, study),
    ]
    if not all(budget.allows(cost) for budget in budgets):
        return False
    known_cost = cost if math.isfinite(cost) else 0.0
    for table, number in ((person, person_id), (task, stored.id)):
        spent = {"calls": table.c.calls + 1, "cost": table.c.cost + known_cost}
        connection.execute(update(table).where(table.c.id == number).values(**spent))
    return True


def check_costs(tasks: Iterable[StudyTask], study: Limit) -> None:
    """Refuse a limit of cost if the cost of a bot in one of these tasks is unknown."""
    if math.isinf(study.cost):
        return
    for settings in tasks:
        if settings.kind != "chat":
            continue
        options = chat_options(settings)
        if unknown := options.bots.keys() - options.costs.keys():
            hint = 'add "costs" to the options of the chat, or limit the calls alone'
            what = (
                f"the cost of the bot {min(unknown)!r} of {settings.name!r} is unknown, so --max-cost cannot limit it"
            )
            raise InputError(what, hint=hint)
