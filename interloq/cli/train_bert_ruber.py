"""`interloq train bert-ruber`: BERT-RUBER's unreferenced scorer from pairs of an utterance and a reply."""

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

# option → (kind, metavar, what it does); the defaults are those of scorers/bert_ruber/settings.py
MODEL: Options = {
    "longest": (int, "N", "tokens of a text that count"),
    "batch": (int, "N", "pairs in a batch"),
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
        "--encoder",
        required=True,
        type=InputPath,
        metavar="NAME",
        help="a folder, an installed package or hub:org/name@revision",
    )
    parser.add_argument("--pooling", choices=("max", "mean"), help="how tokens make a text's vector (default mean)")
    parser.add_argument("--layer", type=int, metavar="N", help="of the encoder, from 1 (default: the last)")
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
        from interloq.scorers.bert_ruber.job import train
    except ImportError as error:
        raise MissingDependencyError("training BERT-RUBER", error.name or "torch", "encoder") from error
    from dataclasses import replace

    from interloq.scorers.bert_ruber.settings import TRAINING, BertRuberSettings

    try:
        return train(
            log.pairs,
            args.output,
            args.encoder,
            BertRuberSettings(**given(args, ["pooling", "layer", *MODEL]), seed=args.seed),
            replace(TRAINING, **given(args, SCORERS), seed=args.seed),
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
    from interloq.scorers.bert_ruber.settings import TRAINING, BertRuberSettings

    default: float = getattr(TRAINING if option in SCORERS else BertRuberSettings(), option.replace("-", "_"))
    return default
