"""`interloq train ruber`: RUBER's unreferenced scorer from pairs of an utterance and a reply."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.learning import SCORERS, Options, given, show_scorer
from interloq.cli.logs import TrainingLog
from interloq.cli.output import add_common
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import progress
from interloq.errors import MissingDependencyError
from interloq.report.console import tell

# option → (kind, metavar, what it does); the defaults are those of scorers/ruber/settings.py
MODEL: Options = {
    "embedding": (int, "N", "numbers in the vector of a piece"),
    "hidden": (int, "N", "units of a Bi-GRU in each direction"),
    "margin": (float, "D", "by which a true reply must beat a random one"),
    "batch": (int, "N", "pairs in a batch"),
    "vocabulary": (int, "N", "pieces of a tokenizer that is trained here"),
    "longest": (int, "N", "pieces of a text that count"),
    "dev": (int, "N", "pairs kept for checking, at most a tenth"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=InputPath, metavar="FILE", help="pairs or dialogues, also .gz .xz .zst"
    )
    parser.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="FOLDER", help="the folder to write, or to go on in"
    )
    parser.add_argument(
        "--tokenizer", type=InputPath, metavar="MODEL", help="a SentencePiece model (default: one trained on the pairs)"
    )
    parser.add_argument(
        "--without", action="append", default=[], type=InputPath, metavar="SAMPLES", help="leave out what these share"
    )
    for name, (kind, metavar, what) in (SCORERS | MODEL).items():
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=f"{what} (default {_default(name):g})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of weights, order and random replies")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    show_scorer(args, _trained(args, TrainingLog(args.files, args.without, strict=args.strict)))
    return 0


def _trained(args: argparse.Namespace, log: TrainingLog) -> dict[str, Any]:
    try:
        from interloq.scorers.ruber.job import train
    except ImportError as error:
        raise MissingDependencyError("training RUBER", error.name or "torch", "rater") from error
    from dataclasses import replace

    from interloq.scorers.ruber.settings import TRAINING, Unreferenced

    try:
        return train(
            log.pairs,
            args.output,
            Unreferenced(**given(args, MODEL), seed=args.seed),
            replace(TRAINING, **given(args, SCORERS), seed=args.seed),
            tokenizer=args.tokenizer,
            source=log.fingerprint,
            device=args.device,
            progress=lambda label, total: progress(label, total, quiet=args.quiet),
            say=lambda line: None if args.quiet else tell(line),
        )
    except KeyboardInterrupt:
        tell(f"\nthe same command goes on in {args.output}")
        raise
    finally:
        log.close()


def _default(option: str) -> float:
    from interloq.scorers.ruber.settings import TRAINING, Unreferenced

    default: float = getattr(TRAINING if option in SCORERS else Unreferenced(), option.replace("-", "_"))
    return default
