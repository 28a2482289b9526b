# SPDX-License-Identifier: Apache-2.0
"""`interloq train tokenizer`: a SentencePiece model from the distinct texts of a file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from interloq.cli.shared.arguments import add_common, add_input, add_options, add_output, make_options
from interloq.cli.shared.output import reading
from interloq.data.records.read_options import ReadOptions
from interloq.options import option
from interloq.terminal.console import print_json, print_line


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerOptions:
    """How a SentencePiece model is trained."""

    vocabulary: int = option(16_000, "number of pieces")
    coverage: float = option(0.9995, "share of characters kept")
    algorithm: Literal["unigram", "bpe"] = option("unigram", "how pieces are learned")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    help = "samples, dialogues, pairs or text (one text per line), also compressed; - for samples"
    add_input(parser, "samples", "FILE", help)
    add_output(parser, "the model file to write")
    add_options(parser, TokenizerOptions)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    from interloq.data.text.tokenize import SentencePiece, train_sentencepiece

    options = make_options(TokenizerOptions, args)
    with reading(args) as read_options:
        path = train_sentencepiece(
            _texts(args.samples, read_options),
            args.output,
            vocabulary=options.vocabulary,
            coverage=options.coverage,
            algorithm=options.algorithm,
        )
    signature = SentencePiece(model=str(path)).signature()
    if args.json:
        print_json({"model": str(path), "signature": signature})
    else:
        print_line(f"{path}: {signature}")


def _texts(path: str, read_options: ReadOptions) -> Iterator[str]:
    """Yield the distinct texts of the file: shared references must not count twice."""
    from interloq.data.text.texts import file_texts

    seen: set[int] = set()
    kind = "samples" if path == "-" else None
    for text in file_texts(path, kind=kind, reading=read_options):
        if (key := hash(text)) not in seen:
            seen.add(key)
            yield text
