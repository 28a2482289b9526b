# SPDX-License-Identifier: Apache-2.0
"""Actions of `interloq serve` on the data of a study: export, forget, backup and restore."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.shared.arguments import add_output
from interloq.cli.shared.output import confirm_removal, mark_incomplete
from interloq.cli.shared.paths import InputPath, OutputFile
from interloq.errors import count
from interloq.terminal.console import print_json, print_line, print_stderr


def add_study(parser: argparse.ArgumentParser) -> None:
    """Add the argument for a study."""
    parser.add_argument("study", metavar="STUDY", help="a file, such as study.db, or postgresql://user@host/name")


def add_secret(parser: argparse.ArgumentParser, help: str = "key that annotators' ids are hashed with") -> None:
    """Add the option `--secret`."""
    default = "(default: interloq/user.key in ~/.config)"
    parser.add_argument("--secret", metavar="FILE|env:NAME", help=f"{help} {default}")


def add_arguments(actions: Any) -> None:
    """Add the actions."""
    exporting = actions.add_parser("export", help="write what people entered as a file that every verb reads")
    add_study(exporting)
    exporting.add_argument("task", metavar="TASK", help="the task's name")
    add_output(exporting, "JSONL, also .gz .xz .zst; .csv or .tsv for a table with one row per rating")
    exporting.add_argument("--ratings", action="store_true", help="write ratings without the rated records")
    exporting.add_argument("--replies", action="store_true", help="write the bots' replies in chats as samples")
    add_secret(exporting)
    forgetting = actions.add_parser("forget", help="delete a person with everything that they entered")
    add_study(forgetting)
    forgetting.add_argument("person", metavar="PERSON", help="id of a participant, or rater in an exported file")
    add_secret(forgetting)
    forgetting.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    saving = actions.add_parser("backup", help="write a study to a file, also while it is served")
    add_study(saving)
    saving.add_argument("file", type=OutputFile, metavar="FILE", help="a copy; rows if it is named .jsonl")
    restoring = actions.add_parser("restore", help="make a study from a backup")
    restoring.add_argument("file", type=InputPath, metavar="FILE", help="a file from `interloq serve backup`")
    restoring.add_argument("study", metavar="STUDY", help="a new file, or an empty PostgreSQL database")
    for action in (exporting, forgetting, saving, restoring):
        action.add_argument("--json", action="store_true", help="print JSON instead of a line")


def run(args: argparse.Namespace) -> int:
    actions = {"export": _export, "forget": _forget, "backup": _backup, "restore": _restore}
    facts, lines = actions[args.action](args)
    if getattr(args, "output", "") == "-":
        return 0
    if args.json:
        print_json(facts)
    else:
        for line in lines:
            print_line(line)
    return 0


def _export(args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    from interloq.web.studies.export import export_study

    facts = export_study(
        args.study, args.task, args.output, secret=args.secret, alone=args.ratings, replies=args.replies
    )
    line = f"{args.output}: {count(facts['records'], facts['kind'].removesuffix('s'))}"
    if "new_ratings" in facts:
        line += f" with {count(facts['new_ratings'], 'new rating')}"
        if not facts["new_ratings"]:
            print_stderr("interloq: nobody has answered yet")
    if earlier := facts.get("earlier_ratings"):
        line += f" and {count(earlier, 'rating')} from before the study"
    return {"output": args.output, **facts}, [line]


def _forget(args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    from interloq.web.studies.forget import forget_in_study

    if not args.yes:
        confirm_removal(f"everything that {args.person!r} entered in {args.study}")
    found = forget_in_study(args.study, args.person, secret=args.secret)
    mark_incomplete(not found.people)
    lines = [f"{count(found.people, 'person', 'people')} removed"]
    lines += [f"- with {count(n, 'page')} of the task {task}, and all answers" for task, n in found.items.items()]
    if found.people:
        lines += ["not changed:", *(f"- {one}" for one in found.exports)]
        lines += ["- backups, copies of exported files, and tasks made from them in other studies"]
    facts = {"removed": found.people, "copies": found.items, "not_changed": found.exports}
    return facts, lines


def _backup(args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    from interloq.web.studies.backup import backup

    facts = backup(args.study, args.file)
    return {"output": args.file, **facts}, [f"{args.file}: {count(len(facts['tasks']), 'task')}"]


def _restore(args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    from interloq.web.studies.backup import restore

    facts = restore(args.file, args.study)
    return {"study": args.study, **facts}, [f"{args.study}: {count(len(facts['tasks']), 'task')}"]
