# SPDX-License-Identifier: Apache-2.0
"""`interloq gate`: an old and a new version in, a verdict out.

Exit codes: 0 pass, 2 refusal, 3 regression, 4 undecided.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING

from interloq.cli.compare import add_outputs, print_comparison
from interloq.cli.shared import arguments
from interloq.cli.shared.output import add_limits, limit_spending, stage_progress
from interloq.compare.compare_options import CompareOptions, GateOptions
from interloq.data.records.read_options import ReadOptions
from interloq.errors import InputError, count
from interloq.terminal.console import print_json, print_line, print_table

if TYPE_CHECKING:
    from interloq.compare.gate.gate import Gate

EXAMPLES = """\
  interloq gate old.jsonl new.jsonl --margin 0.02
  interloq gate old.jsonl new.jsonl -m chrf -m "judge(model='ready')" --margin chrf=0.02 --margin 0.1
  interloq gate new.jsonl --baseline baseline.jsonl --bless
  interloq gate new.jsonl --baseline baseline.jsonl --margin 0.02 --junit gate.xml --markdown gate.md
  interloq gate old.jsonl new.jsonl --margin 0.1 --rated rated.jsonl
  interloq gate old.jsonl new.jsonl --margin 0.1 --meta meta.json
  interloq gate old.jsonl new.jsonl --margin 0.05 --slice topic --slices no-regression
  interloq gate old_scores.jsonl new_scores.jsonl --margin 0.02 --repeat new_scores_again.jsonl"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        type=arguments.InputPath,
        metavar="FILE",
        help="OLD NEW, or NEW with --baseline: samples, dialogues or scores",
    )
    arguments.add_list(
        parser,
        "--margin",
        metavar="[METRIC=]X",
        help="largest acceptable loss, in units of the metric or of human ratings; METRIC=X for one metric",
    )
    parser.add_argument(
        "--baseline",
        type=arguments.InputPath,
        metavar="FILE",
        help="blessed version to compare with; only --bless writes it",
    )
    parser.add_argument("--bless", action="store_true", help="accept NEW: write it to --baseline")
    parser.add_argument("--junit", type=arguments.OutputFile, metavar="FILE", help="also write JUnit XML")
    arguments.add_options(parser, GateOptions)
    add_limits(parser)
    add_outputs(parser)
    arguments.add_map(parser)
    arguments.add_json(parser, "tables")
    arguments.add_quiet(parser)


def run(args: argparse.Namespace) -> int:
    if args.bless:
        with limit_spending(args, may_be_incomplete=False):
            return _bless(args)
    from interloq.data.files.opening import replacing, write_json, write_text
    from interloq.terminal.result_tables import gate_junit, gate_markdown

    result = _gate(args)
    if args.junit:
        with replacing(args.junit) as file:
            file.write(gate_junit(result))
    with suppress(BrokenPipeError):  # a reader that stops early must not turn the verdict into a pass
        if args.output:
            write_json(args.output, result.facts())
        if args.markdown:
            write_text(args.markdown, gate_markdown(result))
        if args.json or "-" not in (args.output, args.markdown):
            _print(result, json=args.json)
    return result.exit_code


def _gate(args: argparse.Namespace) -> Gate:
    from interloq.compare.gate.gate_file import gate_file
    from interloq.compare.gate.margins import read_margins

    if len(args.files) > 2:
        raise InputError(f"{len(args.files)} files", hint="give OLD NEW, or NEW with --baseline")
    if not args.margin:
        raise InputError("no margin", hint="add --margin X: the largest loss that is acceptable")
    with limit_spending(args, may_be_incomplete=False):
        return gate_file(
            args.files[-1],
            arguments.make_options(GateOptions, args),
            old=args.files[0] if len(args.files) == 2 else None,
            baseline=args.baseline,
            margin=read_margins(args.margin),
            reading=arguments.make_options(ReadOptions, args),
            progress=stage_progress(quiet=args.quiet),
        )


def _bless(args: argparse.Namespace) -> int:
    from interloq.compare.gate.gate_file import bless_file

    if len(args.files) != 1 or not args.baseline:
        raise InputError("--bless takes one file and --baseline", hint="interloq gate NEW --bless --baseline FILE")
    options, read_options = arguments.make_options(CompareOptions, args), arguments.make_options(ReadOptions, args)
    progress = stage_progress(quiet=args.quiet)
    version = bless_file(args.files[0], args.baseline, options, reading=read_options, progress=progress)
    scored = f"{count(len(version.units), version.unit)} scored by {', '.join(version.metrics)}"
    print_line(f"{args.baseline}: {version.name}, {scored}")
    return 0


def _print(result: Gate, *, json: bool) -> None:
    from interloq.terminal.result_tables import noise_table, reason_lines, verdict_table

    if json:
        print_json(result.facts())
        return
    tables = [verdict_table(result)]
    if result.noise:
        tables.append(noise_table(result))
    for table in tables:
        print_table(table.title, table.columns, table.rows)
    for line in reason_lines(result):
        print_line(line)
    print_comparison(result.comparison)
