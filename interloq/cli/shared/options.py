# SPDX-License-Identifier: Apache-2.0
"""Command-line options derived from the fields of settings: one source for names, types, defaults and help."""

from __future__ import annotations

import argparse
import types
import typing
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any, Literal

from interloq.cli.shared.paths import InputPath
from interloq.errors import InputError
from interloq.learn.trainable import Trainable


def add_options(parser: argparse.ArgumentParser, job: Trainable) -> None:
    """Add one option per field that has a help text."""
    own = list(job.options())
    names = {name for _, name in own}
    others = job.instead[1].options() if job.instead else ()
    for part, name in [*own, *(other for other in others if other[1] not in names)]:
        add_option(parser, part, name, _default(job, name))


def add_option(parser: argparse.ArgumentParser, part: Any, name: str, default: str | None = None) -> None:
    """Add the option for one field of some settings; `default` is the default the help shows (default: its value)."""
    details = next(field.metadata for field in fields(part) if field.name == name)
    settings: Any = type(part)
    kind = _hints(settings)[name]
    default = f": {details['shown']}" if "shown" in details else default or _shown(getattr(part, name))
    text = f"{details['help']} (default{default})" if default else details["help"]
    parser.add_argument(
        f"--{name.replace('_', '-')}", help=text.replace("%", "%%"), **_argparse_keywords(kind, details)
    )


@cache
def _hints(settings: Any) -> dict[str, Any]:
    """Types of the fields; cached because annotations are slow to evaluate."""
    return typing.get_type_hints(settings)


def option_names(part: Any) -> list[str]:
    """Names of the settings' fields that are options."""
    return [field.name for field in fields(part) if "help" in field.metadata]


def _argparse_keywords(hint: Any, details: Any) -> dict[str, Any]:
    """Keyword arguments of `add_argument` for a field of this type."""
    if hint is bool:
        return {"action": "store_true", "default": None}
    if typing.get_origin(hint) is Literal:
        return {"choices": typing.get_args(hint)}
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    path = bool(details.get("path"))
    metavar = "X"
    if details.get("metavar"):
        metavar = details["metavar"]
    elif path:
        metavar = "NAME"
    elif hint is int:
        metavar = "N"
    keywords: dict[str, Any] = {"type": InputPath if path else hint, "metavar": metavar}
    if details.get("repeat"):
        keywords |= {"action": "append"}
    return keywords | {"required": bool(details.get("required"))}


def _default(job: Trainable, name: str) -> str:
    """Default as the help shows it: ` 15`, or ` 15, with --encoder 3`, or ` 3, only with --encoder`."""
    own = _shown(_value(job, name))
    if job.instead is None:
        return own
    option, other = job.instead[0].replace("_", "-"), job.instead[1]
    theirs = _shown(_value(other, name))
    if theirs in ("", own):
        return own
    return f"{own}, with --{option}{theirs}" if own else f"{theirs}, only with --{option}"


def _value(job: Trainable, name: str) -> Any:
    return next((getattr(part, name) for part in job.settings if hasattr(part, name)), None)


def _shown(value: Any) -> str:
    if value is None or value in ((), "") or isinstance(value, bool):
        return ""
    return f" {value:g}" if isinstance(value, int | float) else f" {value}"


def chosen(args: argparse.Namespace, job: Trainable) -> tuple[Trainable, list[Any]]:
    """The job to run, and its settings with the given options applied."""
    if job.instead:
        name, other = job.instead
        option = name.replace("_", "-")
        if getattr(args, name) is None:
            if unused := _unused(args, other, job):
                raise InputError(f"--{unused} is used with --{option} only", hint=f"omit --{unused}, or add --{option}")
        else:
            if unused := _unused(args, job, other):
                raise InputError(f"--{unused} is not used with --{option}", hint=f"omit --{unused} or --{option}")
            job = other
    return job, [with_options(part, args) for part in job.settings]


def _unused(args: argparse.Namespace, job: Trainable, used: Trainable) -> str:
    """The first option that was given and that only `job` has; empty if there is none."""
    known = {name for _, name in used.options()}
    given = (name for _, name in job.options() if name not in known and getattr(args, name) is not None)
    return next(given, "").replace("_", "-")


def with_options(part: Any, args: argparse.Namespace) -> Any:
    """The settings with the given options applied."""
    return replace(part, **dict(_given(part, args)))


def _given(part: Any, args: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    for field in fields(part):
        value = getattr(args, field.name, None)
        if value is not None:
            yield field.name, tuple(value) if field.metadata.get("repeat") else value
