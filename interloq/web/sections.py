# SPDX-License-Identifier: Apache-2.0
"""Parts of the figures on administrators' pages: headlines, sections with sentences and a table, numbers as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

NONE = "–"
DECIMALS = 2


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
