# SPDX-License-Identifier: Apache-2.0
"""`interloq signature`: how the scores in a file were computed, or how two files differ in this."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from interloq.cli.shared.paths import InputPath
from interloq.terminal.console import MISSING, print_json, print_line

if TYPE_CHECKING:
    from interloq.score.signatures import SignatureDifference
    from interloq.signature import Signature

EXAMPLES = """\
  interloq signature scores.jsonl
  interloq signature june.jsonl july.jsonl
  interloq signature june.jsonl july.jsonl --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scores", type=InputPath, metavar="SCORES", help="a score file written by `interloq score`")
    parser.add_argument(
        "other",
        nargs="?",
        type=InputPath,
        metavar="SCORES2",
        help="another one to compare with: exit code 1 if they differ",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    from interloq.score.signatures import differences, read_signatures

    first = read_signatures(args.scores)
    if not args.other:
        _explain(first, json=args.json)
        return 0
    found = list(differences(first, read_signatures(args.other)))
    if args.json:
        print_json({"same": not found, "differences": [asdict(difference) for difference in found]})
    else:
        _compare(args.scores, args.other, found)
    return int(bool(found))


def _explain(signatures: dict[str, Signature], *, json: bool) -> None:
    from interloq.score.signatures import explained

    if json:
        print_json({metric: {"short": s.short, **asdict(s)} for metric, s in signatures.items()})
        return
    for metric, signature in signatures.items():
        print_line(f"{metric}: {signature.short}")
        for part in explained(signature):
            print_line(f"  {part.name}{f' ({part.meaning})' if part.meaning else ''}: {part.value}")
        print_line()


def _compare(first: str, second: str, found: Sequence[SignatureDifference]) -> None:
    """Print differences one below the other, because values are too long for columns."""
    if not found:
        print_line(f"{first} and {second} have the same signatures")
    width = max(len(first), len(second))
    for difference in found:
        print_line(f"{difference.metric}: {difference.part}")
        for path, value in ((first, difference.first), (second, difference.second)):
            print_line(f"  {path:<{width}}  {MISSING if value is None else value}")
