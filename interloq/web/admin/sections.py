# SPDX-License-Identifier: Apache-2.0
"""Parts of the figures on administrators' pages: headlines, sections with sentences and a table, numbers as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from interloq.web.access.roles import Right
from interloq.web.interface import LANGUAGES, translated

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
    if not math.isfinite(value):
        return NONE
    return f"{value:z.{decimals}f}".replace("-", "−")


def interval(ci: tuple[float, float] | None) -> str:
    """An interval as text; a dash if it is unknown."""
    if not ci:
        return NONE
    return f"{number(ci[0])} to {number(ci[1])}"


def with_allowed_actions(figures: Mapping[str, Any], rights: Collection[Right]) -> dict[str, Any]:
    """The figures of a page with the actions on people that these rights allow.

    Only who may invite people sees their labels and ids; others see pseudonyms.
    """
    sections = [_with_cells(one, partial(_allowed, rights)) for one in figures["sections"]]
    return {**figures, "sections": sections}


def _with_cells(section: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a section with every cell of its table changed."""
    return {**section, "rows": [list(map(change, row)) for row in section["rows"]]}


def _allowed(rights: Collection[Right], cell: Any) -> Any:
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
    headlines, sections = [], []
    for english in figures["headlines"]:
        texts = {part: say(english[part]) for part in HEADLINE}
        headlines.append({**english, **texts})
    for english in figures["sections"]:
        section = _with_cells(english, partial(_translate_reasons, say))
        section["title"] = say(english["title"])
        section["text"] = list(map(say, english["text"]))
        section["columns"] = list(map(say, english["columns"]))
        sections.append(section)
    rest = {"needed": say(figures["needed"]), "warning": say(figures["warning"])}
    return {**figures, "headlines": headlines, "sections": sections, **rest}


def _translate_reasons(say: Callable[[str], str], cell: Any) -> Any:
    if isinstance(cell, dict) and "reasons" in cell:
        return {"reasons": list(map(say, cell["reasons"]))}
    return cell
