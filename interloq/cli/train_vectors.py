"""`interloq train vectors`: GloVe vectors from texts, or a folder from vectors of another program."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from interloq.cli.output import BadLines, add_common
from interloq.cli.paths import InputPath, OutputPath
from interloq.cli.progress import progress
from interloq.data.texts import KINDS
from interloq.errors import InputError
from interloq.report.console import number, print_json, say, tell

if TYPE_CHECKING:
    from interloq.vectors.word_vectors import WordVectors

# option → (metavar, what it does); the defaults are those of vectors/glove/job.py
NUMBERS = {
    "dimensions": ("N", "numbers in a vector"),
    "window": ("N", "words on either side that count as near"),
    "x-max": ("X", "pairs that co-occur this often or more weigh 1"),
    "alpha": ("A", "exponent of the weight (x / x_max)^A below that"),
    "epochs": ("N", "passes over all pairs"),
    "learning-rate": ("R", "first step of AdaGrad"),
    "bias-rate": ("R", "the same for biases; later releases of the GloVe program use 1"),
    "clip": ("C", "components of a gradient are cut at ±C"),
    "min-count": ("N", "words that occur less often are left out"),
    "max-vocabulary": ("N", "only the N most frequent words"),
    "seed": ("N", "seed of start values and order"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        type=InputPath,
        metavar="FILE",
        help="pairs, dialogues, samples, posts, or text with a text a line; - for a pipe",
    )
    parser.add_argument(
        "-o", "--output", type=OutputPath, required=True, metavar="FOLDER", help="the folder to write, or to go on in"
    )
    parser.add_argument(
        "--from", dest="source", type=InputPath, metavar="FILE", help="convert GloVe, word2vec or .vec vectors instead"
    )
    parser.add_argument("--kind", choices=KINDS, help="what the files hold (default: seen from each file)")
    parser.add_argument(
        "--tokenizer",
        metavar="SPEC",
        help=f"splits texts into words (default {_default('tokenizer')}); with --from: the one the vectors are for",
    )
    for name, (metavar, what) in NUMBERS.items():
        kind = float if metavar in ("X", "A", "R", "C") else int
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=f"{what} (default {_default(name)})")
    parser.add_argument("--keep-duplicates", action="store_true", help="count a text each time it occurs, not once")
    parser.add_argument(
        "--threads", type=int, default=0, metavar="N", help="default: all cores; never changes the result"
    )
    parser.add_argument("--memory", type=float, default=4.0, metavar="GB", help="for counting (default 4)")
    parser.add_argument(
        "--device", choices=("cpu", "cuda", "torch"), default="cpu", help="cuda and torch (on the CPU) need torch"
    )
    parser.add_argument(
        "--text", type=OutputPath, metavar="FILE", help="also write GloVe's text form; .gz .xz .zst compress it"
    )
    parser.add_argument("--neighbours", nargs="+", metavar="WORD", help="show the words nearest to these")
    add_common(parser)


def _default(name: str) -> str:
    from dataclasses import fields

    from interloq.vectors.glove.settings import Glove

    value = next(field.default for field in fields(Glove) if field.name == name.replace("-", "_"))
    return "the learning rate" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def run(args: argparse.Namespace) -> int:
    if bool(args.source) == bool(args.files):
        raise InputError(
            "name files with texts, or vectors with --from FILE", cure="see: interloq train vectors --help"
        )
    vectors = _converted(args) if args.source else _trained(args)
    if args.text:
        vectors.export(args.text)
    neighbours = {word: vectors.nearest(word) for word in args.neighbours or ()}
    if args.json:
        print_json({"vectors": args.output, **vectors.facts, "neighbours": neighbours})
        return 0
    say(f"{args.output}: {vectors.signature()}")
    for word, near in neighbours.items():
        say(f"{word}: " + ", ".join(f"{other} {number(cosine, 2)}" for other, cosine in near))
    return 0


def _converted(args: argparse.Namespace) -> WordVectors:
    from pathlib import Path

    from interloq.vectors.word_vectors import WordVectors

    given = [name for name in NUMBERS if getattr(args, name.replace("-", "_")) is not None]
    if given:
        raise InputError(f"--{given[0]} belongs to training, not to --from")
    if Path(args.output).exists():
        raise InputError(f"{args.output} exists", cure="choose another folder")
    WordVectors.load(args.source, tokenizer=args.tokenizer).save(args.output)
    return WordVectors.load(args.output)


def _trained(args: argparse.Namespace) -> WordVectors:
    from interloq.registry import create
    from interloq.vectors.glove.job import train
    from interloq.vectors.glove.settings import Glove

    options: dict[str, Any] = {name.replace("-", "_"): getattr(args, name.replace("-", "_")) for name in NUMBERS}
    options = {name: value for name, value in options.items() if value is not None}
    if args.tokenizer:
        options["tokenizer"] = create(args.tokenizer, kind="tokenizer")
    settings = Glove(keep_duplicates=args.keep_duplicates, **options)
    try:
        return train(
            _texts(args),
            args.output,
            settings,
            source=_fingerprint(args.files),
            device=args.device,
            threads=args.threads,
            memory=args.memory,
            progress=lambda label, total: _bar(label, total, args.quiet),
            say=lambda line: None if args.quiet else tell(line),
        )
    except KeyboardInterrupt:
        tell(f"\nthe same command goes on in {args.output}")
        raise


def _bar(label: str, total: int | None, quiet: bool) -> AbstractContextManager[Any]:
    return progress(label, total, quiet=quiet)


def _texts(args: argparse.Namespace) -> Iterator[str]:
    from interloq.data.texts import file_texts

    for path in args.files:
        bad = BadLines()
        yield from file_texts(path, kind=args.kind, strict=args.strict, on_reject=bad)
        bad.close()


def _fingerprint(files: list[str]) -> str:
    """One name for the files, whatever their order."""
    from pathlib import Path

    from interloq.data.files import open_bytes
    from interloq.signature import file_fingerprint, fingerprint

    prints = []
    for path in files:
        with open_bytes(path):  # says what is wrong with a path
            prints.append("pipe" if path == "-" else file_fingerprint(Path(path)))
    return fingerprint(*sorted(prints))
