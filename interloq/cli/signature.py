# SPDX-License-Identifier: Apache-2.0
"""`interloq signature`: how the scores in a file were computed, or how two files differ in that respect."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from interloq.cli.shared.arguments import add_input, add_json
from interloq.terminal.console import MISSING, print_json, print_line

if TYPE_CHECKING:
    from interloq.signature import Signature

EXAMPLES = """\
  interloq signature scores.jsonl
  interloq signature june.jsonl july.jsonl
  interloq signature june.jsonl july.jsonl --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser, "scores", "SCORES", "a score file written by `interloq score`")
    add_input(parser, "other", "SCORES2", "another one to compare with: exit code 1 if they differ", nargs="?")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.score.signatures import differences, read_signatures

    first = read_signatures(args.scores)
    if not args.other:
        _print_signatures(first, json=args.json)
        return 0
    changes = list(differences(first, read_signatures(args.other)))
    if args.json:
        print_json({"same": not changes, "differences": [asdict(change) for change in changes]})
    else:
        # print differences one below the other, because values are too long for columns
        if not changes:
            print_line(f"{args.scores} and {args.other} have the same signatures")
        width = max(len(args.scores), len(args.other))
        for change in changes:
            print_line(f"{change.metric}: {change.part}")
            for path, value in ((args.scores, change.first), (args.other, change.second)):
                print_line(f"  {path:<{width}}  {MISSING if value is None else value}")
    return int(bool(changes))


def _print_signatures(signatures: dict[str, Signature], *, json: bool) -> None:
    from interloq.score.signatures import explain_parts

    if json:
        print_json({metric: {"short": s.short, **asdict(s)} for metric, s in signatures.items()})
        return
    for metric, signature in signatures.items():
        print_line(f"{metric}: {signature.short}")
        for part in explain_parts(signature):
            meaning = f" ({part.meaning})" if part.meaning else ""
            print_line(f"  {part.name}{meaning}: {part.value}")
        print_line()
