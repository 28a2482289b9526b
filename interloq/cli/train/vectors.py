# SPDX-License-Identifier: Apache-2.0
"""`interloq train vectors`: train GloVe vectors on texts, or convert vectors of another program."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from interloq.cli.shared.arguments import add_common, add_input, add_options, add_output, apply_arguments
from interloq.cli.shared.output import read_texts, stage_progress
from interloq.data.text.texts import KINDS
from interloq.errors import InputError
from interloq.options import flags_of, option
from interloq.terminal.console import number, print_json, print_line, print_stderr

if TYPE_CHECKING:
    from interloq.vectors.word_vectors import WordVectors


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorOptions:
    """What is read and written, and how it is computed; none of it changes the vectors of given texts."""

    source: str | None = option(
        None, "convert a file of GloVe, word2vec or .vec vectors instead", flag="--from", path=True, metavar="FILE"
    )
    kind: str | None = option(None, "kind of records in the files", choices=KINDS, shown="detected per file")
    tokenizer: str | None = option(
        None,
        "splits texts into words (default 13a(lowercase=True)); with --from: the vectors' tokenizer",
        metavar="SPEC",
    )
    threads: int = option(0, "threads (default: all cores); does not change the result", shown="")
    memory: float = option(4.0, "memory for counting", metavar="GB")
    device: Literal["cpu", "cuda", "torch"] = option(
        "cpu", "where to train (default cpu); cuda, and torch on the CPU, need torch", shown=""
    )
    text: str | None = option(
        None, "also write GloVe's text format, compressed if named .gz .xz .zst", writes=True, metavar="FILE"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from interloq.vectors.glove.settings import Glove

    help = "pairs, dialogues, samples, posts, or text with one text per line; - for a pipe"
    add_input(parser, "files", "FILE", help, nargs="*")
    add_output(parser, "the folder to write, or to resume in", metavar="FOLDER")
    add_options(parser, VectorOptions, only=("source", "kind", "tokenizer"))
    add_options(parser, Glove(), with_defaults=False)
    add_options(parser, VectorOptions, without=("source", "kind", "tokenizer"))
    parser.add_argument("--neighbours", nargs="+", metavar="WORD", help="print the nearest neighbours of these words")
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    if bool(args.source) == bool(args.files):
        raise InputError("either files with texts or --from FILE is needed", hint="see: interloq train vectors --help")
    vectors = _convert(args) if args.source else _train(args)
    if args.text:
        vectors.export(args.text)
    neighbours = {word: vectors.nearest(word) for word in args.neighbours or ()}
    if args.json:
        print_json({"vectors": args.output, **vectors.facts, "neighbours": neighbours})
        return
    print_line(f"{args.output}: {vectors.signature()}")
    for word, near in neighbours.items():
        print_line(f"{word}: " + ", ".join(f"{other} {number(cosine, 2)}" for other, cosine in near))


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

    settings = apply_arguments(Glove(), args)
    try:
        return train(
            read_texts(args.files, strict=args.strict, kind=args.kind),
            args.output,
            settings,
            source=_fingerprint(args.files),
            device=args.device,
            threads=args.threads,
            memory=args.memory,
            progress=stage_progress(quiet=args.quiet),
            report=lambda line: None if args.quiet else print_stderr(line),
        )
    except KeyboardInterrupt:
        print_stderr(f"\nrerun the same command to resume in {args.output}")
        raise


def _fingerprint(files: list[str]) -> str:
    """Return a fingerprint of the files that does not depend on their order."""
    from pathlib import Path

    from interloq.data.files.opening import open_bytes
    from interloq.signature import file_fingerprint, fingerprint

    prints = []
    for path in files:
        with open_bytes(path):  # raises a clear error for a path that cannot be read
            prints.append("pipe" if path == "-" else file_fingerprint(Path(path)))
    return fingerprint(*sorted(prints))
