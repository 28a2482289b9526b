# SPDX-License-Identifier: Apache-2.0
"""The settings of a build as a TOML file. Its keys are the documented fields of `Settings` and of its groups."""

from __future__ import annotations

import math
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import orjson

from interloq.data.corpus.logs.named_fields import NAMES
from interloq.data.corpus.settings import Settings
from interloq.data.files import read_small
from interloq.describe import help_of
from interloq.errors import InputError, nearest, short_repr
from interloq.registry import expected, fits

FIELDS = "fields"  # the table of a log's names for the parts of a post
HINT = "`interloq corpus settings` prints all keys"


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: `name` is `group.field`, or just the field if it has no group."""

    name: str
    hint: Any
    default: Any
    help: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values; empty for any of its type."""
        return typing.get_args(self.hint) if typing.get_origin(self.hint) is Literal else ()

    @property
    def line(self) -> str:
        """The line of the file."""
        choices = f" ({', '.join(self.choices)})" if self.choices else ""
        return f"{self.name.rpartition('.')[2]} = {_toml(self.default)}  # {self.help}{choices}"

    def read(self, value: Any, where: str) -> Any:
        """A value from the file, checked."""
        part = typing.get_args(self.hint)[0] if typing.get_origin(self.hint) is tuple else None
        values = value if isinstance(value, list) else [value]
        if isinstance(value, list) != bool(part) or not all(_fits(each, part or self.hint) for each in values):
            wanted = f"a list of {expected(part)}" if part else expected(self.hint)
            raise InputError(f"{self.name} must be {wanted}, got {short_repr(value)}", where=where)
        # an integer given for a float would change the signature
        read = [float(each) if (part or self.hint) is float else each for each in values]
        return tuple(read) if part else read[0]


@cache
def keys() -> dict[str, Key]:
    """All keys by name; those without a group come first."""
    settings = Settings()
    groups = [f.name for f in fields(settings) if is_dataclass(getattr(settings, f.name))]
    return {key.name: key for group in ("", *groups) for key in _keys_of(settings, group)}


def read_settings(path: str | Path) -> Settings:
    """The settings in a file, with defaults for missing keys."""
    where = str(path)
    try:
        table = tomllib.loads(read_small(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not a TOML file: {error}", hint=HINT, where=where) from error
    names = log_names(table.pop(FIELDS, {}), where)
    values = {name: _key(name, where).read(value, where) for name, value in _flat(table, where).items()}
    if values.get("split.dev_from"):
        values["split.shares"] = ()  # dates replace shares
    try:
        return replaced(replace(Settings(), fields=names), values)
    except InputError as error:
        raise InputError(error.what, hint=error.hint, where=where) from error


def replaced(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Settings with other values for some keys."""
    groups: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        group, _, field = name.rpartition(".")
        groups.setdefault(group, {})[field] = value
    changed = {group: replace(getattr(settings, group), **found) for group, found in groups.items() if group}
    return replace(settings, **changed, **groups.get("", {}))


def log_names(given: object, where: str = "") -> tuple[tuple[str, str], ...]:
    """Part of a post → its field in the log."""
    if not isinstance(given, dict):
        raise InputError(f"{FIELDS} must be a table, got {short_repr(given)}", hint=f"write [{FIELDS}]", where=where)
    for part, name in given.items():
        if part not in NAMES:
            raise InputError(f"posts have no {part!r}{nearest(part, NAMES)}", where=where)
        if not isinstance(name, str) or not name:
            raise InputError(f"{FIELDS}.{part} must name a field of the log, got {short_repr(name)}", where=where)
    return tuple(sorted(given.items()))


def default_toml() -> str:
    """The file with all keys at their defaults."""
    tables: dict[str, list[str]] = {}
    for name, key in keys().items():
        tables.setdefault(name.rpartition(".")[0], []).append(key.line)
    parts = ["\n".join([*([f"[{group}]"] if group else []), *lines]) for group, lines in tables.items()]
    example = f'[{FIELDS}]  # names in your log for {", ".join(NAMES)}\n# user = "author.name"'
    return "\n\n".join([*parts, example]) + "\n"


def _keys_of(settings: Settings, group: str) -> list[Key]:
    of = getattr(settings, group) if group else settings
    hints, helps = (typing.get_type_hints(type(of), include_extras=extras) for extras in (False, True))
    prefix = f"{group}." if group else ""
    return [
        Key(prefix + f.name, hints[f.name], getattr(of, f.name), text)
        for f in fields(of)
        if (text := help_of(helps[f.name]))
    ]


def _key(name: str, where: str) -> Key:
    known = keys()
    if name not in known:
        same = [other for other in known if other.rpartition(".")[2] == name.rpartition(".")[2]]
        meant = f"; did you mean {same[0]!r}?" if len(same) == 1 else nearest(name, known)
        raise InputError(f"unknown key {name!r}{meant}", hint="" if meant else HINT, where=where)
    return known[name]


def _flat(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """`group.field` → value."""
    groups = {name.partition(".")[0] for name in keys() if "." in name}
    found: dict[str, Any] = {}
    for name, value in table.items():
        if name in groups and not isinstance(value, dict):
            raise InputError(f"{name} must be a table", hint=f"write [{name}], and its keys below", where=where)
        if isinstance(value, dict) and name not in groups:
            raise InputError(f"unknown table [{name}]{nearest(name, groups)}", where=where)
        found |= {f"{name}.{field}": each for field, each in value.items()} if name in groups else {name: value}
    return found


def _fits(value: object, hint: Any) -> bool:
    return fits(value, hint) and not (isinstance(value, float) and not math.isfinite(value))


def _toml(value: Any) -> str:
    return orjson.dumps(value).decode() if not isinstance(value, tuple) else f"[{', '.join(map(_toml, value))}]"
