# SPDX-License-Identifier: Apache-2.0
"""`interloq cite`: BibTeX of every metric in score files, or of metrics by their specs."""

from __future__ import annotations

import argparse

from interloq.cli.shared.arguments import add_input, add_json
from interloq.terminal.console import print_json, print_line

EXAMPLES = """\
  interloq cite scores.jsonl > metrics.bib
  interloq cite june.jsonl july.jsonl --json
  interloq cite bleu vbertscore"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    help = "score files written by `interloq score`, or metrics"
    add_input(parser, "scores", "SCORES|SPEC", help, nargs="+")
    add_json(parser, "BibTeX")


def run(args: argparse.Namespace) -> None:
    from interloq.score.cite import cite_files

    cited = cite_files(args.scores)
    if args.json:
        print_json(cited.facts())
    else:
        print_line(cited.text())
