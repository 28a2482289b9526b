# SPDX-License-Identifier: Apache-2.0
"""`interloq extend`: samples in, samples with additional references from logs out."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.shared.arguments import add_common, add_drop_own_replies, add_map, add_output, add_samples
from interloq.cli.shared.output import BadLineReporter
from interloq.cli.shared.paths import InputPath
from interloq.cli.shared.progress import stage_progress
from interloq.errors import count
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
    parser.add_argument(
        "--index", required=True, type=InputPath, metavar="INDEX", help="the index to search (see: interloq index)"
    )
    parser.add_argument("-k", type=int, default=15, metavar="N", help="replies to retrieve (default 15)")
    parser.add_argument(
        "--turns", type=int, default=1, metavar="N", help="last turns of the context to search for (default 1)"
    )
    parser.add_argument("--no-parrot", action="store_true", help="do not add the utterance itself")
    parser.add_argument("--no-gold", action="store_true", help="drop the references that came with the samples")
    parser.add_argument(
        "--diversity",
        type=float,
        default=0.0,
        metavar="D",
        help="0 (default): the nearest replies; up to 1: more diverse ones",
    )
    parser.add_argument(
        "--near-duplicates", type=float, default=0.0, metavar="J", help="drop replies this similar to a gold reply"
    )
    parser.add_argument(
        "--exclude", type=InputPath, metavar="FILE", help="ids of pairs, posts or threads to exclude, one per line"
    )
    add_drop_own_replies(parser)
    add_map(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    from interloq.retrieve.extend import extend_file

    bad = BadLineReporter()
    facts = extend_file(
        args.samples,
        args.output,
        index=args.index,
        k=args.k,
        parrot=not args.no_parrot,
        gold=not args.no_gold,
        turns=args.turns,
        diversity=args.diversity,
        near=args.near_duplicates,
        own=not args.drop_own_replies,
        exclude=args.exclude,
        strict=args.strict,
        on_reject=bad,
        columns=args.columns,
        progress=stage_progress(quiet=args.quiet),
    )
    bad.close()
    if args.output == "-":
        return 0
    if args.json:
        print_json({"output": args.output, **facts})
    else:
        print_extended(args.output, facts, args.k)
    return 0


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
