# SPDX-License-Identifier: Apache-2.0
"""`interloq corpus pairs` and `interloq corpus testset`: pairs to learn from, and utterances to test with."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from interloq.cli.shared import arguments
from interloq.cli.shared.output import BadLineReporter, mark_incomplete, stage_progress
from interloq.data.records.read_options import ReadOptions
from interloq.errors import count
from interloq.retrieve.corpus_pairs import PairOptions, pairs_file
from interloq.retrieve.testset import UtteranceSelection, write_testset
from interloq.terminal.console import print_json, print_line, print_stderr, print_table

LOG = "JSONL, also .gz .xz .zst"


def add_arguments(actions: Any) -> None:
    """Add both actions."""
    pairs = actions.add_parser("pairs", help="extract pairs from dialogues, or draw some of a file of pairs")
    arguments.add_input(pairs, "log", "LOG", f"dialogues or pairs: {LOG}; - for a pipe of dialogues")
    arguments.add_output(pairs, f"{LOG}; - for a pipe")
    _add(pairs, PairOptions)
    testset = actions.add_parser("testset", help="make a test set of utterances that have several real replies")
    arguments.add_input(testset, "log", "LOG", f"a corpus folder (its part test), or dialogues or pairs: {LOG}")
    arguments.add_output(testset, "the folder to write", metavar="FOLDER")
    _add(testset, UtteranceSelection)


def _add(action: argparse.ArgumentParser, options: Any) -> None:
    arguments.add_options(action, options)
    arguments.add_map(action, of="dialogues")
    arguments.add_common(action)


def run(args: argparse.Namespace) -> None:
    """Run one of the actions."""
    bad, progress = BadLineReporter(), stage_progress(quiet=args.quiet)
    reading = arguments.make_options(ReadOptions, args, on_reject=bad)
    if args.action == "testset":
        selection = arguments.make_options(UtteranceSelection, args)
        facts = write_testset(args.log, args.output, selection, reading=reading, progress=progress)
        result = (
            f"{args.output}: {count(facts['samples'], 'sample')} of {facts['usable_utterances']:,} usable utterances"
        )
        if facts["searched"] < 1:
            result += f", searched in {facts['searched']:.3%} of the log's utterances"
        result += f"; {count(facts['references'], 'reference')}, {count(facts['candidates'], 'candidate')}"
    else:
        options = arguments.make_options(PairOptions, args)
        facts = pairs_file(args.log, args.output, options, reading=reading, progress=progress)
        result = count(facts["pairs"], "pair")
        if options.without:
            result += f"; {sum(facts['overlapping'].values()):,} excluded that overlap test samples"
        if facts["pairs"] < options.draw:
            mark_incomplete()
            print_stderr(f"interloq: {options.draw:,} pairs were asked for, but the log has only {facts['usable']:,}")
    bad.close()
    if args.output == "-":
        return
    if args.json:
        print_json(facts | {"bad_lines": bad.count})
    else:
        print_dropped(facts["dropped"])
        print_line(result)


def print_dropped(dropped: Mapping[str, int]) -> None:
    """Print what was dropped, by reason; nothing if nothing was."""
    if dropped:
        rows = [[name.replace("_", " "), f"{n:,}"] for name, n in sorted(dropped.items())]
        print_table("", ["dropped or changed", "count"], rows)
