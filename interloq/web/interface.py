# SPDX-License-Identifier: Apache-2.0
"""Texts of the interface, in the folder `texts/`: one file per language, all with the same keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import orjson
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

FOLDER = Path(__file__).parent


@cache
def texts(language: str) -> Mapping[str, str]:
    """Texts of the interface in a language."""
    found: dict[str, str] = orjson.loads((FOLDER / "texts" / f"{language}.json").read_bytes())
    return found


@cache
def texts_json(language: str) -> Markup:
    """Texts of the interface for scripts, to be put into a page as they are."""
    return htmlsafe_json_dumps(texts(language))
