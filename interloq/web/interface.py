# SPDX-License-Identifier: Apache-2.0
"""Texts of the interface, in the folder `texts/`: one file per language, all with the same keys.

Texts of administrators' pages are in English in the templates, scripts and figures. Files `admin_*.json` have their
translations by the English text, in which {name} stands for any text (a number if it counts something) and (s) for an
optional s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import orjson
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

FOLDER = Path(__file__).parent
LANGUAGES = ("en", "ja", "zh")
NUMBERS = (
    "answers", "checks", "done", "items", "left", "n", "needed", "pages", "people", "per_item", "records", "total",
    "wanted",
)  # fmt: skip
_PLACE = re.compile(r"\{(\w+)\}")


@cache
def texts(language: str) -> Mapping[str, str]:
    """Texts of the interface in a language."""
    by_key: dict[str, str] = orjson.loads((FOLDER / "texts" / f"{language}.json").read_bytes())
    return by_key


@cache
def texts_json(language: str) -> Markup:
    """Texts of the interface for scripts, to be put into a page as they are."""
    return htmlsafe_json_dumps(texts(language))


def preferred(languages: str) -> str:
    """The first language of the header Accept-Language that the interface has; otherwise English."""
    for part in languages.split(","):
        language = part.split(";")[0].strip()[:2].lower()
        if language in LANGUAGES:
            return language
    return LANGUAGES[0]


@cache
def admin_texts(language: str) -> Mapping[str, str]:
    """Translations of administrators' pages by the English text; none for English."""
    path = FOLDER / "texts" / f"admin_{language}.json"
    if not path.exists():
        return {}
    by_english: dict[str, str] = orjson.loads(path.read_bytes())
    return by_english


@cache
def admin_texts_json(language: str) -> Markup:
    """Translations of administrators' pages for scripts."""
    return htmlsafe_json_dumps(admin_texts(language))


def filled(language: str, english: str, **values: object) -> str:
    """A text of administrators' pages with its placeholders filled in."""
    return _with(admin_texts(language).get(english, english), values)


def _with(text: str, values: Mapping[str, object]) -> str:
    return _PLACE.sub(lambda place: str(values.get(place[1], place[0])), text)


def translated(language: str, english: str) -> str:
    """A text whose placeholders are filled in already; English if there is no translation."""
    if english in admin_texts(language):
        return admin_texts(language)[english]
    for pattern, text in _patterns(language):
        if match := pattern.fullmatch(english):
            return _with(text, match.groupdict())
    return english


@cache
def _patterns(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Translations with placeholders; those with more text of their own first."""
    some = [(english, text) for english, text in admin_texts(language).items() if _PLACE.search(english)]
    some.sort(key=lambda pair: -len(_PLACE.sub("", pair[0])))
    return [(re.compile(_pattern(english)), text) for english, text in some]


def _pattern(english: str) -> str:
    pattern = ""
    for i, part in enumerate(_PLACE.split(english)):  # text and names in turn
        if i % 2 == 0:
            pattern += re.escape(part).replace(r"\(s\)", "s?")
        else:
            value = "[0-9,]+" if part in NUMBERS else ".+?"
            pattern += f"(?P<{part}>{value})"
    return pattern
