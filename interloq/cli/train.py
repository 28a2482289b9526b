"""`interloq train …`: everything that learns. So far: tokenizers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from interloq.cli.output import BadLines, add_common, print_json

EXAMPLES = """\
  interloq train tokenizer samples.jsonl -o chat.model --vocabulary 8000
  interloq score samples.jsonl -m "bleu(tokenizer='sentencepiece(model=\\"chat.model\\")')\""""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    tokenizer = parts.add_parser("tokenizer", help="a SentencePiece model from the texts of samples")
    tokenizer.add_argument("samples", metavar="SAMPLES", help="JSONL, CSV or TSV, also compressed; - for a pipe")
    tokenizer.add_argument("-o", "--output", required=True, metavar="FILE", help="the model file to write")
    tokenizer.add_argument("--vocabulary", type=int, default=16_000, help="number of pieces (default 16000)")
    tokenizer.add_argument("--coverage", type=float, default=0.9995, help="share of characters kept (default .9995)")
    tokenizer.add_argument("--algorithm", choices=("unigram", "bpe"), default="unigram")
    add_common(tokenizer)


def run(args: argparse.Namespace) -> int:
    from interloq.data.tokenize import SentencePiece, train_sentencepiece

    bad = BadLines()
    path = train_sentencepiece(
        _texts(args.samples, args.strict, bad),
        args.output,
        vocabulary=args.vocabulary,
        coverage=args.coverage,
        algorithm=args.algorithm,
    )
    bad.close(args.samples)
    signature = SentencePiece(model=str(path)).signature()
    if args.json:
        print_json({"model": str(path), "signature": signature})
    else:
        print(f"{path}: {signature}")
    return 0


def _texts(path: str, strict: bool, bad: BadLines) -> Iterator[str]:
    """Every text of every sample, each distinct one once: shared references must not count twice."""
    from interloq.data.jsonl import read

    seen: set[int] = set()
    for sample in read(path, strict=strict, on_reject=bad):
        texts = [turn.text for turn in sample.context] + [sample.response] + [r.text for r in sample.references]
        for text in texts:
            if text and (key := hash(text)) not in seen:
                seen.add(key)
                yield text
