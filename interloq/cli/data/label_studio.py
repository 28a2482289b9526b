# SPDX-License-Identifier: Apache-2.0
"""`interloq data to-label-studio` and `from-label-studio`: tasks for Label Studio, and their annotations."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.shared.arguments import add_map, add_output
from interloq.cli.shared.options import add_options, make_options
from interloq.cli.shared.output import mark_incomplete
from interloq.cli.shared.paths import InputPath
from interloq.data.pseudonyms import UserIdOptions
from interloq.errors import count
from interloq.terminal.console import print_json, print_line, print_stderr
from interloq.web.studies.label_studio_tasks import LabelStudioOptions, label_studio_file


def add_arguments(actions: Any) -> None:
    """Add the actions."""
    writing = actions.add_parser("to-label-studio", help="write samples or dialogues as tasks for Label Studio")
    writing.add_argument("file", type=InputPath, metavar="FILE", help="samples or dialogues")
    add_output(writing, "tasks (.json); a configuration (.xml) and a key file (.key.json) are written next to it")
    add_options(writing, LabelStudioOptions)
    reading = actions.add_parser("from-label-studio", help="read annotations that Label Studio exported as JSON")
    reading.add_argument("file", type=InputPath, metavar="FILE", help="JSON export of Label Studio")
    add_output(reading, "JSONL, also .gz .xz .zst; - for a pipe")
    reading.add_argument(
        "--key", type=InputPath, metavar="FILE", help="the tasks' key file, if Interloq wrote the tasks"
    )
    add_map(reading)
    add_options(reading, UserIdOptions)
    for action in (writing, reading):
        action.add_argument("--json", action="store_true", help="print JSON instead of a line")


def write_tasks(args: argparse.Namespace) -> int:
    """Write tasks."""
    facts = label_studio_file(args.file, args.output, make_options(LabelStudioOptions, args))
    if args.json:
        print_json(facts)
    else:
        print_line(f"{args.output}: {count(facts['tasks'], 'task')}; configuration in {facts['config']}")
        print_line(f"keep {facts['key']} from annotators: it names the systems")
    return 0


def read_annotations(args: argparse.Namespace) -> int:
    """Read annotations."""
    from interloq.web.studies.label_studio_answers import label_studio_answers

    names = make_options(UserIdOptions, args).pseudonyms()
    facts = label_studio_answers(args.file, args.output, key=args.key, names=names, columns=args.columns)
    for type, n in facts["skipped"].items():
        print_stderr(f"interloq: {count(n, 'result')} of type {type!r} not imported")
    mark_incomplete(facts["skipped"])
    if args.output == "-":
        return 0
    if args.json:
        print_json(facts)
    else:
        cancelled = f"; {count(facts['cancelled'], 'annotation')} skipped as cancelled" if facts["cancelled"] else ""
        print_line(f"{args.output}: {count(facts['records'], facts['kind'].removesuffix('s'))}{cancelled}")
    return 0
