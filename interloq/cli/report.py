# SPDX-License-Identifier: Apache-2.0
"""`interloq report`: scores and samples in, one HTML file out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from interloq.cli.rank import add_direction
from interloq.cli.shared.arguments import add_common, add_list, add_map, add_output
from interloq.cli.shared.output import BadLineReporter
from interloq.cli.shared.paths import InputPath
from interloq.cli.shared.progress import progress
from interloq.errors import count
from interloq.report.page import TITLE
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

FILES = {
    "--dialogues": "the dialogues the samples were made from: adds a ranking and dialogues to read",
    "--curve": "draw these curves, written by `interloq reliability curve -o`",
    "--continuity": "show how well replies are predicted: a table printed by `interloq meta --labels --json`",
    "--comparison": "start with this verdict, written by `interloq compare -o` or `interloq gate -o`",
    "--preferences": "rank systems by these preferences of people, and show how often metrics agree with them",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scores",
        nargs="+",
        type=InputPath,
        metavar="SCORES",
        help="score files written by `interloq score -o`",
    )
    parser.add_argument(
        "--samples",
        required=True,
        type=InputPath,
        metavar="FILE",
        help="the samples that were scored, with their ratings",
    )
    add_output(parser, "the HTML file to write; - for a pipe")
    add_list(parser, "--model", metavar="FOLDER", help="show how this model was trained", type=InputPath)
    for name, help in FILES.items():
        add_list(parser, name, metavar="FILE", help=help, type=InputPath)
    _add_settings(parser)
    add_map(parser)
    add_common(parser)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--aspect", default="overall", help="the rated aspect (default overall)")
    parser.add_argument("--role", default="", help="use only ratings by people in this role, e.g. interlocutor")
    parser.add_argument("--title", default=TITLE, help=f"heading of the report (default {TITLE!r})")
    parser.add_argument(
        "--bootstrap",
        type=int,
        default=1000,
        metavar="N",
        help="resamples for intervals and tests; 0 for none (default 1000)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the resamples (default 0)")
    parser.add_argument(
        "--worst", type=int, default=10, metavar="N", help="largest disagreements to show per metric (default 10)"
    )
    parser.add_argument(
        "--read", type=int, default=2, metavar="N", help="best and worst dialogues to show per system (default 2)"
    )
    parser.add_argument(
        "--survival",
        action="store_true",
        help="with --dialogues: scores between 0 and 1 are probabilities of a reply; draw how long people would stay",
    )
    parser.add_argument(
        "--slice",
        action="append",
        metavar="FIELD",
        help="field to filter samples by; repeatable (default: topic, language, partner and length, as far as known)",
    )
    add_direction(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.report.report_file import report_file

    bad = BadLineReporter()
    with progress("report", quiet=args.quiet):
        report = report_file(
            args.scores,
            args.output,
            samples=args.samples,
            dialogues=args.dialogues,
            models=args.model,
            curves=args.curve,
            continuity=args.continuity,
            comparisons=args.comparison,
            preferences=args.preferences,
            aspect=args.aspect,
            title=args.title,
            n_bootstrap=args.bootstrap,
            seed=args.seed,
            worst=args.worst,
            read=args.read,
            lower_is_better=args.lower_is_better,
            survival=args.survival,
            role=args.role,
            slice_by=args.slice,
            strict=args.strict,
            on_reject=bad,
            columns=args.columns,
        )
    bad.close()
    if args.json:
        table, page = report.evidence.table, report.page
        counts = {"samples": len(report.evidence.samples), "metrics": len(page.scores)}
        counts["judgments"] = table.counted.judgments if table else 0
        print_json({"report": args.output, **counts, "warnings": [notice.text for notice in page.notices]})
    elif args.output != "-":
        print_report(args.output, report)
    return 0


def print_report(output: str, report: Report) -> None:
    """Print the contents of the report in one line."""
    facts = ", ".join(f"{fact.count} {fact.label}" for fact in report.page.facts)
    print_line(f"{output}: {facts}; {count(len(report.page.notices), 'warning')}")
