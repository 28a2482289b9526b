# SPDX-License-Identifier: Apache-2.0
"""`interloq train vectors`: train GloVe vectors on texts, or convert vectors of another program."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from interloq.cli.shared.arguments import add_common, add_output
from interloq.cli.shared.options import add_options, given_options
from interloq.cli.shared.output import BadLineReporter
from interloq.cli.shared.paths import InputPath, OutputFile
from interloq.cli.shared.progress import progress
from interloq.data.records.read_options import ReadOptions
from interloq.data.text.texts import KINDS
from interloq.errors import InputError
from interloq.options import flags_of
from interloq.registry import spec
from interloq.terminal.console import number, print_json, print_line, print_stderr

if TYPE_CHECKING:
    from interloq.vectors.word_vectors import WordVectors


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from interloq.vectors.glove.settings import Glove

    parser.add_argument(
        "files",
        nargs="*",
        type=InputPath,
        metavar="FILE",
        help="pairs, dialogues, samples, posts, or text with one text per line; - for a pipe",
    )
    add_output(parser, "the folder to write, or to resume in", metavar="FOLDER")
    parser.add_argument(
        "--from",
        dest="source",
        type=InputPath,
        metavar="FILE",
        help="convert a file of GloVe, word2vec or .vec vectors instead",
    )
    parser.add_argument("--kind", choices=KINDS, help="kind of records in the files (default: detected per file)")
    parser.add_argument(
        "--tokenizer",
        metavar="SPEC",
        help=f"splits texts into words (default {spec(Glove().tokenizer)}); with --from: the vectors' tokenizer",
    )
    add_options(parser, Glove(), with_defaults=False)
    parser.add_argument(
        "--threads", type=int, default=0, metavar="N", help="threads (default: all cores); does not change the result"
    )
    parser.add_argument("--memory", type=float, default=4.0, metavar="GB", help="memory for counting (default 4)")
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda", "torch"),
        default="cpu",
        help="where to train (default cpu); cuda, and torch on the CPU, need torch",
    )
    parser.add_argument(
        "--text",
        type=OutputFile,
        metavar="FILE",
        help="also write GloVe's text format, compressed if named .gz .xz .zst",
    )
    parser.add_argument("--neighbours", nargs="+", metavar="WORD", help="print the nearest neighbours of these words")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    if bool(args.source) == bool(args.files):
        raise InputError("either files with texts or --from FILE is needed", hint="see: interloq train vectors --help")
    vectors = _convert(args) if args.source else _train(args)
    if args.text:
        vectors.export(args.text)
    neighbours = {word: vectors.nearest(word) for word in args.neighbours or ()}
    if args.json:
        print_json({"vectors": args.output, **vectors.facts, "neighbours": neighbours})
        return 0
    print_line(f"{args.output}: {vectors.signature()}")
    for word, near in neighbours.items():
        print_line(f"{word}: " + ", ".join(f"{other} {number(cosine, 2)}" for other, cosine in near))
    return 0


def _convert(args: argparse.Namespace) -> WordVectors:
    from pathlib import Path

    from interloq.vectors.glove.settings import Glove
    from interloq.vectors.word_vectors import WordVectors

    for flag in flags_of(Glove):
        if getattr(args, flag.name) is not None:
            raise InputError(f"{flag.flag} cannot be used with --from", hint="omit one of them")
    if Path(args.output).exists():
        raise InputError(f"{args.output} already exists", hint="choose another folder")
    WordVectors.load(args.source, tokenizer=args.tokenizer).save(args.output)
    return WordVectors.load(args.output)


def _train(args: argparse.Namespace) -> WordVectors:
    from interloq.vectors.glove.job import train
    from interloq.vectors.glove.settings import Glove

    settings = given_options(Glove(), args)
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
            report=lambda line: None if args.quiet else print_stderr(line),
        )
    except KeyboardInterrupt:
        print_stderr(f"\nrerun the same command to resume in {args.output}")
        raise


def _bar(label: str, total: int | None, quiet: bool) -> AbstractContextManager[Any]:
    return progress(label, total, quiet=quiet)


def _texts(args: argparse.Namespace) -> Iterator[str]:
    from interloq.data.text.texts import file_texts

    for path in args.files:
        bad = BadLineReporter()
        yield from file_texts(path, kind=args.kind, reading=ReadOptions(strict=args.strict, on_reject=bad))
        bad.close()


def _fingerprint(files: list[str]) -> str:
    """Fingerprint of the files, independent of their order."""
    from pathlib import Path

    from interloq.data.files.opening import open_bytes
    from interloq.signature import file_fingerprint, fingerprint

    prints = []
    for path in files:
        with open_bytes(path):  # raises a clear error for a path that cannot be read
            prints.append("pipe" if path == "-" else file_fingerprint(Path(path)))
    return fingerprint(*sorted(prints))
