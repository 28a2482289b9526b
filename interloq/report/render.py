# SPDX-License-Identifier: Apache-2.0
"""Renders the page as one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING

from interloq.report.page import ReportPage
from interloq.report.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment


def render(page: ReportPage) -> str:
    """Return the page as HTML; the same page always gives the same bytes."""
    environment = _environment()
    style = environment.get_template("style.css").render()
    script = environment.get_template("script.js").render()
    return environment.get_template("report.html").render(
        page=page,
        style=_trusted(style),
        script=_trusted(script),
        samples=_trusted(_json(page)),
        policy=_policy(style, script),
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("interloq.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_readable,
    )


def _readable(value: object) -> object:
    """Applied to every text that a template prints, before it is escaped; markup is returned unchanged."""
    return visible(value) if type(value) is str else value


def _trusted(text: str) -> object:
    """Our own style, script and JSON: not escaped."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - never contains user input, except JSON with every < escaped


def _json(page: ReportPage) -> str:
    """The samples as JSON that is safe inside <script>: nothing in it can end the element.

    To keep the page small, a system is its place among the page's marks.
    """
    import orjson

    place = {mark.system: i for i, mark in enumerate(page.marks)}
    rows = []
    for id, system, *rest in page.samples:
        rows.append([_readable(value) for value in (id, place[str(system)], *rest)])
    data = orjson.dumps(rows).decode()
    for sign in "<>&\u2028\u2029":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    return data


def _policy(style: str, script: str) -> str:
    """Content security policy: the browser may use only our style and script, and load nothing."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
