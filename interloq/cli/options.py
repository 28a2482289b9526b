"""Options of the command line from the fields of settings: one source for names, types, defaults and help."""

from __future__ import annotations

import argparse
import types
import typing
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, Literal

from interloq.cli.paths import InputPath
from interloq.errors import InputError
from interloq.learn.trainable import Trainable


def add_options(parser: argparse.ArgumentParser, job: Trainable) -> None:
    """One option for each field with a help text."""
    for part, name in job.options():
        add_option(parser, part, name, _default(job, name))


def add_option(parser: argparse.ArgumentParser, part: Any, name: str, default: str | None = None) -> None:
    """The option for one field of some settings; `default` is what the help says of it (default: its value)."""
    details = next(field.metadata for field in fields(part) if field.name == name)
    kind = typing.get_type_hints(type(part))[name]
    default = f": {details['shown']}" if "shown" in details else default or _shown(getattr(part, name))
    text = f"{details['help']} (default{default})" if default else details["help"]
    parser.add_argument(f"--{name.replace('_', '-')}", help=text.replace("%", "%%"), **_form(kind, details))


def option_names(part: Any) -> list[str]:
    """The fields of some settings that are options."""
    return [field.name for field in fields(part) if "help" in field.metadata]


def _form(hint: Any, details: Any) -> dict[str, Any]:
    """How argparse reads a field of this type."""
    if hint is bool:
        return {"action": "store_true", "default": None}
    if typing.get_origin(hint) is Literal:
        return {"choices": typing.get_args(hint)}
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    path = bool(details.get("path"))
    metavar = details.get("metavar") or ("NAME" if path else "N" if hint is int else "X")
    form: dict[str, Any] = {"type": InputPath if path else hint, "metavar": metavar}
    if details.get("repeat"):
        form |= {"action": "append"}
    return form | {"required": bool(details.get("required"))}


def _default(job: Trainable, name: str) -> str:
    """` 15`, or ` 15, with --encoder 3`."""
    own = _shown(_value(job, name))
    if job.instead is None:
        return own
    option, other = job.instead
    theirs = _shown(_value(other, name))
    return own if theirs in ("", own) else f"{own}, with --{option}{theirs}"


def _value(job: Trainable, name: str) -> Any:
    return next((getattr(part, name) for part in job.settings if hasattr(part, name)), None)


def _shown(value: Any) -> str:
    if value is None or value == () or isinstance(value, bool):
        return ""
    return f" {value:g}" if isinstance(value, int | float) else f" {value}"


def chosen(args: argparse.Namespace, job: Trainable) -> tuple[Trainable, list[Any]]:
    """What is to be trained, and its settings with the options that were given."""
    if job.instead and getattr(args, job.instead[0]) is not None:
        _check_used(args, job, *job.instead)
        job = job.instead[1]
    return job, [with_options(part, args) for part in job.settings]


def _check_used(args: argparse.Namespace, job: Trainable, option: str, other: Trainable) -> None:
    unused = {name for _, name in job.options()} - {name for _, name in other.options()}
    for name in (name for _, name in job.options() if name in unused and getattr(args, name) is not None):
        shown = name.replace("_", "-")
        raise InputError(f"--{shown} is not used with --{option}", hint=f"leave --{shown} or --{option} out")


def with_options(part: Any, args: argparse.Namespace) -> Any:
    """The settings with the options that were given."""
    return replace(part, **dict(_given(part, args)))


def _given(part: Any, args: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    for field in fields(part):
        value = getattr(args, field.name, None)
        if value is not None:
            yield field.name, tuple(value) if field.metadata.get("repeat") else value
