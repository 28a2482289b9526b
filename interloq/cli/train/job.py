# SPDX-License-Identifier: Apache-2.0
"""`interloq train NAME` for every registered job."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from interloq.cli.shared.arguments import add_common, add_device, add_list, add_output
from interloq.cli.shared.options import add_flag, given_options
from interloq.cli.shared.output import BadLineReporter
from interloq.cli.shared.paths import InputPath
from interloq.cli.shared.progress import stage_progress
from interloq.errors import InputError, MissingDependencyError, count
from interloq.learn.learning_curve import read_curve
from interloq.learn.trainable import Trainable
from interloq.options import flags_of, format_default
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
    add_job_options(parser, job)
    add_device(parser)
    add_common(parser)


def run(args: argparse.Namespace, job: Trainable) -> int:
    from interloq.retrieve.training_log import TrainingLog

    job, settings = choose_job(args, job)
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


# ---- options from the settings of a job ------------------------------------------------------------------------------


def add_job_options(parser: argparse.ArgumentParser, job: Trainable) -> None:
    """Add one option per field of the settings that has a help text, also of what is trained instead."""
    offered = list(job.options())
    names = {name for _, name in offered}
    if job.instead:
        offered += [other for other in job.instead[1].options() if other[1] not in names]
    for part, name in offered:
        (flag,) = (flag for flag in flags_of(part) if flag.name == name)
        add_flag(parser, flag, help=flag.help_text(_format_defaults(job, name)), default=None)


def _format_defaults(job: Trainable, name: str) -> str:
    """Return the default as the help shows it: ` 15`, or ` 15, with --encoder 3`, or ` 3, only with --encoder`."""
    default = format_default(_default(job, name))
    if job.instead is None:
        return default
    option, other = job.instead[0].replace("_", "-"), job.instead[1]
    default_instead = format_default(_default(other, name))
    if default_instead in ("", default):
        return default
    if not default:
        return f"{default_instead}, only with --{option}"
    return f"{default}, with --{option}{default_instead}"


def _default(job: Trainable, name: str) -> Any:
    return next((getattr(part, name) for part in job.settings if hasattr(part, name)), None)


def choose_job(args: argparse.Namespace, job: Trainable) -> tuple[Trainable, list[Any]]:
    """Return the job to run, and its settings with the given options applied."""
    if job.instead:
        name, other = job.instead
        option = name.replace("_", "-")
        if getattr(args, name) is None:
            if unused := _unused_option(args, other, job):
                raise InputError(f"--{unused} is used with --{option} only", hint=f"omit --{unused}, or add --{option}")
        else:
            if unused := _unused_option(args, job, other):
                raise InputError(f"--{unused} is not used with --{option}", hint=f"omit --{unused} or --{option}")
            job = other
    return job, [given_options(part, args) for part in job.settings]


def _unused_option(args: argparse.Namespace, job: Trainable, used: Trainable) -> str:
    """Return the first option that was given and that only `job` has; empty if there is none."""
    known = {name for _, name in used.options()}
    for _, name in job.options():
        if name not in known and getattr(args, name) is not None:
            return name.replace("_", "-")
    return ""
