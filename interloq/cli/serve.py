# SPDX-License-Identifier: Apache-2.0
"""`interloq serve ACTION …`: people rate, compare, chat and add references in the browser; exported as records."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from interloq.cli.shared import arguments
from interloq.cli.shared.output import add_limits, confirm_removal, limit_spending, mark_incomplete, reading
from interloq.errors import InputError, MissingDependencyError, count
from interloq.options import flags_of
from interloq.terminal.console import print_json, print_line, print_stderr
from interloq.web.serve_options import (
    PORT,
    PROXIES,
    ExportOptions,
    InvitationOptions,
    ServeOptions,
    ServerAddress,
    TaskFileOptions,
    TaskOptions,
)

NEEDED = ("sqlalchemy", "alembic", "fastapi", "uvicorn")  # of the extra `web`
EXAMPLES = """\
  interloq serve --demo
  interloq serve add study.db samples.jsonl --task rate --settings task.json
  interloq serve add study.db samples.jsonl --task compare --name pairs --scores scores.jsonl
  interloq serve add study.db samples.jsonl --task references --settings references.json
  interloq serve add study.db extended.jsonl --task references-rating
  interloq serve add study.db --task chat --settings chat.json
  interloq serve invite study.db samples -n 5
  interloq serve run study.db
  interloq serve run postgresql://me@db.example.org/study --workers 4
  interloq serve run study.db --host 0.0.0.0 --public-url https://rate.example.org --behind-proxy --secret study.key
  interloq serve invite study.db samples --parameter PROLIFIC_PID --public-url https://rate.example.org
  interloq serve invite study.db --admin
  interloq serve invite study.db --admin --role viewer
  interloq serve export study.db samples -o rated.jsonl
  interloq serve export study.db samples --ratings -o ratings.csv
  interloq serve export study.db extended --above 4 -o clean.jsonl
  interloq serve forget study.db 5f3c9a
  interloq serve backup study.db study-monday.db
  interloq serve restore study-monday.db study.db"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--demo", action="store_true", help="serve a study to try, without an ACTION; deleted at the end"
    )
    parser.add_argument("--port", dest="demo_port", type=int, metavar="PORT", help=f"port of the demo (default {PORT})")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    _add_run(actions.add_parser("run", help="serve a study until interrupted"))
    _add_add(actions.add_parser("add", help="add a task with the records of a file"))
    _add_invite(actions.add_parser("invite", help="print invitation links; each is for one person"))
    _add_export(actions.add_parser("export", help="write what people entered as a file that every verb reads"))
    forget = actions.add_parser("forget", help="delete a person with everything that they entered")
    _add_study(forget)
    forget.add_argument("person", metavar="PERSON", help="id of a participant, or rater in an exported file")
    arguments.add_options(forget, ExportOptions, only=("secret",))
    forget.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    _add_json(forget)
    backup = actions.add_parser("backup", help="write a study to a file, also while it is served")
    _add_study(backup)
    backup.add_argument("file", type=arguments.OutputFile, metavar="FILE", help="a copy; rows if it is named .jsonl")
    _add_json(backup)
    restore = actions.add_parser("restore", help="make a study from a backup")
    restore.add_argument("file", type=arguments.InputPath, metavar="FILE", help="a file from `interloq serve backup`")
    restore.add_argument("study", metavar="STUDY", help="a new file, or an empty PostgreSQL database")
    _add_json(restore)


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_study(parser)
    arguments.add_options(parser, ServerAddress)
    arguments.add_options(parser, ServeOptions, only=("secret",))
    parser.add_argument(
        "--behind-proxy",
        dest="proxy",
        nargs="?",
        default="",
        const=PROXIES,
        metavar="ADDRESS",
        help="use the headers of a reverse proxy at this address (default: on this machine)",
    )
    arguments.add_options(parser, ServeOptions, without=("secret",))


def _add_add(parser: argparse.ArgumentParser) -> None:
    _add_study(parser)
    parser.add_argument(
        "file",
        nargs="?",
        type=arguments.InputPath,
        metavar="FILE",
        help="samples or dialogues; JSONL, CSV or TSV; none for a chat",
    )
    arguments.add_options(parser, TaskOptions)
    arguments.add_options(parser, TaskFileOptions)
    add_limits(parser)
    arguments.add_map(parser)
    arguments.add_common(parser)


def _add_invite(parser: argparse.ArgumentParser) -> None:
    _add_study(parser)
    parser.add_argument("task", nargs="?", default="", metavar="TASK", help="the task's name")
    arguments.add_options(parser, InvitationOptions)
    for flag in flags_of(ServerAddress):
        arguments.add_flag(parser, flag, help=flag.help_text().replace("to listen on", "of the server"))
    arguments.add_json(parser, "lines")


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_study(parser)
    parser.add_argument("task", metavar="TASK", help="the task's name")
    arguments.add_output(parser, "JSONL, also .gz .xz .zst; .csv or .tsv for a table with one row per rating")
    arguments.add_options(parser, ExportOptions)
    _add_json(parser)


def _add_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="a file, such as study.db, or postgresql://user@host/name")


def _add_json(parser: argparse.ArgumentParser) -> None:
    arguments.add_json(parser, "a line")


