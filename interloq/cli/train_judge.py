"""`interloq train judge`: a scorer of replies from people's ratings, on the states of a relevance network."""

from __future__ import annotations

import argparse

from interloq.cli.arguments import add_common, add_device, add_output
from interloq.cli.options import add_option, option_names, with_options
from interloq.cli.output import BadLines
from interloq.cli.paths import InputPath
from interloq.cli.progress import stage_progress
from interloq.errors import MissingDependencyError
from interloq.report.console import interval, number, print_json, print_line, print_stderr, print_table
from interloq.scorers.judge.settings import Frozen, JudgeSettings

COLUMNS = {"sets": "sets", "replies": "replies", "strength": "λ"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=InputPath, metavar="FILE", help="samples with ratings; each file is one set"
    )
    add_output(parser, "the folder to write, or to resume in", metavar="FOLDER")
    for part in (Frozen(), JudgeSettings()):
        for name in option_names(part):
            add_option(parser, part, name)
    add_device(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.retrieve.training_log import TrainingLog

    try:
        from interloq.scorers.judge.job import train
    except ImportError as error:
        raise MissingDependencyError("train judge", error.name or "torch", "encoder") from error
    bad = BadLines()
    try:
        facts = train(
            TrainingLog(args.files, strict=args.strict, on_reject=bad),
            args.output,
            with_options(JudgeSettings(), args),
            scorer=args.scorer,
            device=args.device,
            progress=stage_progress(quiet=args.quiet),
            report=lambda line: None if args.quiet else print_stderr(line),
        )
    except KeyboardInterrupt:
        print_stderr(f"\nrerun the same command to resume in {args.output}")
        raise
    finally:
        bad.close()
    if args.json:
        print_json({"model": args.output, **facts})
        return 0
    print_line(f"{args.output}: {facts['signature']}")
    rows = [
        [one["aspect"], *(f"{one[name]:g}" for name in COLUMNS), number(one["spearman"]), interval(one["ci"])]
        for one in facts["aspects"]
    ]
    print_table("", ["aspect", *COLUMNS.values(), "Spearman, held out", "95 % interval"], rows)
    return 0
