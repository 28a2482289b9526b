# SPDX-License-Identifier: Apache-2.0
"""`interloq train tokenizer`: a SentencePiece model from the distinct texts of a file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from interloq.cli.shared.arguments import add_common, add_output
from interloq.cli.shared.output import BadLineReporter
from interloq.cli.shared.paths import InputPath
from interloq.data.records.read_options import ReadOptions
from interloq.terminal.console import print_json, print_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "samples",
        type=InputPath,
        metavar="FILE",
        help="samples, dialogues, pairs or text (one text per line), also compressed; - for samples",
    )
    add_output(parser, "the model file to write")
    parser.add_argument("--vocabulary", type=int, default=16_000, help="number of pieces (default 16000)")
    parser.add_argument("--coverage", type=float, default=0.9995, help="share of characters kept (default 0.9995)")
    parser.add_argument("--algorithm", choices=("unigram", "bpe"), default="unigram", help="default unigram")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.data.text.tokenize import SentencePiece, train_sentencepiece

    bad = BadLineReporter()
    path = train_sentencepiece(
        _texts(args.samples, args.strict, bad),
        args.output,
        vocabulary=args.vocabulary,
        coverage=args.coverage,
        algorithm=args.algorithm,
    )
    bad.close()
    signature = SentencePiece(model=str(path)).signature()
    if args.json:
        print_json({"model": str(path), "signature": signature})
    else:
        print_line(f"{path}: {signature}")
    return 0


def _texts(path: str, strict: bool, bad: BadLineReporter) -> Iterator[str]:
    """The distinct texts of the file: shared references must not count twice."""
    from interloq.data.text.texts import file_texts

    seen: set[int] = set()
    kind = "samples" if path == "-" else None
    for text in file_texts(path, kind=kind, reading=ReadOptions(strict=strict, on_reject=bad)):
        if (key := hash(text)) not in seen:
            seen.add(key)
            yield text
