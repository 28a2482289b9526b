# SPDX-License-Identifier: Apache-2.0
"""`interloq demo`: the main workflow, end to end, on embedded samples and, with the extra `demo`, a real log."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interloq.cli.shared.arguments import OutputPath, add_common
from interloq.cli.shared.output import stage_progress
from interloq.terminal.console import print_line

if TYPE_CHECKING:
    from interloq.demo.logs import DemoStep

EXAMPLES = """\
  interloq demo
  interloq demo --language ja -o out/demo-ja"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--language", choices=("en", "ja", "zh"), default="en", help="language of the conversations (default en)"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=OutputPath,
        default="interloq-demo",
        metavar="FOLDER",
        help="the folder to write (default interloq-demo)",
    )
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    from interloq.demo.steps import demo_steps

    for part in demo_steps(Path(args.output), args.language):
        if isinstance(part, str):
            print_line(part)
        else:
            _run(part, quiet=args.quiet)


def _run(step: DemoStep, *, quiet: bool) -> None:
    print_line(f"\n# {step.why}\n$ {shlex.join(['interloq', *step.command])}")
    sys.stdout.flush()
    _show(step, step.run(stage_progress(quiet=quiet)))


def _show(step: DemoStep, result: Any) -> None:
    """Print what the step's command prints."""
    from interloq.cli import compare, explain, extend, index, meta, rate, reliability, report, score, train
    from interloq.demo.logs import K
    from interloq.rate.settings import TRAINABLE

    printers = {
        "compare": lambda: compare.print_comparison(result),
        "index": lambda: index.print_added(*result),
        "train": lambda: train.print_trained(step.output, result, TRAINABLE),
        "extend": lambda: extend.print_extended(step.output, result, K),
        "rate": lambda: rate.print_rated(step.output, result),
        "score": lambda: score.print_scored(result, by_system="-m" not in step.command),
        "reliability": lambda: reliability.print_curves(result),
        "meta": lambda: meta.print_agreement(result, "holm", "spearman"),
        "explain": lambda: explain.print_explained(result),
        "report": lambda: report.print_report(step.output, result),
    }
    printers[step.verb]()
