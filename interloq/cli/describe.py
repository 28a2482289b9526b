# SPDX-License-Identifier: Apache-2.0
"""`interloq describe`: describe a metric, rater, retriever, tokenizer or bot and its fields."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from itertools import groupby

from interloq.cli.shared.arguments import add_json
from interloq.terminal.console import print_json, print_line

EXAMPLES = """\
  interloq describe
  interloq describe bertscore
  interloq describe ja-mecab --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of a component (default: list all)")
    add_json(parser, "text")


def run(args: argparse.Namespace) -> None:
    from interloq.describe import describe, describe_all

    if args.name:
        description = describe(args.name)
        if args.json:
            print_json(asdict(description))
        else:
            print_line(f"{description.name} ({description.kind}): {description.summary}\n")
            if description.text:
                print_line(f"{description.text.strip()}\n")
            facts = {"better": description.better, "needs": description.needs, "spec": description.example}
            _print_columns([[f"{name}:", value] for name, value in facts.items() if value])
            if description.settings:
                print_line("")
                rows = [[s.name, s.type.replace("`", ""), s.default, s.help] for s in description.settings]
                _print_columns([["field", "type", "default", "meaning"], *rows])
        return
    descriptions = describe_all()
    if args.json:
        print_json([asdict(description) for description in descriptions])
        return
    for kind, group in groupby(descriptions, key=lambda description: description.kind):
        print_line(f"{kind}s:")
        _print_columns([["  " + description.name, description.summary] for description in group])
    print_line("See `interloq describe NAME` for details.")


def _print_columns(rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print_line("  ".join(map(str.ljust, row, widths)).rstrip())
