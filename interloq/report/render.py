# SPDX-License-Identifier: Apache-2.0
"""Render the page as one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from interloq.agree.continuity_table import BY_GROUP, MEASURES
from interloq.errors import count
from interloq.rank.ranking import format_range
from interloq.report import text
from interloq.report.page import ReportPage
from interloq.report.plots import (
    continuity_plot,
    convergence_plot,
    plot_points,
    reference_picture,
    reference_steps,
    scale_of,
    survival_plot,
)
from interloq.report.sections.agreement import agreement_scale, format_spread, label, shade
from interloq.report.sections.models import SQUARE, anchor, best_epoch, bin_radius, loss_picture
from interloq.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment


def render(page: ReportPage) -> str:
    """Return the page as HTML; the same page always gives the same bytes."""
    environment = _environment()
    style = environment.get_template("style.css").render()
    script = environment.get_template("script.js").render()
    policy = (  # the browser may use only our style and script, and load nothing
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return environment.get_template("report.html").render(
        page=page,
        style=_mark_trusted(style),
        script=_mark_trusted(script),
        samples=_mark_trusted(_json(page)),
        policy=policy,
    )


FILTERS: dict[str, Callable[..., object]] = {
    "anchor": anchor,
    "best_epoch": best_epoch,
    "bubbles": text.bubbles,
    "coefficient_label": label,
    "continuity_plot": continuity_plot,
    "convergence_plot": convergence_plot,
    "count": count,
    "digits": text.digits,
    "duration": text.duration,
    "estimate": text.estimate,
    "fold": text.fold,
    "interval": text.interval,
    "agreement_scale": agreement_scale,
    "loss_picture": loss_picture,
    "number": text.number,
    "p_value": text.p_value,
    "plot_points": plot_points,
    "radius": bin_radius,
    "rank_range": format_range,
    "reference_picture": reference_picture,
    "reference_steps": reference_steps,
    "scale_of": scale_of,
    "score": text.score,
    "sentence": text.sentence,
    "shade": shade,
    "signed": text.format_signed,
    "sort_key": text.sort_key,
    "spread": format_spread,
    "survival_plot": survival_plot,
    "thousands": text.thousands,
}
TESTS = {"known": text.is_known, "bounded": text.is_bounded}
GLOBALS = {"MEASURES": MEASURES, "BY_GROUP": BY_GROUP, "SQUARE": SQUARE, "VERSION": __version__}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("interloq.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_readable,
    )
    environment.filters.update(FILTERS)
    environment.tests.update(TESTS)
    environment.globals.update(GLOBALS)
    return environment


def _readable(value: object) -> object:
    """Make hidden characters of every printed text visible, before it is escaped; markup is returned unchanged."""
    return text.visible(value) if type(value) is str else value


def _mark_trusted(markup: str) -> object:
    """Mark our own style, script and JSON as markup that is not escaped."""
    from markupsafe import Markup

    return Markup(markup)  # noqa: S704 - never contains user input, except JSON with every < escaped


def _json(page: ReportPage) -> str:
    """Return the samples as JSON that is safe inside <script>: nothing in it can end the element.

    To keep the page small, a system is given as its index among the page's marks.
    """
    import orjson

    place = {mark.system: i for i, mark in enumerate(page.legend)}
    rows = []
    for id, system, *rest in page.samples:
        rows.append([_readable(value) for value in (id, place[str(system)], *rest)])
    data = orjson.dumps(rows).decode()
    for sign in "<>&\u2028\u2029":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    return data


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
