# SPDX-License-Identifier: Apache-2.0
"""Run the app: only on this machine, unless a secret and a host are given."""

from __future__ import annotations

import logging
import re
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from sqlalchemy import select
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from interloq.data.corpus.workers import begin_worker
from interloq.data.embedded import embedded_path
from interloq.data.pseudonyms import read_key
from interloq.errors import InputError, InterloqError
from interloq.web.access.people import invitation_path, invite, invite_to_task
from interloq.web.access.visitors import Study
from interloq.web.app import create_app
from interloq.web.chat.chat_bots import check_bots
from interloq.web.chat.chat_budget import check_costs
from interloq.web.chat.chat_task import NO_LIMIT, Limit
from interloq.web.database import Database, open_database
from interloq.web.references.references_routes import check_models
from interloq.web.schema import invitation
from interloq.web.serve_options import (
    MOST_PEOPLE,
    ONE_INVITATION,
    PORT,
    SERVE_DEFAULTS,
    InvitationOptions,
    ServeOptions,
    ServerAddress,
)
from interloq.web.studies.task_file import add_to_study, read_settings
from interloq.web.studies.tasks import all_tasks, find_task

SHUTDOWN = 10  # seconds for requests in flight
HEALTH = 60  # seconds after which a process that does not answer is replaced
_TOKEN = re.compile(r"(/join/|\?)[^\s\"]+")
CONSENT = "This is a demonstration: what you enter is deleted when the server ends."
TASKS: dict[str, dict[str, Any]] = {
    "rate": {
        "title": "Which replies make sense?",
        "instructions": "Read the conversation, then rate each reply.",
        "questions": [
            {"aspect": "overall", "text": "How good is this reply?", "labels": ["bad", "good"]},
            {"aspect": "interesting", "text": "How interesting is it?", "control": "slider", "low": 0, "high": 100},
        ],
        "check_every": 3,
        "checks": [
            {
                "context": ["Are you reading carefully?"],
                "response": "Please choose 5 for how good this reply is.",
                "correct": {"overall": [5]},
            }
        ],
    },
    "compare": {
        "title": "Which reply is better?",
        "instructions": "Read the conversation, then choose the reply that you would rather get.",
        "questions": [{"aspect": "overall", "text": "Which reply is better?", "control": "choice", "reason": True}],
    },
    "chat": {
        "title": "Talk to a stranger",
        "instructions": "Talk about anything, then rate the conversation.",
        "questions": [{"aspect": "overall", "text": "How good was the conversation?", "labels": ["bad", "good"]}],
        "turns": 5,
        "options": {
            "bots": {"eliza": "eliza", "parrot": "echo"},
            "replies": [],
            "guess": True,
            "which_bot": {"eliza": "It asked about me", "parrot": "It repeated me"},
        },
    },
}


def run(
    place: str | Path,
    address: ServerAddress,
    options: ServeOptions = SERVE_DEFAULTS,
    *,
    say: Callable[[str], None] = print,
    invited: Sequence[str] = (),
) -> None:
    """Serve a study until interrupted; a link to each task named in `invited` is printed first.

    With `options.new`, a missing study is made, to which administrators add tasks in the browser; otherwise, it is
    refused.
    """
    calls = NO_LIMIT.calls if options.max_calls is None else options.max_calls
    cost = NO_LIMIT.cost if options.max_cost is None else options.max_cost
    trust, limit = options.trust, Limit(calls, cost)
    _check_open(address, options.secret)
    database = open_database(place, create=options.new)
    try:
        check_bots(database, trust, where=str(place))
        with database.reading() as connection:
            check_costs([stored.settings for stored in all_tasks(connection)], limit)
        check_models(database, trust, where=str(place))
        listening = _listen(address)
        address = replace(address, port=listening.getsockname()[1])
        for task in invited:
            say(f"annotators of {task}: {invitation_links(place, task, address)[0]}")
        link = first_admin_link(database, address)
        for line in (*first_lines(database, str(place), link), *_warnings(address)):
            say(line)
        say(f"serving at {address.url()} (Ctrl-C ends it)")
        make_study = partial(
            Study, key=read_key(options.secret), hosts=address.hosts, secure=address.secure, public=address.public,
            trust=trust, trust_administrators=options.trust_administrators, limit=limit, shared=options.workers > 1,
        )  # fmt: skip
        if options.open_page:
            webbrowser.open(link or address.url())
        if options.workers > 1:
            database.close()  # each process opens it
            _serve_by_workers(partial(open_app, place, make_study), listening, address, options)
            say("stopped")
            return
        config = _config(create_app(make_study(database)), address, access_log=options.access_log)
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:  # raised again after requests in flight have ended
        say("stopped")
    finally:
        database.close()


def _serve_by_workers(
    app: Callable[[], Any], listening: socket.socket, address: ServerAddress, options: ServeOptions
) -> None:
    """Serve by several processes until interrupted; one that ends is replaced."""
    config = _config(app, address, access_log=options.access_log)
    config.workers, config.factory = options.workers, True
    config.timeout_worker_healthcheck = HEALTH
    supervisor = Multiprocess(config, sockets=[listening])
    supervisor.run()
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise InterloqError("a process of the server could not start; see the messages above")


