# SPDX-License-Identifier: Apache-2.0
"""`interloq extend`: samples in, samples with additional references from logs out."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.shared.arguments import add_common, add_map, add_options, add_output, add_samples, make_options
from interloq.cli.shared.output import reading, stage_progress
from interloq.errors import count
from interloq.retrieve.retrieve_options import ExtendOptions
from interloq.terminal.console import print_json, print_line, print_table

EXAMPLES = """\
  interloq extend samples.jsonl --index index -o extended.jsonl
  interloq extend samples.jsonl --index index -k 10 --no-parrot --diversity 0.3 -o extended.jsonl
  interloq extend samples.jsonl --index index --near-duplicates 0.9 --exclude threads.txt -o extended.jsonl"""
REASONS = {
    "id": "from the sample's own thread, or excluded by name",
    "utterance": "utterance is a turn of the sample",
    "gold": "reply is a gold reply",
    "near gold": "reply is nearly identical to a gold reply",
    "own": "reply is the one being judged",
    "repeated": "reply is already a reference",
    "empty": "reply is empty",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_samples(parser)
    add_output(parser, "the extended samples; - for a pipe")
    add_options(parser, ExtendOptions)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    from interloq.retrieve.extend import extend_file

    options, progress = make_options(ExtendOptions, args), stage_progress(quiet=args.quiet)
    with reading(args) as read_options:
        facts = extend_file(args.samples, args.output, options, reading=read_options, progress=progress)
    if args.output == "-":
        return
    if args.json:
        print_json({"output": args.output, **facts})
    else:
        print_extended(args.output, facts, options.k)


def print_extended(output: str, facts: dict[str, Any], k: int) -> None:
    """Print how many replies were found, and which were dropped."""
    counts = facts["counts"]
    replies = count(counts["retrieved"], "retrieved reply", "retrieved replies")
    print_line(f"{output}: {count(counts['samples'], 'sample')} with {replies}")
    for name, what in (
        ("fewer", f"with fewer than {k}: the index has no more that can be used"),
        ("without_context", "without an utterance to search for: nothing was added"),
        ("without_gold", "without a gold reply: copies of it cannot be recognized"),
        ("own", "with the reply being judged among the references (--drop-own-replies drops it)"),
    ):
        if counts[name]:
            print_line(f"{count(counts[name], 'sample')} {what}")
    rows = [[REASONS[r], str(n["pairs"]), str(n["samples"])] for r, n in counts["dropped"].items()]
    if rows:
        print_table("", ["dropped", "pairs", "samples"], rows)
