"""`interloq train rater`: a network that says how good a reply is as a reference, learned from logs."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interloq.cli.learning import given
from interloq.cli.logs import TrainingLog
from interloq.cli.output import add_common
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import progress
from interloq.errors import InputError
from interloq.report.console import number, print_json, say, tell

if TYPE_CHECKING:
    from interloq.learn.pieces import Pieces
    from interloq.models.subwords import Subwords
    from interloq.rate.bert_model import BertRaterModel
    from interloq.rate.model import RaterModel
    from interloq.rate.pairs import RaterPairs

# option → (kind, metavar, what it does); the defaults are those of its dataclass, see _default
OPTIONS: dict[str, tuple[type, str, str]] = {
    "epochs": (int, "N", "passes over all examples, at most"),
    "patience": (int, "N", "epochs without a better dev loss before it stops"),
    "learning-rate": (float, "R", "step of Adam"),
    "weight-decay": (float, "D", "pull of the weights towards 0"),
    "warmup": (float, "S", "share of all steps in which the learning rate rises"),
    "clip": (float, "C", "norm that gradients are cut to; 0: not at all"),
    "accumulate": (int, "N", "batches a step"),
    "checkpoint-minutes": (float, "M", "time between checkpoints"),
    "seed": (int, "N", "seed of start values, order and choice of examples"),
    "batch": (int, "N", "examples in a batch"),
    "tokens": (int, "N", "tokens in a batch, if all texts were as long as its longest"),
    "longest": (int, "N", "tokens of a text that count"),
    "most-replies": (int, "N", "replies of one utterance that are used"),
    "most-positives": (int, "N", "pairs of replies of one utterance that are used"),
    "dev-share": (float, "S", "share of utterances that are kept for the dev part"),
}
GRU_OPTIONS: dict[str, tuple[type, str, str]] = {
    "vocabulary": (int, "N", "pieces of the tokenizer that is trained"),
    "embedding": (int, "N", "numbers in a token's vector"),
    "hidden": (int, "N", "units of the Bi-GRU in each direction"),
    "layers": (int, "N", "ReLU layers above it"),
    "width": (int, "N", "units in each of these"),
}
LOOP = (
    *("epochs", "patience", "learning_rate", "weight_decay", "warmup", "schedule"),
    *("clip", "accumulate", "checkpoint_minutes", "seed", "amp"),
)
VOCABULARY, LONGEST = 16_000, 128  # of the Bi-GRU's tokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=InputPath, metavar="FILE", help="pairs or dialogues, also .gz .xz .zst"
    )
    parser.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="FOLDER", help="the folder to write, or to go on in"
    )
    parser.add_argument(
        "--encoder",
        type=InputPath,
        metavar="NAME",
        help="fine-tune this transformer instead of training a Bi-GRU: a folder, an installed model package "
        "or hub:org/name@revision",
    )
    parser.add_argument(
        "--negatives", choices=("any", "matched"), help="draw negatives from any pair (default), or those of positives"
    )
    parser.add_argument(
        "--without", action="append", default=[], type=InputPath, metavar="SAMPLES", help="leave out what these share"
    )
    parser.add_argument(
        "--examples", type=InputPath, metavar="FOLDER", help="keep the tokenised examples here, for further raters"
    )
    for name, (kind, metavar, what) in OPTIONS.items():
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=f"{what} {_default(name)}")
    parser.add_argument(
        "--schedule",
        choices=("constant", "linear"),
        help="of the learning rate (default constant, with --encoder linear)",
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--amp", choices=("auto", "bf16", "off"), help="mixed precision (default: bf16 on a GPU)")
    parser.add_argument("--compile", action="store_true", help="let torch compile the network first")
    group = parser.add_argument_group("the Bi-GRU, without --encoder")
    group.add_argument(
        "--tokenizer",
        type=InputPath,
        metavar="FILE",
        help="a SentencePiece model (default: one is trained on the pairs)",
    )
    for name, (kind, metavar, what) in GRU_OPTIONS.items():
        group.add_argument(f"--{name}", type=kind, metavar=metavar, help=f"{what} {_default(name)}")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    _check(args)
    from interloq.models.processes import Processes

    log = TrainingLog(args.files, args.without, strict=args.strict)
    if model := _done(args, log):
        tell(f"{args.output} is trained already")
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
        tell(f"\nthe same command goes on in {args.output}")
        raise
    finally:
        log.close()
    return 0


def _check(args: argparse.Namespace) -> None:
    """What is needed is installed, and nothing is asked for that would not be used."""
    given = [name for name in ("tokenizer", *GRU_OPTIONS) if getattr(args, name) is not None]
    if args.encoder and given:
        raise InputError(f"--{given[0]} is for the Bi-GRU", cure=f"leave --{given[0]} or --encoder out")
    try:
        _kind(args)
    except ImportError as error:
        from interloq.errors import MissingDependencyError

        extra = "encoder" if args.encoder else "rater"
        raise MissingDependencyError("training a rater", error.name or "torch", extra) from error


def _kind(args: argparse.Namespace) -> type[RaterModel] | type[BertRaterModel]:
    if args.encoder:
        from interloq.rate.bert_model import BertRaterModel

        return BertRaterModel
    from interloq.rate.model import RaterModel

    return RaterModel


def _done(args: argparse.Namespace, log: TrainingLog) -> RaterModel | BertRaterModel | None:
    """The rater that an earlier run of this command left; one of other logs is refused."""
    from interloq.learn.store import FACTS

    if not Path(args.output, FACTS).exists():
        return None
    model = _kind(args).load(args.output)
    if model.facts["examples"]["source"] != log.fingerprint:
        raise InputError(f"{args.output} holds a rater of other logs", cure="choose another folder")
    return model


def _prepared(args: argparse.Namespace, log: TrainingLog) -> tuple[RaterPairs, Pieces | Subwords]:
    """Tokenizer and examples, made once: what is there already is taken."""
    from interloq.rate.examples import Examples
    from interloq.rate.pairs import write_examples

    numbering = _subwords(args) if args.encoder else _pieces(args, log)
    with progress("reading pairs", quiet=args.quiet) as step:
        pairs = write_examples(
            log.logs(),
            Path(args.examples) if args.examples else Path(args.output) / "work" / "examples",
            numbering,
            Examples(**given(args, ("most_replies", "most_positives", "dev_share", "negatives", "seed"))),
            source=log.fingerprint,
            progress=step,
        )
    return pairs, numbering


def _trained(args: argparse.Namespace, pairs: RaterPairs, numbering: Pieces | Subwords) -> RaterModel | BertRaterModel:
    from interloq.learn.pieces import Pieces
    from interloq.learn.settings import Training
    from interloq.rate.settings import BERT_BATCHING, BERT_TRAINING, Batching, Shape

    training, batching = (BERT_TRAINING, BERT_BATCHING) if args.encoder else (Training(), Batching())
    options: dict[str, Any] = {
        "batching": replace(batching, **given(args, ("batch", "tokens"))),
        "training": replace(training, **given(args, LOOP), compile=args.compile),
        "device": args.device,
        "progress": lambda label, total: progress(label, total, quiet=args.quiet),
        "say": lambda line: None if args.quiet else tell(line),
    }
    if isinstance(numbering, Pieces):
        from interloq.rate.model import train_rater

        shape = Shape(**given(args, ("embedding", "hidden", "layers", "width")))
        return train_rater(pairs, numbering, args.output, shape=shape, **options)
    from interloq.rate.bert_model import train_bert_rater

    return train_bert_rater(pairs, numbering, args.output, **options)


def _print(args: argparse.Namespace, model: RaterModel | BertRaterModel) -> None:
    from interloq.learn.learning_curve import read_curve

    curve = read_curve(args.output)
    best = min(curve, key=lambda epoch: epoch["dev_loss"])
    if args.json:
        print_json({"rater": args.output, **model.facts, "epochs": curve})
        return
    say(f"{args.output}: {model.facts['signature']}")
    say(f"best of {len(curve)} epochs: {best['epoch']}, dev loss {number(best['dev_loss'], 4)}")
    say(f"calibration of the dev part: temperature {number(model.facts['temperature'], 2)}")


def _default(name: str) -> str:
    """`(default 15; with --encoder 3)`, from the settings themselves."""
    from interloq.learn.settings import Training
    from interloq.rate.examples import Examples
    from interloq.rate.settings import BERT_BATCHING, BERT_LONGEST, BERT_TRAINING, Batching, Shape

    own = {"vocabulary": VOCABULARY, "longest": LONGEST}
    for part in (Training(), Examples(), Batching(), Shape()):
        own |= vars(part)
    with_encoder = own | vars(BERT_TRAINING) | vars(BERT_BATCHING) | {"longest": BERT_LONGEST}
    value, other = (f"{values[name.replace('-', '_')]:g}" for values in (own, with_encoder))
    return f"(default {value})" if value == other else f"(default {value}, with --encoder {other})"


def _subwords(args: argparse.Namespace) -> Subwords:
    from interloq.models.pretrained import model_folder
    from interloq.models.subwords import Subwords
    from interloq.rate.settings import BERT_LONGEST

    return Subwords(model_folder(args.encoder), longest=BERT_LONGEST if args.longest is None else args.longest)


def _pieces(args: argparse.Namespace, log: TrainingLog) -> Pieces:
    from interloq.learn.pieces import Pieces

    model = Path(args.tokenizer) if args.tokenizer else _tokenizer(args, log)
    return Pieces(model, longest=LONGEST if args.longest is None else args.longest)


def _tokenizer(args: argparse.Namespace, log: TrainingLog) -> Path:
    """Named after what it is made from: one of other logs, or of another size, is not taken for it."""
    from interloq.learn.pieces import train_pieces
    from interloq.signature import fingerprint

    vocabulary = VOCABULARY if args.vocabulary is None else args.vocabulary
    path = Path(args.output) / "work" / f"pieces-{fingerprint(log.fingerprint, str(vocabulary))}.model"
    if not path.exists():
        with progress("reading texts for the tokenizer", quiet=args.quiet) as step:
            train_pieces(log.pairs(), path, vocabulary=vocabulary, step=step)
    return path
