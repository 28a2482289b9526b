# SPDX-License-Identifier: Apache-2.0
"""Arguments of verbs: generated from the fields of options dataclasses (`interloq.options`) and read back, or shared.

The types of arguments tell inputs from outputs, so that an output that is also an input is refused early.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from interloq.data.records.read_options import ReadOptions
from interloq.errors import InputError
from interloq.options import Flag, flags_of
from interloq.shards.shard_options import ShardOptions
from interloq.spec_text import straighten_quotes
from interloq.terminal.console import print_stderr
from interloq.trust import Trust

Options = TypeVar("Options")
METAVARS = {int: "N", float: "X"}
_QUOTED = re.compile(r"""(["'])(.*?)\1""", re.DOTALL)


class InputPath(str):
    """The `type` of every argument that names a file or folder to read."""

    __slots__ = ()


class OutputPath(str):
    """The `type` of every argument that names a file or folder to write."""

    __slots__ = ()


class OutputFile(OutputPath):
    """The `type` of every argument that names a file to write, not a folder."""

    __slots__ = ()


def check_paths(args: argparse.Namespace) -> None:
    """Refuse an output that is also an input, and a folder as an output file, before any work is done.

    Specs may name inputs as well, as in `human(ratings='r.jsonl')`.
    """
    from interloq.data.files.overwriting import refuse_overwriting

    inputs: list[str] = []
    outputs: list[str] = []
    for text in _iterate_texts(args):
        if isinstance(text, OutputPath):
            outputs.append(text)
        elif isinstance(text, InputPath):
            inputs.append(text)
        if isinstance(text, OutputFile) and Path(text).is_dir():
            raise InputError(f"the output {text!r} is a folder", hint="name a file")
        inputs += _find_quoted_texts(text)
    refuse_overwriting(outputs, inputs)


def _iterate_texts(args: argparse.Namespace) -> Iterator[str]:
    """Yield the arguments that are texts."""
    for value in vars(args).values():
        for single_value in value if isinstance(value, list) else [value]:
            if isinstance(single_value, str):
                yield single_value


def _find_quoted_texts(text: str) -> Iterator[str]:
    """Yield the quoted texts of a spec, which may be paths, and the texts quoted within them."""
    for _, inner in _QUOTED.findall(straighten_quotes(text)):
        yield inner
        yield from _find_quoted_texts(inner)


def add_options(
    parser: argparse.ArgumentParser,
    options: Any,
    *,
    only: Collection[str] = (),
    without: Collection[str] = (),
    with_defaults: bool = True,
) -> None:
    """Add the options of a dataclass in the order of its fields: all of them, `only` some, or all `without` some.

    An instance may be passed instead: then its values are the defaults. Without defaults, None means that an option was
    not given.
    """
    for flag in flags_of(options):
        if flag.name not in without and (not only or flag.name in only):
            add_flag(parser, flag, default=... if with_defaults else None)


def add_flag(parser: argparse.ArgumentParser, flag: Flag, *, help: str = "", default: Any = ...) -> None:
    """Add one option; `help` and `default` replace those of its field."""
    keywords = _keywords(flag)
    keywords["help"] = (help or flag.help_text()).replace("%", "%%")
    if default is ...:
        default = flag.default
        if flag.is_repeatable and default is not None:
            default = list(default)  # argparse appends to a copy of it
    keywords["default"] = default
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
        keywords["type"] = OutputPath if flag.metavar == "DIR" else OutputFile
    keywords["metavar"] = flag.metavar or METAVARS.get(flag.kind, "NAME" if flag.path else "X")
    return keywords


def make_options(options: type[Options], args: argparse.Namespace, **values: Any) -> Options:
    """Return an options dataclass with the values of the arguments; `values` are fields that are not options."""
    for flag in flags_of(options):
        if flag.name not in values and hasattr(args, flag.name):
            value = getattr(args, flag.name)
            values[flag.name] = tuple(value) if isinstance(value, list) else value
    return options(**values)


def shard_options(args: argparse.Namespace) -> ShardOptions:
    """Return which processes compute the verb's shards, with its command for `interloq data join`."""
    only_join = getattr(args, "only_join", False)
    tell = None if args.quiet else print_stderr
    return make_options(ShardOptions, args, command=getattr(args, "command_line", ()), only_join=only_join, tell=tell)


def apply_arguments(settings: Options, args: argparse.Namespace) -> Options:
    """Return the settings with the values of arguments named after their fields; None means that it was not given."""
    given = {}
    for field in fields(settings):  # type: ignore[arg-type]
        value = getattr(args, field.name, None)
        if value is not None:
            given[field.name] = tuple(value) if isinstance(value, list) else value
    return replace(settings, **given)  # type: ignore[type-var]


def add_input(
    parser: argparse.ArgumentParser, name: str, metavar: str, help: str, *, nargs: Literal["?", "*", "+"] | None = None
) -> None:
    """Add a positional argument that names files or folders to read."""
    parser.add_argument(name, nargs=nargs, type=InputPath, metavar=metavar, help=help)


def add_samples(parser: argparse.ArgumentParser) -> None:
    """Add the argument for a file of samples."""
    add_input(parser, "samples", "SAMPLES", "JSONL, CSV or TSV, also .gz .xz .zst; - for a pipe")


def add_output(parser: argparse.ArgumentParser, help: str, *, metavar: str = "FILE", required: bool = True) -> None:
    """Add the option `-o`."""
    path_type = OutputFile if metavar == "FILE" else OutputPath
    parser.add_argument("-o", "--output", type=path_type, required=required, metavar=metavar, help=help)


def add_list(
    parser: argparse.ArgumentParser,
    *names: str,
    metavar: str,
    help: str,
    type: Callable[[str], str] = str,
    dest: str | None = None,
) -> None:
    """Add an option that may be given several times; its value is a list."""
    parser.add_argument(
        *names, action="append", default=[], type=type, metavar=metavar, help=f"{help}; repeatable", dest=dest
    )


def add_map(parser: argparse.ArgumentParser, *, of: str = "samples") -> None:
    """Add the option `--map`: names of fields in the user's file."""
    (flag,) = (flag for flag in flags_of(ReadOptions) if flag.name == "columns")
    help = flag.help
    if of != "samples":
        help = help.replace("your samples", f"your {of}")
    if of == "dialogues":
        help = help.replace("response=reply,system=model", "turns=chat,id=session")
    add_flag(parser, flag, help=help)


def add_json(parser: argparse.ArgumentParser, instead_of: str = "a table") -> None:
    """Add the option `--json`."""
    parser.add_argument("--json", action="store_true", help=f"print JSON instead of {instead_of}")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add the option `--quiet`."""
    parser.add_argument("--quiet", action="store_true", help="do not show progress on standard error")


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options of every verb that prints results."""
    add_json(parser)
    parser.add_argument(
        "--table-format",
        choices=("text", "markdown", "latex"),
        default="text",
        help="format of tables (default text); latex needs the package booktabs",
    )
    add_options(parser, ReadOptions, only=("strict",))
    add_quiet(parser)
