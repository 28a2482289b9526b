# SPDX-License-Identifier: Apache-2.0
"""Descriptions of components and their settings, read from their modules, for `interloq describe` and the docs."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
import typing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union

from interloq.errors import SpecError, nearest
from interloq.registry import KINDS, find_class, names, registered_name, targets
from interloq.spec_text import read_spec

REQUIRED = "required"
BAR = "\\|"  # in a cell of a Markdown table


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of a component, as text."""

    name: str
    type: str
    default: str  # as written in a spec, or `required`
    help: str


@dataclass(frozen=True, slots=True)
class Description:
    """A component described for people: where it comes from, how it works, what it needs and its settings."""

    kind: str
    name: str
    summary: str  # the first paragraph of its documentation
    text: str  # the rest
    better: str  # for metrics: higher, lower or neither
    needs: str  # for metrics
    example: str  # the shortest spec; … marks values to fill in
    settings: tuple[Setting, ...]

    def table(self) -> str:
        """Return the settings as a Markdown table; help texts are Markdown themselves."""
        lines = ["| field | type | default | meaning |", "|---|---|---|---|"]
        for setting in self.settings:
            cells = [f"`{setting.name}`", setting.type, _code(setting.default), setting.help]
            lines.append(f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |")
        return "\n".join(lines)


def describe(name: str) -> Description:
    """Describe the component with this name or spec."""
    wanted = read_spec(name).name
    known: list[str] = []
    for kind in KINDS:
        if registered := registered_name(wanted, kind=kind):
            return _describe(kind, registered)
        known += names(kind)
    raise SpecError(f"unknown component {wanted!r}{nearest(wanted, known)}")


def describe_all() -> list[Description]:
    """Describe every registered component, including plugins, sorted by kind and name."""
    descriptions: list[Description] = []
    for kind in KINDS:
        descriptions += [_describe(kind, name) for name in names(kind)]
    return descriptions


def _describe(kind: str, name: str) -> Description:
    cls: Any = find_class(name, kind=kind)
    settings = tuple(_read_settings(cls))
    summary, _, text = _documentation(cls).partition("\n\n")
    missing = ",".join(f"{setting.name}=…" for setting in settings if setting.default == REQUIRED)
    return Description(
        kind=kind,
        name=name,
        summary=" ".join(summary.split()),
        text=text,
        better=cls.direction if kind == "metric" else "",
        needs=cls.needs.line() if cls.needs else "",
        example=f"{name}({missing})" if missing else name,
        settings=settings,
    )


def _documentation(cls: type) -> str:
    """Return the module's docstring, or the class's if the module has several components."""
    module = sys.modules[cls.__module__]
    components = 0
    for kind in KINDS:
        for target in targets(kind).values():
            components += target.startswith(f"{cls.__module__}:")
    if components <= 1 and module.__doc__:
        return inspect.getdoc(module) or ""
    return inspect.getdoc(cls) or ""


def _read_settings(cls: Any) -> list[Setting]:
    hints = typing.get_type_hints(cls, include_extras=True)
    settings = []
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        hint = hints[field.name]
        default = REQUIRED if field.default is dataclasses.MISSING else repr(field.default)
        settings.append(Setting(field.name, _type(hint, field.metadata.get("kind")), default, help_of(hint)))
    return settings


def help_of(hint: Any) -> str:
    """Return the help text of a field, such as `longest n-gram` for `order: Annotated[int, "longest n-gram"]`."""
    if typing.get_origin(hint) is Annotated:
        for text in typing.get_args(hint)[1:]:
            if isinstance(text, str):
                return text
    return ""


def _type(hint: Any, kind: str | None) -> str:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _type(parts[0], kind)
    if kind:
        return f"{kind}s" if origin is tuple else kind
    if origin is Literal:
        return _alternatives([_code(repr(part)) for part in parts])
    if origin in (Union, types.UnionType):
        return _alternatives([_type(part, None) for part in parts])
    if hint is type(None):
        return "None"
    if origin:
        return str(hint)
    return str(hint.__name__)


def _alternatives(parts: list[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} or {last}" if others else last


def _code(text: str) -> str:
    return text if text == REQUIRED else f"`{text}`"
