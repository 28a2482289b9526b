"""`interloq demo`: the main workflow, end to end, on conversations that come with the package."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interloq.cli.arguments import add_common
from interloq.cli.paths import OutputPath
from interloq.cli.progress import stage_progress
from interloq.report.console import print_line

if TYPE_CHECKING:
    from interloq.demo.steps import Step

EXAMPLES = """\
  interloq demo
  interloq demo --language ja -o out/demo-ja"""
ILLUSTRATIVE = """
The systems, ratings and log are illustrative: they were written for this demo, and nobody gave the ratings.
Most of the log is generated from templates with words from the samples' topics: it is easier to learn than
real logs, and the replies found in it fit better than replies from real logs would.
No figure here says anything about real data."""


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


def run(args: argparse.Namespace) -> int:
    from interloq.demo import folder as files
    from interloq.demo import steps

    folder, language, absent = Path(args.output), args.language, steps.missing()
    files.prepare(folder, language)
    _run([steps.comparing(folder, language)], quiet=args.quiet)
    if absent:
        print_line(f"υBLEU is skipped: not installed: {', '.join(absent)}; run: pip install 'interloq[rater,retrieve]'")
        _run([steps.scoring(folder, language)], quiet=args.quiet)
    else:
        _run([*steps.rating(folder, language), steps.scoring(folder, language, vbleu=True)], quiet=args.quiet)
        print_line(files.agreement(folder))
    _run([*steps.references(folder, language), *steps.reading(folder, language, vbleu=not absent)], quiet=args.quiet)
    print_line(ILLUSTRATIVE)
    if not absent:
        print_line(files.learned(folder))
    print_line(f"Open {(folder / 'report.html').resolve().as_uri()}")
    return 0


def _run(steps: Iterable[Step], *, quiet: bool) -> None:
    for step in steps:
        print_line(f"\n# {step.why}\n$ {shlex.join(['interloq', *step.command])}")
        sys.stdout.flush()
        _show(step, step.run(stage_progress(quiet=quiet)))


def _show(step: Step, result: Any) -> None:
    """Print what the step's command prints."""
    from interloq.cli import compare, explain, extend, index, meta, rate, reliability_curve, report, score, train_job
    from interloq.demo.steps import K
    from interloq.rate.settings import TRAINABLE

    printers = {
        "compare": lambda: compare.print_comparison(result),
        "index": lambda: index.print_added(*result),
        "train": lambda: train_job.print_trained(step.output, result, TRAINABLE),
        "extend": lambda: extend.print_extended(step.output, result, K),
        "rate": lambda: rate.print_rated(step.output, result),
        "score": lambda: score.print_scored(result),
        "reliability": lambda: reliability_curve.print_curves(result),
        "meta": lambda: meta.print_agreement(result, "holm", "spearman"),
        "explain": lambda: explain.print_explained(result),
        "report": lambda: report.print_report(step.output, result),
    }
    printers[step.verb]()
