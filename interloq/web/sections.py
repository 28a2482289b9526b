# SPDX-License-Identifier: Apache-2.0
"""Parts of the figures on administrators' pages: headlines, sections with sentences and a table, numbers as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from interloq.web.interface import LANGUAGES, translated
from interloq.web.roles import Right

NONE = "–"
DECIMALS = 2
ACTIONS: Mapping[str, Right] = {"readmit": "invite", "forget": "delete"}  # on a person
HEADLINE = ("name", "value", "note")  # the texts of a headline


def headline(id: str, name: str, value: str, note: str) -> dict[str, str]:
    """A headline as JSON values."""
    return {"id": id, "name": name, "value": value, "note": note}


def section(
    id: str, title: str, text: Sequence[str], columns: Sequence[str] = (), rows: Sequence[Sequence[Any]] = ()
) -> dict[str, Any]:
    """A section as JSON values."""
    return {"id": id, "title": title, "text": list(text), "columns": list(columns), "rows": [list(row) for row in rows]}


def number(value: float, decimals: int = DECIMALS) -> str:
    """A number with a fixed number of decimals; a dash if it is unknown."""
    return f"{value:z.{decimals}f}".replace("-", "−") if math.isfinite(value) else NONE


def interval(ci: tuple[float, float] | None) -> str:
    """An interval as text; a dash if it is unknown."""
    return f"{number(ci[0])} to {number(ci[1])}" if ci else NONE


def with_allowed_actions(figures: Mapping[str, Any], rights: Collection[Right]) -> dict[str, Any]:
    """The figures of a page with the actions on people that these rights allow.

    Only who may invite people sees their labels and ids; others see pseudonyms.
    """
    sections = [
        {**one, "rows": [[_allowed(cell, rights) for cell in row] for row in one["rows"]]}
        for one in figures["sections"]
    ]
    return {**figures, "sections": sections}


def _allowed(cell: Any, rights: Collection[Right]) -> Any:
    if isinstance(cell, dict) and "identity" in cell:
        identity = cell["identity"] if "invite" in rights else []
        return {"text": cell["text"], "note": " · ".join(filter(None, [*identity, cell["note"]]))}
    if isinstance(cell, dict) and "actions" in cell:
        return {**cell, "actions": [action for action in cell["actions"] if ACTIONS[action] in rights]}
    return cell


def localized(figures: Mapping[str, Any], language: str) -> dict[str, Any]:
    """The figures of a page in another language; names of systems and numbers stay as they are."""
    if language == LANGUAGES[0]:
        return dict(figures)
    say = partial(translated, language)
    headlines = [{**one, **{part: say(one[part]) for part in HEADLINE}} for one in figures["headlines"]]
    sections = [
        {
            **one,
            "title": say(one["title"]),
            "text": [say(sentence) for sentence in one["text"]],
            "columns": [say(column) for column in one["columns"]],
            "rows": [[_reasons(cell, say) for cell in row] for row in one["rows"]],
        }
        for one in figures["sections"]
    ]
    rest = {part: say(figures[part]) for part in ("needed", "warning")}
    return {**figures, "headlines": headlines, "sections": sections, **rest}


def _reasons(cell: Any, say: Callable[[str], str]) -> Any:
    return {"reasons": [say(one) for one in cell["reasons"]]} if isinstance(cell, dict) and "reasons" in cell else cell
