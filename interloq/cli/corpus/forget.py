# SPDX-License-Identifier: Apache-2.0
"""`interloq corpus forget`: remove one user's data from a corpus, and say what cannot be undone."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.shared.arguments import add_user_key
from interloq.cli.shared.output import confirm_removal, mark_incomplete
from interloq.cli.shared.paths import InputPath
from interloq.errors import count
from interloq.terminal.console import print_json, print_line, print_stderr, print_table


def add_arguments(actions: Any) -> None:
    """Add the action."""
    forget = actions.add_parser("forget", help="remove one user's dialogues, ratings and profile, in place")
    forget.add_argument("user", metavar="USER", help="their id, or its pseudonym")
    forget.add_argument(
        "corpus", type=InputPath, metavar="CORPUS", help="a folder of a corpus or of samples, or a JSONL file"
    )
    forget.add_argument(
        "--model",
        action="append",
        default=[],
        type=InputPath,
        metavar="FOLDER",
        help="a model of train dcp or train interlocutor, from which their token is removed too; repeatable",
    )
    add_user_key(forget)
    forget.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    forget.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    from interloq.data.pseudonyms import names_of
    from interloq.scorers.interlocutor.forget_file import find, forget_in_models

    users = names_of(args.user, args.user_key)
    user_data = find(users, args.corpus)
    _confirm(user_data.found, args)
    models: dict[str, bool] = {}
    if args.model:
        models = dict(zip(args.model, forget_in_models(users, args.model), strict=True))
    user_data.remove()
    if not (user_data.found or any(models.values())):
        mark_incomplete()
        print_stderr(f"interloq: nothing of the user {args.user!r} was found")
    if args.json:
        files = {str(path): {"removed": gone, "of": of} for path, (gone, of) in user_data.records.items()}
        print_json({"removed": user_data.found, "files": files, "models": models, "not_undone": user_data.notes})
        return 0
    rows = [[str(path), f"{gone:,}", f"{of:,}"] for path, (gone, of) in user_data.records.items()]
    print_table("", ["file", "removed", "of"], rows)
    for model, known in models.items():
        print_line(f"{model}: {'the user was removed' if known else 'the model does not know this user'}")
    print_line("not undone:")
    for note in user_data.notes:
        print_line(f"- {note}")
    return 0


def _confirm(records: int, args: argparse.Namespace) -> None:
    """Ask before anything is removed for good."""
    if args.yes or not (records or args.model):
        return
    also = f" and their token in {count(len(args.model), 'model')}" if args.model else ""
    confirm_removal(f"{count(records, 'record')} of {args.user!r} in {args.corpus}{also}")
