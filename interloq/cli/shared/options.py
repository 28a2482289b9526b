# SPDX-License-Identifier: Apache-2.0
"""Command-line options generated from the fields of options dataclasses (`interloq.options`), and read back."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any, TypeVar

from interloq.cli.shared.paths import InputPath, OutputFile
from interloq.options import Flag, flags_of
from interloq.terminal.console import print_stderr
from interloq.trust import Trust

Options = TypeVar("Options")
METAVARS = {int: "N", float: "X"}


def add_options(
    parser: argparse.ArgumentParser,
    options: Any,
    *,
    only: Collection[str] = (),
    without: Collection[str] = (),
    with_defaults: bool = True,
) -> None:
    """Add the options of a dataclass, all, `only` these or those `without` these, in the order of its fields.

    An instance may be passed instead: then its values are the defaults. Without defaults, None means: not given.
    """
    for flag in flags_of(options):
        if flag.name not in without and (not only or flag.name in only):
            add_flag(parser, flag, default=... if with_defaults else None)


def add_flag(parser: argparse.ArgumentParser, flag: Flag, *, help: str = "", default: Any = ...) -> None:
    """Add one option; `help` and `default` replace the ones of its field."""
    keywords = _keywords(flag)
    keywords["help"] = (help or flag.help_text()).replace("%", "%%")
    keywords["default"] = _argparse_default(flag) if default is ... else default
    names = [name for name in (flag.short, flag.flag) if name]
    where: Any = parser
    if flag.instead and flag.is_switch:
        where = parser.add_mutually_exclusive_group()
    where.add_argument(*names, dest=flag.name, **keywords)
    for name, (value, text) in flag.instead.items():
        where.add_argument(name, dest=flag.name, action="store_const", const=value, help=text)


def _keywords(flag: Flag) -> dict[str, Any]:
    """Return keyword arguments of `add_argument`, except help and default."""
    if flag.is_switch:
        if flag.is_optional:
            return {"action": "store_const", "const": flag.switch_value}
        return {"action": "store_true" if flag.switch_value else "store_false"}
    if flag.kind == Trust.__args__[0]:
        return {"action": "store_const", "const": print_stderr}
    keywords: dict[str, Any] = {"required": flag.required}
    if flag.is_repeatable:
        keywords["action"] = "append"
    if flag.choices:
        return {**keywords, "choices": flag.choices, "metavar": flag.metavar or None}
    keywords["type"] = flag.kind
    if flag.parse:
        keywords["type"] = flag.parse
    elif flag.path:
        keywords["type"] = InputPath
    elif flag.writes:
        keywords["type"] = OutputFile
    keywords["metavar"] = flag.metavar or METAVARS.get(flag.kind, "NAME" if flag.path else "X")
    return keywords


def _argparse_default(flag: Flag) -> Any:
    if flag.is_repeatable and flag.default is not None:
        return list(flag.default)  # argparse appends to a copy of it
    return flag.default


def make_options(options: type[Options], args: argparse.Namespace, **values: Any) -> Options:
    """Return an options dataclass with the values of the arguments; `values` are fields that are not options."""
    for flag in flags_of(options):
        if flag.name not in values and hasattr(args, flag.name):
            value = getattr(args, flag.name)
            values[flag.name] = tuple(value) if isinstance(value, list) else value
    return options(**values)


def given_options(settings: Options, args: argparse.Namespace) -> Options:
    """Return the settings with the given arguments that have the names of their fields; None: it was not given."""
    given = {}
    for field in fields(settings):  # type: ignore[arg-type]
        value = getattr(args, field.name, None)
        if value is not None:
            given[field.name] = tuple(value) if isinstance(value, list) else value
    return replace(settings, **given)  # type: ignore[type-var]