def run(args: argparse.Namespace) -> None:
    for package in NEEDED:
        try:
            importlib.import_module(package)
        except ImportError as error:
            raise MissingDependencyError("interloq serve", package, "web") from error
    if args.demo == bool(args.action):
        raise InputError("name one ACTION, or --demo alone", hint="see interloq serve --help")
    if args.demo:
        from interloq.web.serve import serve_demo

        serve_demo(PORT if args.demo_port is None else args.demo_port, say=print_line)
        return
    if args.demo_port is not None:
        raise InputError(f"--port before {args.action} is the port of the demo", hint=f"put it after {args.action}")
    from interloq.web.studies.backup import reporting_damage

    if args.action == "restore":  # there is no study yet
        from interloq.web.studies.backup import restore

        facts = restore(args.file, args.study)
        _print(args, {"study": args.study, **facts}, [f"{args.study}: {count(len(facts['tasks']), 'task')}"])
        return
    actions = {"run": _run, "add": _add, "invite": _invite, "export": _export, "forget": _forget, "backup": _backup}
    with reporting_damage(args.study):
        actions[args.action](args)


def _run(args: argparse.Namespace) -> None:
    from interloq.web.serve import run as serve

    if args.trust_administrators:
        args.trust = print_stderr
    address = arguments.make_options(ServerAddress, args, proxy=args.proxy)
    serve(args.study, address, arguments.make_options(ServeOptions, args), say=print_line)


def _add(args: argparse.Namespace) -> None:
    from interloq.web.studies.questions import is_rated_by_interlocutor
    from interloq.web.studies.task_file import add_to_study, task_settings
    from interloq.web.studies.tasks import Workload

    settings = task_settings(arguments.make_options(TaskOptions, args), args.file)
    options = arguments.make_options(TaskFileOptions, args)
    with reading(args) as read_options, limit_spending(args):
        facts = add_to_study(args.study, args.file, settings, options, reading=read_options)
    if "warning" in facts:
        print_stderr(f"warning: {facts['warning']}")
    if args.json:
        print_json(facts)
        return
    made = f"{count(facts['items'], 'item')} and {count(facts['checks'], 'check')}"
    source = f" from {count(facts['records'], 'record')}" if args.file else ""
    needed = Workload(**facts["needs"])
    print_line(f"task {facts['task']}: {made}{source}")
    print_line(f"it needs {needed}")
    number = "" if is_rated_by_interlocutor(settings.task) else f" -n {needed.people}"
    print_line(f"invite people: interloq serve invite {args.study} {facts['task']}{number}")


def _invite(args: argparse.Namespace) -> None:
    from interloq.web.serve import invitation_links

    address, options = arguments.make_options(ServerAddress, args), arguments.make_options(InvitationOptions, args)
    links = invitation_links(args.study, args.task, address, options)
    _print(args, {"links": links}, links)


def _export(args: argparse.Namespace) -> None:
    from interloq.web.studies.export import export_study

    facts = export_study(args.study, args.task, args.output, arguments.make_options(ExportOptions, args))
    line = f"{args.output}: {count(facts['records'], facts['kind'].removesuffix('s'))}"
    if "new_ratings" in facts:
        line += f" with {count(facts['new_ratings'], 'new rating')}"
    if earlier := facts.get("earlier_ratings"):
        line += f" and {count(earlier, 'rating')} from before the study"
    if references := facts.get("references"):
        left_out = f"{references['dropped']:,} rated too low, {references['unrated']:,} not rated"
        line += f" with {count(references['kept'], 'reference')} ({left_out})"
        line += f"; {count(references['without_references'], 'sample')} without references"
    if not facts.get("new_ratings", facts["kind"] != "ratings" or facts["records"]):
        print_stderr("interloq: nobody has answered yet")
    if args.output == "-":
        return
    _print(args, {"output": args.output, **facts}, [line, *_rater_lines(args.output, facts.get("scale", {}))])


def _rater_lines(ratings: str, scales: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield how `interloq rate` uses ratings of references, by aspect."""
    for aspect, (low, high) in scales.items():
        rater = f"human(ratings={ratings!r},low={low:g},high={high:g},aspect={aspect!r})"
        yield f'use them: interloq rate SAMPLES --rater "{rater}" -o rated.jsonl'


def _forget(args: argparse.Namespace) -> None:
    from interloq.web.studies.forget import forget_in_study

    if not args.yes:
        confirm_removal(f"everything that {args.person!r} entered in {args.study}")
    forgotten = forget_in_study(args.study, args.person, secret=args.secret)
    mark_incomplete(not forgotten.people)
    lines = [f"{count(forgotten.people, 'person', 'people')} removed"]
    lines += [f"- with {count(n, 'page')} of the task {task}, and all answers" for task, n in forgotten.items.items()]
    if forgotten.people:
        lines += ["not changed:", *(f"- {one}" for one in forgotten.exports)]
        lines += ["- backups, copies of exported files, and tasks made from them in other studies"]
    facts = {"removed": forgotten.people, "copies": forgotten.items, "not_changed": forgotten.exports}
    _print(args, facts, lines)


def _backup(args: argparse.Namespace) -> None:
    from interloq.web.studies.backup import backup

    facts = backup(args.study, args.file)
    _print(args, {"output": args.file, **facts}, [f"{args.file}: {count(len(facts['tasks']), 'task')}"])


def _print(args: argparse.Namespace, facts: Mapping[str, Any], lines: Sequence[str]) -> None:
    if args.json:
        print_json(facts)
        return
    for line in lines:
        print_line(line)
