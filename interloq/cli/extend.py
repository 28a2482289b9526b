# SPDX-License-Identifier: Apache-2.0
"""`interloq extend`: samples in, samples with additional references from logs out."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from interloq.cli.shared.arguments import (
    add_common,
    add_map,
    add_options,
    add_output,
    add_samples,
    make_options,
    shard_options,
)
from interloq.cli.shared.output import mark_incomplete, reading, stage_progress
from interloq.errors import InputError, count
from interloq.retrieve.retrieve_options import ExtendOptions
from interloq.shards.shard_options import ShardOptions
from interloq.terminal.console import number_with_interval, print_json, print_line, print_table

EXAMPLES = """\
  interloq extend samples.jsonl --index index --check
  interloq extend samples.jsonl --index index -o extended.jsonl
  interloq extend samples.jsonl --index index -k 10 --no-parrot --diversity 0.3 -o extended.jsonl
  interloq extend samples.jsonl --index index --near-duplicates 0.9 --exclude threads.txt -o extended.jsonl
  interloq extend samples.jsonl --index index --workers 8 -o extended.jsonl"""
CHANCE = 0.5
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
    add_output(parser, "the extended samples; - for a pipe", required=False)
    parser.add_argument(
        "--check", action="store_true", help="only measure how much the log has in common with the samples"
    )
    add_options(parser, ExtendOptions)
    add_options(parser, ShardOptions)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    if args.check:
        if args.output is not None:
            raise InputError("--check writes nothing", hint="omit -o, or omit --check")
        check_log(args)
        return
    if args.output is None:
        raise InputError("no output file is named", hint="add -o FILE, or --check to only measure the log")
    from interloq.retrieve.extend import extend_file

    options, progress = make_options(ExtendOptions, args), stage_progress(quiet=args.quiet)
    with reading(args) as read_options:
        facts = extend_file(
            args.samples,
            args.output,
            options,
            shards=shard_options(args),
            reading=read_options,
            progress=progress,
        )
    if args.output == "-":
        return
    if args.json:
        print_json({"output": args.output, **facts})
    else:
        print_extended(args.output, facts, options.k)


def check_log(args: argparse.Namespace) -> None:
    """Print how much the log has in common with the samples, before anything is added."""
    from interloq.retrieve.extend import read_ids
    from interloq.retrieve.index import open_index
    from interloq.retrieve.log_overlap import measure_overlap

    options = make_options(ExtendOptions, args)
    index, excluded = open_index(str(options.index)), read_ids(options.exclude)
    with reading(args) as read_options:
        samples = read_options.read(args.samples)
        overlap = measure_overlap(samples, index, k=options.k, turns=options.turns, excluded=excluded)
    mark_incomplete(overlap.reply is None)
    if args.json:
        print_json(asdict(overlap))
        return
    print_line(f"{count(overlap.contexts, 'context')} compared with {count(len(index.store), 'pair')}")
    if overlap.utterance is not None:
        utterance = number_with_interval(overlap.utterance, overlap.utterance_ci, 2)
        print_line(f"words shared with the most similar utterance found: {utterance} (1: the same words)")
    if overlap.reply is None or overlap.reply_ci is None:
        print_line("no gold replies to compare: this needs two contexts with references for which replies are found")
        return
    reply = number_with_interval(overlap.reply, overlap.reply_ci, 2)
    print_line(f"gold replies nearer to what was found for them than for another context: {reply} (0.5: chance)")
    if overlap.reply_ci[0] <= CHANCE:
        print_line("This cannot be told from chance: do not count on more than random replies would give.")
    print_line("Of several logs, prefer the one with the larger figures; they do not tell how much your set will gain.")


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
