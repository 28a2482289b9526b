# SPDX-License-Identifier: Apache-2.0
"""The registry of logs that can be imported: each format is a module with the names below.

`NAME`, `KEEPS` (for people), `WITHIN` (names of arrays that have the values; optional), `matches(value)`, and
`exchanges(value, around)`, which yields what it finds in a value (`exchange.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from interloq.errors import InputError, nearest

# in the order in which they are recognised: forms that many tools have are last
_MODULES = {
    "inspect": "inspect_logs",
    "promptfoo": "promptfoo",
    "langsmith": "langsmith",
    "langfuse": "langfuse",
    "otel": "otel_spans",
    "openai": "openai_logs",
    "anthropic": "anthropic_logs",
    "sharegpt": "sharegpt",
    "helpdesk": "help_desk",
}
NAMES = tuple(_MODULES)


@cache
def log_format(name: str) -> ModuleType:
    """Return the module of a format."""
    if name not in _MODULES:
        raise InputError(f"unknown format {name!r}{nearest(name, NAMES)}")
    return import_module(f"interloq.data.tool_logs.{_MODULES[name]}")


def arrays(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the arrays that have a format's values; those of all formats without a name."""
    names = [name] if name else NAMES
    return tuple({path for each in names for path in getattr(log_format(each), "WITHIN", (("data",),))})


def recognise(value: Any, where: str) -> str:
    """Return the format that a value is in."""
    for name in NAMES:
        if isinstance(value, Mapping) and log_format(name).matches(value):
            return name
    shown = ", ".join(map(repr, list(value)[:8])) if isinstance(value, Mapping) else f"{value!r:.60}"
    hint = f"name its format: --from {'|'.join(NAMES)}; with openai, --map context=…,response=… reads any JSON"
    raise InputError(f"not a log of a known tool: {shown}", hint=hint, where=where)


def listing() -> Iterator[tuple[str, str, str]]:
    """Yield the name of each format, what it is, and what is kept of it."""
    for name in NAMES:
        module = log_format(name)
        yield name, str(module.__doc__).partition("\n\n")[0].replace("\n", " "), module.KEEPS
