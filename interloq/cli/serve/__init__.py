# SPDX-License-Identifier: Apache-2.0
"""`interloq serve ACTION …`: people rate, compare, chat and add references in the browser; exported as records."""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING

from interloq.cli.serve import data as serve_data
from interloq.cli.serve.data import add_secret, add_study
from interloq.cli.shared.arguments import add_common, add_map, add_trust
from interloq.cli.shared.output import BadLineReporter
from interloq.cli.shared.paths import InputPath
from interloq.errors import InputError, MissingDependencyError, count
from interloq.terminal.console import print_json, print_line, print_stderr

if TYPE_CHECKING:
    from interloq.web.chat.chat_task import Limit
    from interloq.web.serve import ServerAddress

NEEDED = ("sqlalchemy", "alembic", "fastapi", "uvicorn")  # of the extra `web`
EXAMPLES = """\
  interloq serve --demo
  interloq serve add study.db samples.jsonl --task rate --settings task.json
  interloq serve add study.db samples.jsonl --task compare --name pairs --scores scores.jsonl
  interloq serve add study.db samples.jsonl --task references --settings references.json
  interloq serve add study.db --task chat --settings chat.json
  interloq serve invite study.db samples -n 5
  interloq serve run study.db
  interloq serve run study.db --host 0.0.0.0 --public-url https://rate.example.org --behind-proxy --secret study.key
  interloq serve invite study.db samples --parameter PROLIFIC_PID --public-url https://rate.example.org
  interloq serve invite study.db --admin
  interloq serve invite study.db --admin --role viewer
  interloq serve export study.db samples -o rated.jsonl
  interloq serve export study.db samples --ratings -o ratings.csv
  interloq serve forget study.db 5f3c9a
  interloq serve backup study.db study-monday.db
  interloq serve restore study-monday.db study.db"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--demo", action="store_true", help="serve a study to try, without an ACTION; deleted at the end"
    )
    parser.add_argument("--port", dest="demo_port", type=int, metavar="PORT", help="port of the demo (default 8765)")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    running = actions.add_parser("run", help="serve a study until interrupted")
    add_study(running)
    _add_address(running)
    add_secret(running, "key for hashing annotators' ids; needed unless only this machine can connect")
    running.add_argument(
        "--behind-proxy",
        nargs="?",
        const="",
        metavar="ADDRESS",
        help="use the headers of a reverse proxy at this address (default: on this machine)",
    )
    _add_trust(running)
    running.add_argument(
        "--trust-administrators",
        action="store_true",
        help="as --trust, and let owners of the study add such bots in the browser: they can then start programs here",
    )
    running.add_argument(
        "--new", action="store_true", help="make an empty study if there is none; add tasks in the browser"
    )
    running.add_argument("--max-calls", type=int, metavar="N", help="most replies that all chats together ask bots for")
    running.add_argument(
        "--max-cost", type=float, metavar="X", help="most that these may cost, by the costs in the chats' settings"
    )
    running.add_argument("--open", action="store_true", help="open the page in a browser")
    running.add_argument("--access-log", action="store_true", help="log requests, without secrets, on standard error")
    _add_adding(actions.add_parser("add", help="add a task with the records of a file"))
    inviting = actions.add_parser("invite", help="print invitation links; each is for one person")
    add_study(inviting)
    inviting.add_argument("task", nargs="?", default="", metavar="TASK", help="the task's name")
    inviting.add_argument("-n", "--number", type=int, default=1, metavar="N", help="number of links (default 1)")
    inviting.add_argument("--admin", action="store_true", help="invite administrators instead of annotators")
    inviting.add_argument(
        "--role",
        choices=("viewer", "lead", "owner"),
        help="with --admin: a viewer sees figures; a lead also makes tasks, invites and exports; an owner also deletes "
        "people's data and invites administrators (default)",
    )
    inviting.add_argument("--label", default="", metavar="TEXT", help="a note on the invitations")
    inviting.add_argument(
        "--parameter",
        default="",
        metavar="NAME",
        help="for crowd platforms: one link for many people, told apart by this parameter, e.g. PROLIFIC_PID",
    )
    inviting.add_argument(
        "--people", type=int, metavar="N", help="with --parameter: most people who may come by the link (default 1,000)"
    )
    _add_address(inviting, "of the server")
    inviting.add_argument("--json", action="store_true", help="print JSON instead of lines")
    serve_data.add_arguments(actions)


def _add_adding(adding: argparse.ArgumentParser) -> None:
    add_study(adding)
    adding.add_argument(
        "file",
        nargs="?",
        type=InputPath,
        metavar="FILE",
        help="samples or dialogues; JSONL, CSV or TSV; none for a chat",
    )
    adding.add_argument(
        "--task", choices=("rate", "compare", "references", "chat"), help="what people do (default: from the settings)"
    )
    adding.add_argument("--settings", type=InputPath, metavar="FILE", help="JSON with questions, texts and checks")
    adding.add_argument("--name", metavar="NAME", help="name of the task (default: from the settings or the file)")
    adding.add_argument("--per-item", type=int, metavar="N", help="annotators per item (default: 3; references: 1)")
    adding.add_argument("--alone", action="store_true", help="one reply per page instead of all replies to a context")
    adding.add_argument(
        "--scores",
        type=InputPath,
        metavar="FILE",
        help="scores of the samples: watch their agreement, and give out first the samples on which metrics disagree",
    )
    _add_trust(adding)
    add_map(adding)
    add_common(adding)


def _add_trust(parser: argparse.ArgumentParser) -> None:
    add_trust(
        parser, "allow bots, indexes and encoders in settings that start programs, import modules or contact servers"
    )


def _add_address(parser: argparse.ArgumentParser, what: str = "to listen on") -> None:
    parser.add_argument("--host", default="127.0.0.1", help=f"address {what} (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8765, help=f"port {what} (default 8765)")
    parser.add_argument("--public-url", default="", metavar="URL", help="address that people open, if it is another")


def run(args: argparse.Namespace) -> int:
    for package in NEEDED:
        try:
            importlib.import_module(package)
        except ImportError as error:
            raise MissingDependencyError("interloq serve", package, "web") from error
    if args.demo == bool(args.action):
        raise InputError("name one ACTION, or --demo alone", hint="see interloq serve --help")
    if args.demo:
        return _demo(args)
    if args.demo_port is not None:
        raise InputError(f"--port before {args.action} is the port of the demo", hint=f"put it after {args.action}")
    from interloq.web.studies.backup import reporting_damage

    actions = {"run": _run, "add": _add, "invite": _invite}
    if args.action == "restore":  # there is no study yet
        return serve_data.run(args)
    with reporting_damage(args.study):
        return actions.get(args.action, serve_data.run)(args)


def _address(args: argparse.Namespace) -> ServerAddress:
    from interloq.web.serve import PROXIES, ServerAddress

    proxy = getattr(args, "behind_proxy", None)
    return ServerAddress(args.host, args.port, args.public_url, "" if proxy is None else proxy or PROXIES)


def _demo(args: argparse.Namespace) -> int:
    from interloq.web.serve import PORT, serve_demo

    serve_demo(PORT if args.demo_port is None else args.demo_port, say=print_line)
    return 0


def _limit(args: argparse.Namespace) -> Limit:
    from interloq.web.chat.chat_task import Limit

    limits = {"calls": args.max_calls, "cost": args.max_cost}
    for name, value in limits.items():
        if value is not None and not value >= 0:
            raise InputError(f"--max-{name} must not be negative, got {value}")
    return Limit(**{name: value for name, value in limits.items() if value is not None})


def _run(args: argparse.Namespace) -> int:
    from interloq.web import serve

    serve.run(
        args.study,
        _address(args),
        secret=args.secret,
        say=print_line,
        new=args.new,
        open_page=args.open,
        access_log=args.access_log,
        trust=print_stderr if args.trust_administrators else args.trust,
        trust_administrators=args.trust_administrators,
        limit=_limit(args),
    )
    return 0


def _add(args: argparse.Namespace) -> int:
    from interloq.web.studies.task_file import add_to_study, default_name, read_settings
    from interloq.web.studies.tasks import Workload

    given = {"kind": args.task, "per_item": args.per_item}
    if args.name:
        given["name"] = args.name
    settings = read_settings(args.settings, default_name=default_name(args.file), **given)
    bad = BadLineReporter()
    facts = add_to_study(
        args.study,
        args.file,
        settings,
        trust=args.trust,
        together=not args.alone,
        scores=args.scores,
        strict=args.strict,
        on_reject=bad,
        columns=args.columns,
    )
    bad.close()
    if "warning" in facts:
        print_stderr(f"warning: {facts['warning']}")
    if args.json:
        print_json(facts)
        return 0
    made = f"{count(facts['items'], 'item')} and {count(facts['checks'], 'check')}"
    source = f" from {count(facts['records'], 'record')}" if args.file else ""
    print_line(f"task {facts['task']}: {made}{source}")
    print_line(f"it needs {(needed := Workload(**facts['needs']))}")
    print_line(f"invite people: interloq serve invite {args.study} {facts['task']} -n {needed.people}")
    return 0


def _invite(args: argparse.Namespace) -> int:
    from interloq.web.access.people import MOST_PEOPLE
    from interloq.web.serve import invitation_links

    if bool(args.task) == args.admin:
        raise InputError("name a task, or invite administrators with --admin")
    if args.people is not None and not args.parameter:
        raise InputError("--people is for links with --parameter", hint="other links are for one person each; see -n")
    if args.role and not args.admin:
        raise InputError("--role is for administrators", hint="use it with --admin")
    links = invitation_links(
        args.study,
        args.task,
        _address(args),
        role=(args.role or "owner") if args.admin else "annotator",
        number=args.number,
        label=args.label,
        parameter=args.parameter,
        most_people=MOST_PEOPLE if args.people is None else args.people,
    )
    if args.json:
        print_json({"links": links})
        return 0
    for link in links:
        print_line(link)
    return 0
