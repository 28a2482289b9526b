"""`interloq train adapt`: a pretrained encoder or language model learns the language of logs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from interloq.cli.learning import Options, given
from interloq.cli.logs import TrainingLog
from interloq.cli.output import add_common
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import progress
from interloq.errors import InputError, MissingDependencyError
from interloq.report.console import number, print_json, say, tell

# option → (kind, metavar, what it does); the defaults are those of learn/adapt/settings.py
LEARNING: Options = {
    "epochs": (int, "N", "passes over all pairs, at most"),
    "patience": (int, "N", "epochs without a better dev loss before it stops"),
    "learning-rate": (float, "R", "highest step of AdamW"),
    "warmup": (float, "W", "share of the steps in which the rate rises; then it falls to 0"),
    "weight-decay": (float, "D", "by which AdamW shrinks weights"),
    "clip": (float, "C", "norm that gradients are cut to; 0: not at all"),
    "accumulate": (int, "N", "batches a step"),
    "checkpoint-minutes": (float, "M", "time between checkpoints"),
}
READING: Options = {
    "batch": (int, "N", "pairs in a batch, at most"),
    "tokens": (int, "N", "tokens in a batch, padding included, at most"),
    "longest": (int, "N", "tokens of a text that count"),
    "mask": (float, "P", "share of tokens that an encoder has to guess"),
    "dev": (int, "N", "pairs kept for checking, at most a tenth"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from interloq.learn.adapt.settings import ADAPT, Adaptation

    parser.add_argument(
        "--model",
        required=True,
        type=InputPath,
        metavar="NAME",
        help="a folder, an installed package, or hub:org/name@revision",
    )
    parser.add_argument(
        "--objective",
        choices=("auto", "mlm", "lm"),
        default="auto",
        help="guess masked tokens (mlm) or the next one (lm); auto: as the model was made",
    )
    parser.add_argument(
        "--examples", type=InputPath, metavar="FOLDER", help="what `train relevance --examples` kept, in place of logs"
    )
    add_training(parser, {**vars(Adaptation()), **vars(ADAPT)}, files="*")


def add_training(parser: argparse.ArgumentParser, defaults: dict[str, Any], *, files: str = "+") -> None:
    """All that training from logs takes, whatever the network starts from."""
    parser.add_argument(
        "files", nargs=files, type=InputPath, metavar="FILE", help="pairs or dialogues, also .gz .xz .zst"
    )
    parser.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="FOLDER", help="the folder to write, or to go on in"
    )
    parser.add_argument(
        "--without", action="append", default=[], type=InputPath, metavar="SAMPLES", help="leave out what these share"
    )
    for name, (kind, metavar, what) in (LEARNING | READING).items():
        default = defaults[name.replace("-", "_")]
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=f"{what} (default {default:g})")
    parser.add_argument("--amp", choices=("auto", "bf16", "off"), help="half precision (auto: bf16 on a GPU)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of new weights, order and masks")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.learn.adapt.settings import ADAPT, Adaptation

    settings = Adaptation(objective=args.objective, **given(args, READING), seed=args.seed)
    if bool(args.examples) == bool(args.files or args.without):
        raise InputError("name logs to train on, or --examples FOLDER, and not both")

    def train(pairs: Any, training: Any, **options: Any) -> dict[str, Any]:
        from interloq.learn.adapt.job import train

        if args.examples:
            from interloq.scorers.relevance.examples import Exchanges
            from interloq.scorers.relevance.pairs import ExchangePairs

            pairs = ExchangePairs(Exchanges.load(Path(args.examples)))
            options["source"] = pairs.source
        return train(pairs, args.output, args.model, settings, training, **options)

    return trained(args, train, ADAPT)


def trained(args: argparse.Namespace, train: Any, training: Any) -> int:
    """Train with the options given and print what came of it."""
    from dataclasses import replace

    log = TrainingLog(args.files, args.without, strict=args.strict)
    try:
        facts = train(
            log.pairs,
            replace(training, **given(args, [*LEARNING, "amp"]), seed=args.seed),
            source=log.fingerprint,
            device=args.device,
            progress=lambda label, total: progress(label, total, quiet=args.quiet),
            say=lambda line: None if args.quiet else tell(line),
        )
    except ImportError as error:
        raise MissingDependencyError(f"train {args.part}", error.name or "transformers", "encoder") from error
    except KeyboardInterrupt:
        tell(f"\nthe same command goes on in {args.output}")
        raise
    finally:
        log.close()
    _show(args, facts)
    return 0


def _show(args: argparse.Namespace, facts: dict[str, Any]) -> None:
    if args.json:
        print_json({"model": args.output, **facts})
        return
    before, after = facts["before"], facts["after"]
    say(f"{args.output}: {facts['signature']}")
    losses = f"dev loss {number(before['dev_loss'], 4)} before, {number(after['dev_loss'], 4)} after"
    perplexities = f"perplexity {before['perplexity']:,.1f} before, {after['perplexity']:,.1f} after"
    say(f"{losses} epoch {after['epoch']}; {perplexities}")
