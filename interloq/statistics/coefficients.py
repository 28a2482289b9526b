# SPDX-License-Identifier: Apache-2.0
"""The coefficients of a table: Pearson's, Spearman's and Kendall's, or any user-defined function `corr(x, y)`.

A function takes two vectors of equal length and returns a number, or a scipy result with a `statistic`. It must not
depend on the scale of its arguments, because they are standardised over systems and in permutation tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from interloq.errors import InputError, nearest
from interloq.statistics.estimate import COEFFICIENTS, Array

Correlation = Callable[[Array, Array], Any]
Coefficients = Mapping[str, str | Correlation]  # name in the table → name of a built-in coefficient, or a function
BUILT_IN: Coefficients = {name: name for name in COEFFICIENTS}


def chosen(asked: Coefficients | Iterable[str | Correlation]) -> Coefficients:
    """Check and name coefficients given as a mapping from names to functions, or as a list of names and functions."""
    if isinstance(asked, str) or callable(asked):
        asked = [asked]
    pairs = asked.items() if isinstance(asked, Mapping) else [(_name(one), one) for one in asked]
    by_name: dict[str, str | Correlation] = {}
    for name, one in pairs:
        if not (callable(one) or one in COEFFICIENTS):
            raise InputError(
                f"unknown coefficient {one!r}{nearest(str(one), COEFFICIENTS)}", hint="or give a function corr(x, y)"
            )
        if name in by_name:
            raise InputError(
                f"two coefficients are called {name!r}", hint="rename one: coefficients={'mine': function}"
            )
        by_name[name] = one
    if not by_name:
        raise InputError("no coefficient is given", hint=f"built in: {', '.join(COEFFICIENTS)}")
    return by_name


def signature_part(coefficients: Coefficients) -> str:
    """Text that names the coefficients in a signature; empty for the built-in ones."""
    if coefficients == BUILT_IN:
        return ""
    return ",".join(one if isinstance(one, str) else f"{name}={_path(one)}" for name, one in coefficients.items())


def number(function: Correlation, x: Array, y: Array) -> float:
    """Value of a user-defined function for two vectors; NaN if it is not finite."""
    returned = function(x, y)
    value: Any = getattr(returned, "statistic", returned)
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise InputError(f"coefficient {_name(function)!r} must return a number, got {value!r:.60}") from None
    return value if math.isfinite(value) else math.nan


def _name(one: str | Correlation) -> str:
    return one if isinstance(one, str) else getattr(one, "__name__", type(one).__name__)


def _path(function: Correlation) -> str:
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', _name(function))}"
