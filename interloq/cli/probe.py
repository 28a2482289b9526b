# SPDX-License-Identifier: Apache-2.0
"""`interloq probe`: change good replies in known ways, and print which changes a metric notices."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from interloq.cli.shared.arguments import add_common, add_input, add_map, add_options, make_options
from interloq.cli.shared.output import add_limits, limit_spending, mark_incomplete, reading, stage_progress
from interloq.errors import count
from interloq.score.score_options import ProbeOptions
from interloq.terminal.console import print_json, print_line, print_notes, print_signatures, print_table

if TYPE_CHECKING:
    from interloq.score.probe import Probe

EXAMPLES = """\
  interloq probe chrf
  interloq probe "bleu(order=2,tokenizer='char')" --language ja
  interloq probe "judge(model='ready')" samples.jsonl --system human --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("metric", metavar="METRIC", help="spec of the metric, or FILE.py:NAME with --trust")
    help = "good replies to change: JSONL, CSV or TSV; - for a pipe (default: replies that come with the package)"
    add_input(parser, "samples", "SAMPLES", help, nargs="?")
    add_options(parser, ProbeOptions)
    add_limits(parser)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    from interloq.score.probe import probe_file

    options = make_options(ProbeOptions, args)
    with reading(args) as read_options, limit_spending(args):
        probed = probe_file(
            args.metric, args.samples, options, reading=read_options, progress=stage_progress(quiet=args.quiet)
        )
    mark_incomplete(not any(row.n for row in probed.rows))
    if args.json:
        print_json(probed.facts())
    else:
        print_probe(probed)


def print_probe(probed: Probe) -> None:
    """Print the effect of each perturbation, notes and the signature."""
    from interloq.terminal.result_tables import probe_table

    title = f"{probed.metric}: {count(probed.n, 'reply', 'replies')}, each changed in {len(probed.rows)} ways"
    print_table(title, *probe_table(probed))
    for row in probed.rows:
        if row.unscored:
            print_line(f"unscored: {row.perturbation}: {count(row.unscored, 'reply', 'replies')}")
    print_notes(probed.notes)
    print_signatures(probed.signature)
