# SPDX-License-Identifier: Apache-2.0
"""Parts of the figures on administrators' pages: headlines, sections with sentences and a table, numbers as text.

Texts are messages until `messages.render` puts them into the language of an administrator; names and numbers are not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from interloq.web.access.roles import Right
from interloq.web.messages import Message, message

NONE = "–"
DECIMALS = 2
ACTIONS: Mapping[str, Right] = {"readmit": "invite", "forget": "delete"}  # on a person
Shown = Message | str


def headline(id: str, name: Shown, value: Shown, note: Shown) -> dict[str, Shown]:
    """Return a headline as JSON values."""
    return {"id": id, "name": name, "value": value, "note": note}


def section(
    id: str, title: Shown, text: Sequence[Shown], columns: Sequence[Shown] = (), rows: Sequence[Sequence[Any]] = ()
) -> dict[str, Any]:
    """Return a section as JSON values."""
    return {"id": id, "title": title, "text": list(text), "columns": list(columns), "rows": [list(row) for row in rows]}


def number(value: float, decimals: int = DECIMALS) -> str:
    """Return a number with a fixed number of decimals; a dash if it is unknown."""
    if not math.isfinite(value):
        return NONE
    return f"{value:z.{decimals}f}".replace("-", "−")


def interval(ci: tuple[float, float] | None) -> Shown:
    """Return an interval; a dash if it is unknown."""
    if not ci:
        return NONE
    return message("range", low=number(ci[0]), high=number(ci[1]))


def with_allowed_actions(figures: Mapping[str, Any], rights: Collection[Right]) -> dict[str, Any]:
    """Return rendered figures with the actions on people that these rights allow.

    Only who may invite people sees their labels and ids; others see pseudonyms.
    """
    sections = []
    for section in figures["sections"]:
        rows = [_allowed_cells(row, rights) for row in section["rows"]]
        sections.append({**section, "rows": rows})
    return {**figures, "sections": sections}


def _allowed_cells(row: Sequence[Any], rights: Collection[Right]) -> list[Any]:
    cells = []
    for cell in row:
        if isinstance(cell, dict) and "identity" in cell:
            identity = cell["identity"] if "invite" in rights else []
            note = " · ".join(filter(None, [*identity, cell["note"]]))
            cells.append({"text": cell["text"], "note": note})
        elif isinstance(cell, dict) and "actions" in cell:
            actions = [action for action in cell["actions"] if ACTIONS[action] in rights]
            cells.append({**cell, "actions": actions})
        else:
            cells.append(cell)
    return cells
