# SPDX-License-Identifier: Apache-2.0
"""`interloq new`: write a commented folder to start a project from."""

from __future__ import annotations

import argparse

from interloq.cli.shared.arguments import OutputPath
from interloq.terminal.console import print_line

EXAMPLES = """\
  interloq new evaluation
  interloq new evaluation-ja --language ja"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=OutputPath, metavar="FOLDER", help="the folder to make")
    parser.add_argument(
        "--language", choices=("en", "ja", "zh"), default="en", help="language of the example (default en)"
    )


def run(args: argparse.Namespace) -> None:
    from interloq.demo.new_project import new_project

    names = new_project(args.folder, language=args.language)
    print_line(f"{args.folder}: {', '.join(names)}")
    print_line(f"Start with {args.folder}/README.md, or run: cd {args.folder} && make")
