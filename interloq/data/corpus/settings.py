# SPDX-License-Identifier: Apache-2.0
"""The settings of a build: everything that the content of a corpus depends on, and options that do not change it.

Settings can be read from a TOML file, whose keys are the documented fields of `CorpusSettings` and of its groups.
"""

from __future__ import annotations

import math
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson

from interloq.data.corpus.clean import Cleaning
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.formats import check_format
from interloq.data.corpus.language_filter import detector, plain_code, versions
from interloq.data.corpus.logs.named_fields import NAMES
from interloq.data.corpus.split import Split
from interloq.data.corpus.threads import BotFilter, Joining
from interloq.data.files.opening import read_small
from interloq.describe import help_of
from interloq.errors import InputError, nearest, short_repr
from interloq.options import option
from interloq.spec_text import describe_expected, fits
from interloq.version import __version__

FIELDS = "fields"  # the table of a log's names for the parts of a post
HINT = "`interloq corpus settings` prints all keys"


@dataclass(frozen=True, slots=True)
class CorpusSettings:
    """The options of every stage."""

    cleaning: Cleaning = field(default_factory=Cleaning)
    bots: BotFilter = field(default_factory=BotFilter)
    joining: Joining = field(default_factory=Joining)
    shape: DialogueShape = field(default_factory=DialogueShape)
    split: Split = field(default_factory=Split)
    format: Annotated[str, "posts, twitter, reddit, irc, telegram, …; auto: detected"] = "auto"
    fields: tuple[tuple[str, str], ...] = ()  # field of a post → its name in the log
    examples: Annotated[int, "examples to keep of posts dropped by each filter"] = 5
    compression: Annotated[Literal["zst", "gz", "none"], "compression of the outputs"] = "zst"

    def signature(self, source: str) -> str:
        """Return the signature of all options, the content of the logs, the detectors and the version."""
        groups = []
        for name in ("cleaning", "bots", "joining", "shape", "split"):
            group = getattr(self, name)
            values = (f"{f.name}={getattr(group, f.name)!r}" for f in fields(group))
            groups.append(f"{name}({','.join(values)})")
        parts = [f"corpus({','.join(groups)})", f"source:{source}"]
        if self.cleaning.lang:
            for name, number in versions(self.cleaning.detectors).items():
                parts.append(f"{name}:{number}")
        return "|".join([*parts, f"version:{__version__}"])

    def plain(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        values: dict[str, Any] = orjson.loads(orjson.dumps(asdict(self)))
        return values

    def check(self) -> CorpusSettings:
        """Check that the settings can be used here, before hours of work."""
        check_format(self.format)
        cleaning = self.cleaning
        if cleaning.lang:
            cleaning = replace(cleaning, lang=plain_code(cleaning.lang))
            for name in cleaning.detectors:
                detector(name, cleaning.lang)
        return replace(self, cleaning=replace(cleaning, need_time=self.split.by_time))


def _mebibytes(text: str) -> int:
    """Read a number of MiB as bytes."""
    return max(1, int(text)) * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """How a build runs. These options do not change the corpus, which depends only on logs and settings."""

    workers: int = option(0, "processes", shown="one per core")
    memory: str = option("2GB", "memory limit of the joins", metavar="SIZE")
    block: int = option(
        4 * 2**20, "size of the blocks given to workers, in MiB", metavar="MIB", parse=_mebibytes, shown="4"
    )  # in bytes
    fresh: bool = option(False, "start over instead of resuming")
    strict: bool = False  # a bad line is an error


DEFAULT_SETTINGS, DEFAULT_OPTIONS = CorpusSettings(), BuildOptions()


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
        if typing.get_origin(self.hint) is not Literal:
            return ()
        return typing.get_args(self.hint)

    @property
    def line(self) -> str:
        """The line of the settings file that states this setting."""
        line = f"{self.name.rpartition('.')[2]} = {_toml(self.default)}  # {self.help}"
        if self.choices:
            line += f" ({', '.join(self.choices)})"
        return line

    def read(self, value: Any, where: str) -> Any:
        """Check a value from the file and return it in the type of the setting."""
        if typing.get_origin(self.hint) is not tuple:
            if not _fits(value, self.hint):
                raise InputError(
                    f"{self.name} must be {describe_expected(self.hint)}, got {short_repr(value)}", where=where
                )
            return _exact(value, self.hint)
        part = typing.get_args(self.hint)[0]
        if not isinstance(value, list) or not all(_fits(each, part) for each in value):
            raise InputError(
                f"{self.name} must be a list of {describe_expected(part)}, got {short_repr(value)}", where=where
            )
        return tuple(_exact(each, part) for each in value)


@cache
def keys() -> dict[str, Key]:
    """Return all keys by name; keys without a group come first."""
    settings = CorpusSettings()
    all_keys = _keys_of(settings, "")
    for group in fields(settings):
        if is_dataclass(getattr(settings, group.name)):
            all_keys += _keys_of(settings, group.name)
    return {key.name: key for key in all_keys}


def read_settings(path: str | Path) -> CorpusSettings:
    """Return the settings in a file, with defaults for missing keys."""
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
        return with_values(replace(CorpusSettings(), fields=names), values)
    except InputError as error:
        raise InputError(error.what, hint=error.hint, where=where) from error


def with_values(settings: CorpusSettings, values: Mapping[str, Any]) -> CorpusSettings:
    """Return the settings with other values for some keys."""
    groups: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        group, _, field = name.rpartition(".")
        groups.setdefault(group, {})[field] = value
    changed = groups.pop("", {})
    for group, values_of_group in groups.items():
        changed[group] = replace(getattr(settings, group), **values_of_group)
    return replace(settings, **changed)


def log_names(table: object, where: str = "") -> tuple[tuple[str, str], ...]:
    """Check a table that maps parts of a post to fields of the log, and return it as sorted pairs."""
    if not isinstance(table, dict):
        raise InputError(f"{FIELDS} must be a table, got {short_repr(table)}", hint=f"write [{FIELDS}]", where=where)
    for part, name in table.items():
        if part not in NAMES:
            raise InputError(f"posts have no {part!r}{nearest(part, NAMES)}", where=where)
        if not isinstance(name, str) or not name:
            raise InputError(f"{FIELDS}.{part} must name a field of the log, got {short_repr(name)}", where=where)
    return tuple(sorted(table.items()))


def default_toml() -> str:
    """Return the file with all keys at their defaults."""
    tables: dict[str, list[str]] = {}
    for name, key in keys().items():
        group = name.rpartition(".")[0]
        if group and group not in tables:
            tables[group] = [f"[{group}]"]
        tables.setdefault(group, []).append(key.line)
    parts = ["\n".join(lines) for lines in tables.values()]
    example = f'[{FIELDS}]  # names in your log for {", ".join(NAMES)}\n# user = "author.name"'
    return "\n\n".join([*parts, example]) + "\n"


def _keys_of(settings: CorpusSettings, group: str) -> list[Key]:
    """Return the documented fields of a group of settings, or of the settings themselves if `group` is empty."""
    owner, prefix = settings, ""
    if group:
        owner, prefix = getattr(settings, group), f"{group}."
    hints = typing.get_type_hints(type(owner))
    annotations = typing.get_type_hints(type(owner), include_extras=True)
    return [
        Key(prefix + field.name, hints[field.name], getattr(owner, field.name), text)
        for field in fields(owner)
        if (text := help_of(annotations[field.name]))
    ]


def _key(name: str, where: str) -> Key:
    known = keys()
    if name not in known:
        same = [other for other in known if other.rpartition(".")[2] == name.rpartition(".")[2]]
        meant = nearest(name, known)
        if len(same) == 1:
            meant = f"; did you mean {same[0]!r}?"
        raise InputError(f"unknown key {name!r}{meant}", hint="" if meant else HINT, where=where)
    return known[name]


def _flat(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the values by `group.field`."""
    groups = {name.partition(".")[0] for name in keys() if "." in name}
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name in groups and not isinstance(value, dict):
            raise InputError(f"{name} must be a table", hint=f"write [{name}], and its keys below", where=where)
        if isinstance(value, dict) and name not in groups:
            raise InputError(f"unknown table [{name}]{nearest(name, groups)}", where=where)
        if name not in groups:
            values[name] = value
            continue
        for key, value_of_key in value.items():
            values[f"{name}.{key}"] = value_of_key
    return values


def _fits(value: object, hint: Any) -> bool:
    return fits(value, hint) and not (isinstance(value, float) and not math.isfinite(value))


def _exact(value: Any, hint: Any) -> Any:
    """Return an integer that is given for a float as a float: otherwise it would change the signature."""
    if hint is float:
        return float(value)
    return value


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return orjson.dumps(value).decode()
