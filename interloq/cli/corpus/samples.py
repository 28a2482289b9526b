# SPDX-License-Identifier: Apache-2.0
"""`interloq corpus continuity` and `interloq corpus ratings`: samples judged by the person in the dialogue."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from interloq.cli.corpus.options import CompressOptions
from interloq.cli.corpus.pairs import print_dropped
from interloq.cli.shared import arguments
from interloq.cli.shared.output import BadLineReporter
from interloq.data.pseudonyms import UserIdOptions
from interloq.data.records.read_options import ReadOptions
from interloq.options import option
from interloq.scorers.interlocutor.continuity_labels import SampleSelection
from interloq.terminal.console import print_json, print_line, print_table

FILE = "JSONL, also .gz .xz .zst; - for a pipe"
UNLIMITED = SampleSelection(min_conversations=0, max_conversations=0, count_in="all")  # a few ratings are valid, too
OF_RATINGS = ("min_conversations", "max_conversations", "context", "by", "dev", "test", "dev_from", "test_from", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFileOptions:
    """Files beside the dialogues."""

    profiles: str | None = option(None, "profiles of users, as JSON", path=True, metavar="FILE")


def add_arguments(actions: Any) -> None:
    """Add both actions."""
    continuity = actions.add_parser("continuity", help="extract replies of dialogues, labelled as answered or not")
    _add(continuity, "dialogues", SampleSelection(), ())
    ratings = actions.add_parser("ratings", help="extract replies or dialogues rated by the person in the dialogue")
    _add(ratings, "samples or dialogues", UNLIMITED, OF_RATINGS)


def _add(action: argparse.ArgumentParser, of: str, selection: SampleSelection, names: Any) -> None:
    arguments.add_input(action, "file", "FILE", f"{of}: {FILE}")
    arguments.add_output(action, "the folder to write", metavar="FOLDER")
    arguments.add_options(action, selection, only=names)
    arguments.add_options(action, SampleFileOptions)
    arguments.add_options(action, CompressOptions)
    arguments.add_options(action, UserIdOptions)
    arguments.add_map(action, of="dialogues")
    arguments.add_common(action)


def run(args: argparse.Namespace) -> None:
    """Run one of the actions."""
    from interloq.scorers.interlocutor.samples_file import SampleSource, continuity_file, ratings_file

    selection, write_samples = SampleSelection(), continuity_file
    if args.action == "ratings":
        selection, write_samples = UNLIMITED, ratings_file
    bad = BadLineReporter()
    names = arguments.make_options(UserIdOptions, args).pseudonyms()
    source = SampleSource(args.file, args.profiles, names, arguments.make_options(ReadOptions, args, on_reject=bad))
    facts = write_samples(source, args.output, arguments.apply_arguments(selection, args), compress=args.compress)
    bad.close()
    if args.json:
        print_json(facts | {"bad_lines": bad.count})
    else:
        if facts.get("cut_ends"):
            print_line(f"warning: {facts['cut_ends']}: these ends are not valid labels")
        print_dropped(facts["dropped"])
        print_parts(facts["parts"], digits=1)
        print_line(f"user ids: {facts['user_ids']}")


def print_parts(parts: dict[str, dict[str, Any]], *, digits: int) -> None:
    """Print the numbers of each part of a corpus: one row per number, one column per part."""
    rows = []
    for name in next(iter(parts.values())):
        numbers = [_format_number(part[name], digits) for part in parts.values()]
        rows.append([name.replace("_", " "), *numbers])
    print_table("", ["", *parts], rows)


def _format_number(value: float | None, digits: int) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.{digits}f}"
