"""`interloq train rater`: a network that says how good a reply is as a reference, learned from logs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interloq.cli.logs import TrainingLog
from interloq.cli.output import add_common, number, print_json, progress
from interloq.errors import InputError

if TYPE_CHECKING:
    from interloq.models.pieces import Pieces
    from interloq.rate.model import RaterModel
    from interloq.rate.pairs import RaterPairs

# option → (kind, metavar, what it does); the defaults are those of its dataclass, see _default
OPTIONS: dict[str, tuple[type, str, str]] = {
    "epochs": (int, "N", "passes over all examples, at most"),
    "patience": (int, "N", "epochs without a better dev loss before it stops"),
    "learning-rate": (float, "R", "step of Adam"),
    "clip": (float, "C", "norm that gradients are cut to; 0: not at all"),
    "accumulate": (int, "N", "batches a step"),
    "checkpoint-minutes": (float, "M", "time between checkpoints"),
    "seed": (int, "N", "seed of start values, order and choice of examples"),
    "batch": (int, "N", "examples in a batch"),
    "tokens": (int, "N", "tokens in a batch, if all texts were as long as its longest"),
    "embedding": (int, "N", "numbers in a token's vector"),
    "hidden": (int, "N", "units of the Bi-GRU in each direction"),
    "layers": (int, "N", "ReLU layers above it"),
    "width": (int, "N", "units in each of these"),
    "most-replies": (int, "N", "replies of one utterance that are used"),
    "most-positives": (int, "N", "pairs of replies of one utterance that are used"),
    "dev-share": (float, "S", "share of utterances that are kept for the dev part"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="pairs or dialogues, also .gz .xz .zst")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="the folder to write, or to go on in")
    parser.add_argument(
        "--tokenizer", metavar="FILE", help="a SentencePiece model (default: one is trained on the pairs)"
    )
    parser.add_argument(
        "--longest", type=int, default=128, metavar="N", help="tokens of a text that count (default 128)"
    )
    parser.add_argument("--vocabulary", type=int, default=16_000, metavar="N", help="its pieces (default 16000)")
    parser.add_argument(
        "--negatives", choices=("any", "matched"), help="draw negatives from any pair (default), or those of positives"
    )
    parser.add_argument("--without", action="append", default=[], metavar="SAMPLES", help="leave out what these share")
    parser.add_argument("--examples", metavar="FOLDER", help="keep the tokenised examples here, for further raters")
    for name, (kind, metavar, what) in OPTIONS.items():
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=f"{what} (default {_default(name)})")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--amp", choices=("auto", "bf16", "off"), help="mixed precision (default: bf16 on a GPU)")
    parser.add_argument("--compile", action="store_true", help="let torch compile the network first")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    try:
        from interloq.models.processes import Processes
    except ImportError as error:
        from interloq.errors import MissingDependencyError

        raise MissingDependencyError("training a rater", error.name or "torch", "rater") from error
    log = TrainingLog(args.files, args.without, strict=args.strict)
    if model := _done(args, log):
        print(f"{args.output} is trained already", file=sys.stderr)
        _print(args, model)
        return 0
    try:
        with Processes.joined(args.device) as processes:
            if processes.first:
                _prepared(args, log)
            processes.wait()
            model = _trained(args, *_prepared(args, log))
            if processes.first:
                _print(args, model)
    except KeyboardInterrupt:
        print(f"\nthe same command goes on in {args.output}", file=sys.stderr)
        raise
    finally:
        log.close()
    return 0


def _done(args: argparse.Namespace, log: TrainingLog) -> RaterModel | None:
    """The rater that an earlier run of this command left; one of other logs is refused."""
    from interloq.models.store import FACTS
    from interloq.rate.model import RaterModel

    if not Path(args.output, FACTS).exists():
        return None
    model = RaterModel.load(args.output)
    if model.facts["examples"]["source"] != log.fingerprint:
        raise InputError(f"{args.output} holds a rater of other logs", cure="choose another folder")
    return model


def _prepared(args: argparse.Namespace, log: TrainingLog) -> tuple[RaterPairs, Pieces]:
    """Tokenizer and examples, made once: what is there already is taken."""
    from interloq.models.pieces import Pieces
    from interloq.rate.examples import Examples
    from interloq.rate.pairs import write_examples

    work = Path(args.output) / "work"
    model = Path(args.tokenizer) if args.tokenizer else _tokenizer(args, log, work)
    pieces = Pieces(model, longest=args.longest)
    with progress("reading pairs", quiet=args.quiet) as step:
        pairs = write_examples(
            log.logs(),
            Path(args.examples) if args.examples else work / "examples",
            pieces,
            Examples(**_given(args, "most_replies", "most_positives", "dev_share", "negatives", "seed")),
            source=log.fingerprint,
            progress=step,
        )
    return pairs, pieces


def _trained(args: argparse.Namespace, pairs: RaterPairs, pieces: Pieces) -> RaterModel:
    from interloq.models.training import Training
    from interloq.rate.model import train_rater
    from interloq.rate.settings import Batching, Shape

    loop = ("epochs", "patience", "learning_rate", "clip", "accumulate", "checkpoint_minutes", "seed", "amp")
    return train_rater(
        pairs,
        pieces,
        args.output,
        shape=Shape(**_given(args, "embedding", "hidden", "layers", "width")),
        batching=Batching(**_given(args, "batch", "tokens")),
        training=Training(**_given(args, *loop), compile=args.compile),
        device=args.device,
        progress=lambda label, total: progress(label, total, quiet=args.quiet),
        say=lambda line: None if args.quiet else print(line, file=sys.stderr),
    )


def _print(args: argparse.Namespace, model: RaterModel) -> None:
    from interloq.rate.model import read_curve

    curve = read_curve(args.output)
    best = min(curve, key=lambda epoch: epoch["dev_loss"])
    if args.json:
        print_json({"rater": args.output, **model.facts, "epochs": curve})
        return
    print(f"{args.output}: {model.facts['signature']}")
    print(f"best of {len(curve)} epochs: {best['epoch']}, dev loss {number(best['dev_loss'], 4)}")
    print(f"calibration of the dev part: temperature {number(model.facts['temperature'], 2)}")


def _given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """What the user chose; the rest keeps the defaults of its dataclass."""
    return {name: value for name in names if (value := getattr(args, name)) is not None}


def _default(name: str) -> str:
    from dataclasses import fields

    from interloq.models.training import Training
    from interloq.rate.examples import Examples
    from interloq.rate.settings import Batching, Shape

    every = {field.name: field.default for part in (Training, Examples, Batching, Shape) for field in fields(part)}
    value = every[name.replace("-", "_")]
    return f"{value:g}" if isinstance(value, float) else str(value)


def _tokenizer(args: argparse.Namespace, log: TrainingLog, work: Path) -> Path:
    """Named after what it is made from: one of other logs, or of another size, is not taken for it."""
    from interloq.models.pieces import train_pieces
    from interloq.signature import fingerprint

    path = work / f"pieces-{fingerprint(log.fingerprint, str(args.vocabulary))}.model"
    if not path.exists():
        with progress("reading texts for the tokenizer", quiet=args.quiet) as step:
            train_pieces(log.pairs(), path, vocabulary=args.vocabulary, step=step)
    return path
