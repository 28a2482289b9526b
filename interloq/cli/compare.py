# SPDX-License-Identifier: Apache-2.0
"""`interloq compare`: two versions of a system in, their differences with intervals and tests out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from interloq.cli.shared import arguments
from interloq.cli.shared.output import add_limits, limit_spending, mark_incomplete, reading, stage_progress
from interloq.compare.compare_options import CompareOptions
from interloq.errors import count
from interloq.terminal.console import print_json, print_line, print_signatures, print_stderr, print_table

if TYPE_CHECKING:
    from interloq.compare.comparison import Comparison

EXAMPLES = """\
  interloq compare old.jsonl new.jsonl
  interloq compare old.jsonl new.jsonl -m "judge(model='ready')" -m length
  interloq compare old_scores.jsonl new_scores.jsonl --samples old.jsonl --samples new.jsonl
  interloq compare old.eval new.eval
  interloq compare old_dialogues.jsonl new_dialogues.jsonl --slice partner
  interloq compare replies.jsonl replies.jsonl --old-system june --new-system july -m bleu --markdown summary.md
  interloq compare old.jsonl new.jsonl -m chrf -o comparison.json
  interloq compare old.jsonl new.jsonl --judge "llm_judge(endpoint='https://host/v1',model='name')" --max-calls 500"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = "samples, dialogues or scores, or log (.eval) of Inspect,"
    arguments.add_input(parser, "old", "OLD", f"{kinds} of the old version")
    arguments.add_input(parser, "new", "NEW", f"{kinds} of the new version")
    arguments.add_options(parser, CompareOptions)
    add_limits(parser)
    add_outputs(parser)
    arguments.add_map(parser)
    arguments.add_common(parser)


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Add --output and --markdown, which `gate` has too."""
    arguments.add_output(
        parser, "file for the JSON that --json prints: interloq report --comparison FILE", required=False
    )
    parser.add_argument("--markdown", type=arguments.OutputFile, metavar="FILE", help="also write a Markdown summary")


def run(args: argparse.Namespace) -> None:
    from interloq.compare.compare_file import compare_file
    from interloq.data.files.opening import write_json, write_text
    from interloq.terminal.result_tables import comparison_markdown

    options = arguments.make_options(CompareOptions, args)
    with reading(args) as read_options, limit_spending(args):
        comparison = compare_file(
            args.old, args.new, options, reading=read_options, progress=stage_progress(quiet=args.quiet)
        )
    for side, n in comparison.unpaired.items():
        if n:
            mark_incomplete()
            print_stderr(f"interloq: not used: {count(n, comparison.unit)} only in the {side} version")
    if args.output:
        write_json(args.output, comparison.facts())
    if args.markdown:
        write_text(args.markdown, comparison_markdown(comparison))
    if args.json:
        print_json(comparison.facts())
    elif "-" not in (args.output, args.markdown):
        print_comparison(comparison)


def print_comparison(comparison: Comparison) -> None:
    """Print tables, the units that got worse, and notes."""
    from interloq.terminal.result_tables import comparison_tables, worse_lines

    for table in comparison_tables(comparison):
        print_table(table.title, table.columns, table.rows)
    if comparison.worse:
        print_line("got worse most:")
    for line in worse_lines(comparison):
        print_line(f"  {line}")
    for note in comparison.notes:
        print_line(f"note: {note}")
    print_signatures(comparison.signature)
