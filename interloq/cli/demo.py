"""`interloq demo`: the main job, end to end, on conversations that come with the package."""

from __future__ import annotations

import argparse
from pathlib import Path

from interloq.cli import meta, report, score
from interloq.cli.output import add_common

EXAMPLES = """\
  interloq demo
  interloq demo --language ja -o out/demo-ja"""
METRICS = (
    "bleu(order=2,level='sentence')",
    "bleu_star(order=2)",
    "delta_bleu(order=2)",
    "rouge_l",
    "chrf",
    "distinct",
    "length",
)
TOKENIZERS = {"en": "13a", "ja": "char", "zh": "zh"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--language", choices=sorted(TOKENIZERS), default="en", help="which conversations (default en)")
    parser.add_argument("-o", "--output", default="interloq-demo", metavar="FOLDER", help="where files go")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.data.embedded import embedded_path
    from interloq.data.jsonl import load, write

    folder = Path(args.output)
    samples, scores, page = (str(folder / name) for name in ("samples.jsonl", "scores.jsonl", "report.html"))
    write(samples, load(embedded_path(args.language)), kind="samples", source=f"interloq/embedded/{args.language}")
    for verb, arguments in (
        (score, [samples, "-o", scores, *_metrics(TOKENIZERS[args.language])]),
        (meta, [scores, "--samples", samples]),
        (report, [scores, "--samples", samples, "-o", page, "--title", "Interloq demo"]),
    ):
        print(f"\n$ interloq {verb.__name__.rsplit('.', 1)[-1]} {' '.join(arguments)}")
        parser = argparse.ArgumentParser()
        verb.add_arguments(parser)
        verb.run(parser.parse_args(arguments))
    print("\nThe systems and ratings are illustrative: they were written for this demo, no person gave them.")
    print(f"Open {Path(page).resolve().as_uri()}")
    return 0


def _metrics(tokenizer: str) -> list[str]:
    """`-m SPEC` for each metric, with the tokenizer of the language where the metric has one."""
    from interloq.registry import create, spec

    arguments = []
    for text in METRICS:
        metric = create(text)
        if hasattr(metric, "tokenizer"):
            from dataclasses import replace

            metric = replace(metric, tokenizer=tokenizer)
        arguments += ["-m", spec(metric)]
    return arguments
