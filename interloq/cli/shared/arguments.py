# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several verbs have."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from interloq.cli.shared.options import add_flag, add_options
from interloq.cli.shared.paths import InputPath, OutputFile, OutputPath
from interloq.data.records.read_options import ReadOptions
from interloq.options import flags_of
from interloq.terminal.console import print_stderr


def add_samples(parser: argparse.ArgumentParser) -> None:
    """Add the argument for a file of samples."""
    parser.add_argument(
        "samples", type=InputPath, metavar="SAMPLES", help="JSONL, CSV or TSV, also .gz .xz .zst; - for a pipe"
    )


def add_output(parser: argparse.ArgumentParser, help: str, *, metavar: str = "FILE") -> None:
    """Add the required option `-o`."""
    path_type = OutputFile if metavar == "FILE" else OutputPath
    parser.add_argument("-o", "--output", type=path_type, required=True, metavar=metavar, help=help)


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


def add_trust(
    parser: argparse.ArgumentParser,
    help: str = "allow metrics FILE.py:NAME, which execute the file, and metrics in files (@FILE, baselines) that "
    "contact a server or run code; what they do is printed",
) -> None:
    """Add the option `--trust`; its value is called with what a trusted file does (see `interloq.trust`)."""
    parser.add_argument("--trust", action="store_const", const=print_stderr, help=help)
