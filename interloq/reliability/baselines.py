# SPDX-License-Identifier: Apache-2.0
"""What a reliability model is compared with, in words: naive predictions, rules without labels, and adding everything.

The figures are those that a pooled model stores about held-out queries of its training data (`facts["validation"]`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interloq.errors import count


def describe_baselines(validation: Mapping[str, Any]) -> list[str]:
    """Return what was found on held-out queries, one line per comparison."""
    if not validation:
        return []
    queries = count(validation["queries"], "held-out query", "held-out queries")
    errors = ", ".join(f"{name} {_number(value, 4)}" for name, value in validation["error"].items())
    sizes = list(validation["random"])
    ways = {**validation["chosen"], "random": validation["random"]}
    figures = [f"{way} {' / '.join(_number(values[size]) for size in sizes)}" for way, values in ways.items()]
    return [
        f"squared error on {queries}: {errors}",
        f"agreement with people by {' / '.join(sizes)} chosen references: {', '.join(figures)}; "
        f"by all references {_number(validation['all'])}",
    ]


def advise_adding_all(validation: Mapping[str, Any]) -> str:
    """Return whether choosing is expected to be better than adding all replies to a query; empty if that is unknown.

    `against_all` has the difference between chosen references and all of them, by their number, over the same queries.
    """
    differences = validation.get("against_all")
    if not differences:
        return ""
    size, found = max(differences.items(), key=lambda item: float(item[1]["value"]))
    value, low, high = (_number(found[name]) for name in ("value", "low", "high"))
    figures = f"{size} chosen − all: {value} [{low}, {high}]"
    if found["low"] > 0:
        return f"choosing is expected to be better than adding all replies to a query ({figures})"
    return f"adding all replies to a query is expected to be as good as choosing: --add-all ({figures})"


def _number(value: float | None, digits: int = 3) -> str:
    return "n/a" if value is None else f"{value:.{digits}f}"