def open_app(place: str | Path, make_study: Callable[[Database], Study]) -> Any:
    """Return the app of a process of the server; the process ends with the one that started it."""
    begin_worker()
    _hide_tokens_in_log()
    return create_app(make_study(open_database(place, create=False)))


def first_lines(database: Database, place: str, link: str) -> Iterator[str]:
    """Yield what is printed first: a new link for administrators, and that the study has no tasks."""
    if link:
        yield f"administrators: {link}"
    with database.reading() as connection:
        if not all_tasks(connection):  # perhaps the name is misspelt
            yield f"{place} has no tasks yet: add one on the administrators' page, or with interloq serve add"


def _warnings(address: ServerAddress) -> Iterator[str]:
    if not (address.local or address.secure):
        yield "warning: without https, others on the network can read what is sent; use a reverse proxy"
    if address.public and address.local and not address.proxy:
        yield "warning: without --behind-proxy, limits on requests and new people count everybody as one client"


def _check_open(address: ServerAddress, secret: str | None) -> None:
    if address.local:
        return
    if not secret:
        hint = "name a file with --secret (made if it is missing), or serve on 127.0.0.1 behind a reverse proxy"
        raise InputError(f"{address.host} can be reached from other machines", hint=hint)
    if address.host in ("0.0.0.0", "::") and not address.public:  # noqa: S104
        hint = "add --public-url http://NAME:PORT, the address that people open"
        raise InputError(f"{address.host} is not an address for links", hint=hint)


def _listen(address: ServerAddress) -> socket.socket:
    """Open a socket that accepts connections at once, so that a page opened now waits for the server."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=2048)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        what = f"cannot listen on {address.host}:{address.port}: {reason}"
        raise InputError(what, hint="choose another --port or --host") from error


def _config(app: Any, address: ServerAddress, *, access_log: bool) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        log_level="info" if access_log else "warning",
        access_log=access_log,
        server_header=False,
        lifespan="on",  # its end closes the bots
        ws="none",
        http="h11",  # it limits the size of headers; others that may be installed do not
        timeout_graceful_shutdown=SHUTDOWN,
        proxy_headers=bool(address.proxy),
        forwarded_allow_ips=address.proxy or None,
    )
    _hide_tokens_in_log()
    return config


def _hide_tokens_in_log() -> None:
    """Change the log of requests, which uvicorn has configured by now."""
    log = logging.getLogger("uvicorn.access")
    log.addFilter(hide_tokens)
    for handler in log.handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(sys.stderr)


def first_admin_link(database: Database, address: ServerAddress) -> str:
    """Make a link for an owner, if the study has none yet."""
    with database.writing() as connection:
        wanted = (invitation.c.role == "owner") & invitation.c.revoked.is_(None)
        if connection.execute(select(invitation.c.id).where(wanted).limit(1)).one_or_none():
            return ""
        return address.url(invitation_path(invite(connection, None, role="owner")))


def invitation_links(
    place: str | Path, task: str, address: ServerAddress, options: InvitationOptions = ONE_INVITATION
) -> list[str]:
    """Make invitations to a task, or for administrators without a task, and return their links."""
    if bool(task) == options.admin:
        raise InputError("name a task, or invite administrators with --admin")
    most_people = MOST_PEOPLE if options.most_people is None else options.most_people
    with closing(open_database(place, create=False)) as database, database.writing() as connection:
        if task:
            paths = invite_to_task(
                connection, find_task(connection, task).id, number=options.number, label=options.label,
                parameter=options.parameter, most_people=most_people,
            )  # fmt: skip
        else:
            paths = []
            for _ in range(options.number):
                token = invite(
                    connection, None, role=options.role or "owner", label=options.label, parameter=options.parameter
                )
                paths.append(invitation_path(token))
    return [address.url(path) for path in paths]


def hide_tokens(record: logging.LogRecord) -> bool:
    """Filter a log: remove secrets of invitations and parameters, such as ids of participants."""
    if isinstance(record.args, tuple):
        record.args = tuple(_TOKEN.sub(r"\1…", one) if isinstance(one, str) else one for one in record.args)
    record.msg = _TOKEN.sub(r"\1…", str(record.msg))
    return True


def serve_demo(port: int = PORT, *, say: Callable[[str], None] = print) -> None:
    """Serve a study with made-up samples on this machine until interrupted, then delete it."""
    address = ServerAddress(port=port)
    with tempfile.TemporaryDirectory(prefix="interloq-serve-") as name:
        secret = str(Path(name) / "demo.key")
        run(make_study(Path(name)), address, ServeOptions(secret=secret), say=say, invited=tuple(TASKS))


def make_study(folder: Path) -> Path:
    """Write a study with the tasks `rate`, `compare` and `chat` to a folder; return its file."""
    study = folder / "study.db"
    for kind, settings in TASKS.items():
        records = None if kind == "chat" else embedded_path("en")
        add_to_study(study, records, read_settings(None, kind=kind, name=kind, consent=CONSENT, **settings))
    return study
