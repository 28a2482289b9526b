# SPDX-License-Identifier: Apache-2.0
"""`interloq report`: scores and samples in, one HTML file out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from interloq.cli.shared.arguments import add_common, add_input, add_map, add_options, add_output, make_options
from interloq.cli.shared.output import progress, reading
from interloq.errors import count
from interloq.report.report_options import ReportOptions
from interloq.terminal.console import print_json, print_line

if TYPE_CHECKING:
    from interloq.report.report_file import Report

EXAMPLES = """\
  interloq report scores.jsonl --samples samples.jsonl -o report.html
  interloq report bleu.jsonl chrf.jsonl --samples samples.jsonl -o report.html --title 'June release'
  interloq report scores.jsonl --samples samples.jsonl -o report.html --aspect engaging --worst 20
  interloq report scores.jsonl --samples rated.jsonl --model rater -o report.html
  interloq report scores.jsonl --samples samples.jsonl --dialogues dialogues.jsonl -o report.html
  interloq report scores.jsonl --samples samples.jsonl --comparison gate.json -o report.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser, "scores", "SCORES", "score files written by `interloq score -o`", nargs="+")
    add_output(parser, "the HTML file to write; - for a pipe")
    add_options(parser, ReportOptions)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    from interloq.report.report_file import report_file

    options = make_options(ReportOptions, args)
    with reading(args) as read_options, progress("report", quiet=args.quiet):
        report = report_file(args.scores, args.output, options, reading=read_options)
    if args.json:
        table, page = report.evidence.table, report.page
        counts = {"samples": len(report.evidence.samples), "metrics": len(page.scores)}
        counts["judgments"] = table.counted.judgments if table else 0
        print_json({"report": args.output, **counts, "warnings": [notice.text for notice in page.notices]})
    elif args.output != "-":
        print_report(args.output, report)


def print_report(output: str, report: Report) -> None:
    """Print the contents of the report in one line."""
    facts = ", ".join(f"{fact.count:,} {fact.label}" for fact in report.page.facts)
    print_line(f"{output}: {facts}; {count(len(report.page.notices), 'warning')}")
