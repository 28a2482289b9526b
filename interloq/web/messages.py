# SPDX-License-Identifier: Apache-2.0
"""Texts of the interface: keys with values, rendered in the visitor's language; and figures that contain them.

The folder `texts/` has one file per language for annotators (`ja.json`) and one for administrators (`admin_ja.json`);
all languages have the same keys and placeholders. In administrators' texts, `{pages}` is replaced by a value, and
`{pages:page|pages}` by a number with its noun in the singular or plural.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

FOLDER = Path(__file__).parent
LANGUAGES = ("en", "ja", "zh")
ADMIN = "admin_"  # start of the names of administrators' files
NONE = "–"  # an unknown number
DECIMALS = 2
_PLACEHOLDER = re.compile(r"\{(\w+)(?::([^|{}]*)\|([^|{}]*))?\}")


@dataclass(frozen=True)
class Message:
    """A text for administrators in no language yet; its values may be messages as well."""

    key: str
    values: Mapping[str, Any]


Shown = Message | str  # names and numbers are the same in every language


def message(key: str, **values: Any) -> Message:
    """Return the text with this key and these values of its placeholders."""
    return Message(key, values)


def render(content: Any, language: str) -> Any:
    """Return JSON values, or one message, with all messages in a language; other texts are unchanged."""
    if isinstance(content, Message):
        return say(language, content.key, **content.values)
    if isinstance(content, Mapping):
        return {name: render(value, language) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [render(value, language) for value in content]
    return content


def say(language: str, key: str, **values: Any) -> str:
    """Return a text for administrators with its placeholders filled in."""

    def fill(placeholder: re.Match[str]) -> str:
        name, singular, plural = placeholder.groups()
        value = render(values[name], language)
        if isinstance(value, list):
            return by_key["between_values"].join(value)
        text = f"{value:,}" if isinstance(value, int) else str(value)
        if plural is None:
            return text
        return f"{text} {singular if value == 1 else plural}"

    by_key = texts(language, ADMIN)
    return _PLACEHOLDER.sub(fill, by_key[key])


@cache
def texts(language: str, audience: str = "") -> Mapping[str, str]:
    """Return the texts for annotators, or for administrators with `ADMIN`, by key."""
    by_key: dict[str, str] = orjson.loads((FOLDER / "texts" / f"{audience}{language}.json").read_bytes())
    return by_key


@cache
def texts_json(language: str, audience: str = "") -> Markup:
    """Return the texts for scripts, to be put into a page unchanged."""
    return htmlsafe_json_dumps(texts(language, audience))


def choose_language(languages: str) -> str:
    """Return the first language of the header Accept-Language that the interface has; otherwise English."""
    for part in languages.split(","):
        language = part.split(";")[0].strip()[:2].lower()
        if language in LANGUAGES:
            return language
    return LANGUAGES[0]


def headline(id: str, name: Shown, value: Shown, note: Shown) -> dict[str, Shown]:
    """Return a headline as JSON values."""
    return {"id": id, "name": name, "value": value, "note": note}


def section(
    id: str, title: Shown, text: Sequence[Shown], columns: Sequence[Shown] = (), rows: Sequence[Sequence[Any]] = ()
) -> dict[str, Any]:
    """Return a section as JSON values."""
    return {"id": id, "title": title, "text": list(text), "columns": list(columns), "rows": [list(row) for row in rows]}


def number(value: float, decimals: int = DECIMALS) -> str:
    """Format a number with a fixed number of decimals; return a dash if it is unknown."""
    if not math.isfinite(value):
        return NONE
    return f"{value:z.{decimals}f}".replace("-", "−")


def interval(ci: tuple[float, float] | None) -> Shown:
    """Format an interval; return a dash if it is unknown."""
    if not ci:
        return NONE
    return message("range", low=number(ci[0]), high=number(ci[1]))
