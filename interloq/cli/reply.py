# SPDX-License-Identifier: Apache-2.0
"""`interloq reply`: prompts or samples in, the replies of systems to the same contexts out, as samples."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from interloq.cli.play import PATIENCE, add_bots, make_bots
from interloq.cli.play.view import print_bots, watching
from interloq.cli.shared import arguments
from interloq.cli.shared.output import add_limits, limit_spending, mark_incomplete, reading
from interloq.errors import InputError, count
from interloq.play.play_options import OpeningOptions, ReplyOptions
from interloq.shards.shard_options import ShardOptions
from interloq.terminal.console import print_json, print_line, print_stderr

if TYPE_CHECKING:
    from interloq.play.reply import Replied

EXAMPLES = """\
  interloq reply prompts.jsonl --system mine='endpoint(url="http://localhost:8000/v1",model="name")' -o replies.jsonl
  interloq reply samples.jsonl --system new='retrieval(index="index")' --system old=eliza -o replies.jsonl
  interloq reply samples.jsonl --system new='retrieval(index="index")' --keep -o both.jsonl
  interloq reply prompts.txt --system "hf(model='smollm2')" --n 5 --seed 1 -o replies.jsonl
  interloq reply prompts.txt --system "hf(model='smollm2')" --workers 8 -o replies.jsonl"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_input(
        parser, "prompts", "PROMPTS", "samples with or without replies (JSONL, CSV, TSV), or a .txt file of lines"
    )
    add_bots(parser, "system", "a system that replies")
    arguments.add_options(parser, ReplyOptions(patience=PATIENCE))
    arguments.add_options(parser, OpeningOptions, only=("trust",))
    arguments.add_options(parser, ShardOptions)
    arguments.add_output(parser, "the file to write; the same command resumes")
    add_limits(parser)
    arguments.add_map(parser)
    arguments.add_common(parser)


def run(args: argparse.Namespace) -> None:
    from interloq.play.reply import reply_file
    from interloq.play.talk import PlayTally, close_all

    if args.output == "-":
        raise InputError("replies need an output file, so that they can be resumed", hint="name one with -o")
    bots, tally = make_bots(args.system, args.bots, "system", trust=args.trust), PlayTally()
    options = arguments.make_options(ReplyOptions, args, tally=tally)

    def progress(_: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
        return watching(tally, total or 0, 1, quiet=args.quiet, what="replies")

    try:
        with (
            contextlib.redirect_stdout(sys.stderr),  # a bot that prints must not write into our output
            reading(args) as read_options,
            limit_spending(args),
        ):
            replied = reply_file(
                args.prompts,
                args.output,
                bots,
                options,
                shards=arguments.shard_options(args),
                reading=read_options,
                progress=progress,
            )
    except KeyboardInterrupt:
        print_stderr(f"\n{count(tally.dialogues, 'reply', 'replies')} kept; rerun the same command to resume")
        raise
    finally:
        close_all(bots.values())
    mark_incomplete(replied.missing)
    if args.json:
        print_json({"output": args.output, **replied.facts()})
    else:
        _print(args.output, replied)


def _print(output: str, replied: Replied) -> None:
    facts = replied.facts()
    print_bots(facts["bots"])
    resumed = f", {facts['resumed']:,} of them from earlier runs" if facts["resumed"] else ""
    kept = f", {count(replied.kept, 'reply', 'replies')} of the input" if replied.kept else ""
    written = count(replied.rows - replied.kept, "reply", "replies")
    print_line(f"{output}: {written} to {count(replied.prompts, 'context')}{resumed}{kept}")
    for name, n in replied.missing.items():
        print_line(f"{name}: {count(n, 'reply', 'replies')} missing; the same command asks for them again")
    if replied.repeated_contexts:
        print_line(f"note: {count(replied.repeated_contexts, 'prompt')} with the context of an earlier one")
