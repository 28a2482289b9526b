# SPDX-License-Identifier: Apache-2.0
"""`interloq train NAME` for every registered job."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from interloq.cli.shared.arguments import add_common, add_device, add_list, add_output
from interloq.cli.shared.options import add_options, chosen
from interloq.cli.shared.output import BadLineReporter
from interloq.cli.shared.paths import InputPath
from interloq.cli.shared.progress import stage_progress
from interloq.errors import MissingDependencyError, count
from interloq.learn.learning_curve import read_curve
from interloq.learn.trainable import Trainable
from interloq.terminal.console import print_json, print_line, print_stderr

if TYPE_CHECKING:
    from interloq.retrieve.training_log import TrainingLog


def add_arguments(parser: argparse.ArgumentParser, job: Trainable) -> None:
    parser.add_argument(
        "files",
        nargs="+" if job.needs_files else "*",
        type=InputPath,
        metavar="FILE",
        help=f"{job.reads}, also .gz .xz .zst",
    )
    add_output(parser, "the folder to write, or to resume in", metavar="FOLDER")
    add_list(parser, "--without", metavar="SAMPLES", help="exclude what overlaps these samples", type=InputPath)
    add_options(parser, job)
    add_device(parser)
    add_common(parser)


def run(args: argparse.Namespace, job: Trainable) -> int:
    from interloq.retrieve.training_log import TrainingLog

    job, settings = chosen(args, job)
    bad = BadLineReporter()
    log = TrainingLog(args.files, args.without, strict=args.strict, on_reject=bad)
    try:
        facts = _train(args, job, settings, log)
    except KeyboardInterrupt:
        print_stderr(f"\nrerun the same command to resume in {args.output}")
        raise
    finally:
        bad.close()
        if log.excluded:
            print_stderr(f"interloq: {count(log.excluded, job.unit)} excluded that overlap test samples")
    if os.environ.get("RANK", "0") == "0":  # only one of several processes prints
        if args.json:
            print_json({job.noun: args.output, **facts, "epochs": read_curve(args.output)})
        else:
            print_trained(args.output, facts, job)
    return 0


def _train(args: argparse.Namespace, job: Trainable, settings: list[Any], log: TrainingLog) -> dict[str, Any]:
    try:
        made = job.make(log, settings)
        from interloq.learn.job import train
    except ImportError as error:
        raise MissingDependencyError(f"train {args.part}", error.name or "torch", job.extra) from error
    return train(
        made,
        args.output,
        device=args.device,
        progress=stage_progress(quiet=args.quiet),
        report=lambda line: None if args.quiet else print_stderr(line),
    )


def print_trained(output: str, facts: dict[str, Any], job: Trainable) -> None:
    """Print the signature of what was trained and the result of training."""
    print_line(f"{output}: {facts['signature']}")
    print_line(job.result(facts, read_curve(output)))
