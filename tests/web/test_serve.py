"""Running the app: where it listens, what it prints and what it logs."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from sqlalchemy import func, select

from interloq.errors import InputError
from interloq.web.access import people
from interloq.web.access.visitors import Study
from interloq.web.app import create_app
from interloq.web.database import Database, open_database
from interloq.web.schema import item, quota
from interloq.web.serve import (
    CONSENT,
    _config,
    first_admin_link,
    first_lines,
    hide_tokens,
    invitation_links,
    make_study,
    run,
)
from interloq.web.serve_options import InvitationOptions, ServeOptions, ServerAddress
from interloq.web.studies.tasks import all_tasks, number_of_items
from tests.web.conftest import KEY, likert_task, replies, store_task


@pytest.mark.parametrize(
    ("address", "secret", "message"),
    [
        (ServerAddress("0.0.0.0"), None, "can be reached from other machines"),  # noqa: S104
        (ServerAddress("example.org"), None, "can be reached"),
        (ServerAddress("0.0.0.0"), "env:SECRET", "not an address for links"),  # noqa: S104
        (ServerAddress("256.1.1.1", 1), "env:SECRET", "cannot listen"),
    ],
)
def test_an_open_network_needs_a_secret_and_an_address(
    tmp_path: Path, address: ServerAddress, secret: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run(tmp_path / "study.db", address, ServeOptions(secret=secret, new=True))


def test_a_port_in_use_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="cannot listen"):
        run(tmp_path / "study.db", ServerAddress(port=taken.getsockname()[1]), ServeOptions(new=True))


def test_a_misspelt_study_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no study .*typo\.db.*--new"):
        run(tmp_path / "typo.db", ServerAddress(port=0))
    with pytest.raises(InputError, match="no study"):
        invitation_links(tmp_path / "typo.db", "task", ServerAddress())
    assert list(tmp_path.iterdir()) == []


class ClosingBot:
    """A bot that notes that it was closed."""

    def __init__(self) -> None:
        self.closings: list[str] = []

    def close(self) -> None:
        self.closings.append("closed")


def test_bots_are_closed_when_the_server_ends(sqlite_study: Database) -> None:
    bot, config = ClosingBot(), _config(create_app(Study(sqlite_study, KEY)), ServerAddress(port=0), access_log=False)
    bots: Any = config.app.app.state.bots  # type: ignore[union-attr]
    bots._known["closing"] = bot, nullcontext()
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket.create_server(("127.0.0.1", 0))]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    assert bot.closings == []
    server.should_exit = True
    thread.join(30)
    assert bot.closings == ["closed"]


def test_a_study_without_tasks_is_reported(sqlite_study: Database) -> None:
    link, line = first_lines(sqlite_study, "typo.db", "http://x/join/y")
    assert (link, line[:24]) == ("administrators: http://x/join/y", "typo.db has no tasks yet")
    store_task(sqlite_study, likert_task(), replies(1))
    assert list(first_lines(sqlite_study, "typo.db", "")) == []


def test_addresses() -> None:
    assert ServerAddress("::1", 80).url("/x") == "http://[::1]:80/x"
    public = ServerAddress("10.0.0.1", public="https://rate.example.org/")
    assert public.url("/join/x") == "https://rate.example.org/join/x"
    assert {"rate.example.org", "127.0.0.1"} < set(public.hosts)
    assert (public.local, ServerAddress("127.0.0.2").local, ServerAddress("localhost").local) == (False, True, True)
    assert ServerAddress(public="https://example.org/a/b/").url("/join/x") == "https://example.org/a/b/join/x"
    for bad in ("rate.example.org", "ftp://x", "https://x/../y", "https://x/?a", "https://a@x", "http://[", "https://"):
        with pytest.raises(InputError, match="not an address"):
            ServerAddress(public=bad)
    with pytest.raises(InputError, match="65,535"):
        ServerAddress(port=70_000)


def test_the_first_start_makes_one_link_for_administrators(sqlite_study: Database) -> None:
    assert first_admin_link(sqlite_study, ServerAddress()).startswith("http://127.0.0.1:8765/join/")
    assert first_admin_link(sqlite_study, ServerAddress()) == ""


def test_invitations(sqlite_study: Database) -> None:
    store_task(sqlite_study, likert_task(), replies(1))
    place, address = sqlite_study.place, ServerAddress()
    assert len(set(invitation_links(place, "likert", address, InvitationOptions(number=3)))) == 3
    (link,) = invitation_links(place, "likert", address, InvitationOptions(parameter="PROLIFIC_PID"))
    assert link.endswith("?PROLIFIC_PID={{%PROLIFIC_PID%}}")
    with pytest.raises(InputError, match="from 1 to"):
        InvitationOptions(number=0)


def test_the_access_log_contains_no_secrets() -> None:
    from uvicorn.logging import AccessFormatter

    for path, logged in (("/join/s3cret?PID=ann", "/join/…"), ("/?PID=ann", "/?…")):
        args = ("127.0.0.1:5", "GET", path, "1.1", 303)
        record = logging.LogRecord("uvicorn.access", logging.INFO, "", 0, '%s - "%s %s HTTP/%s" %d', args, None)
        assert hide_tokens(record)
        assert AccessFormatter("%(request_line)s", use_colors=False).format(record) == f"GET {logged} HTTP/1.1"


def test_the_links_open_and_nothing_is_left(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "interloq.cli", "serve", "--demo", "--port", "0"]
    places = {"TMPDIR": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **places}) as process:
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(5)]
        links = {line.split(": ")[0]: line.split()[-1] for line in printed[:4]}
        assert list(links) == ["annotators of rate", "annotators of compare", "annotators of chat", "administrators"]
        assert re.fullmatch(r"serving at http://127\.0\.0\.1:\d+ \(Ctrl-C ends it\)\n", printed[4])
        pages = [httpx.get(link, follow_redirects=True, timeout=30) for link in links.values()]
        assert [page.status_code for page in pages] == [200] * 4
        assert [CONSENT in page.text for page in pages] == [True, True, True, False]
        assert pages[3].url.path == "/admin"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[0] == "stopped\n"
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


@contextmanager
def serve_by_processes(place: Path | str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve a study by two processes; yield the process that started them, and the address."""
    command = [sys.executable, "-m", "interloq.cli", "serve", "run", str(place)]
    command += ["--workers", "2", "--port", "0", "--secret", str(folder / "key")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = ""
        while not line.startswith("serving at"):
            line = process.stdout.readline()
            assert line, "the server did not start"
        yield process, line.split()[2]


def find_servers(process: subprocess.Popen[str]) -> set[int]:
    """Return the processes that answer requests."""
    numbers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    commands = {int(number): Path(f"/proc/{number}/cmdline").read_bytes() for number in numbers}
    return {number for number, command in commands.items() if b"spawn_main" in command}


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait for processes."""
    until = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Return whether a process has not ended; one that nobody has waited for has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux")
def test_processes_share_sessions_and_a_killed_one_is_replaced(study: Database, tmp_path: Path) -> None:
    stored = store_task(study, likert_task(per_item=1), replies(30))
    with study.writing() as connection:
        token = people.invite(connection, stored.id)
    with serve_by_processes(study.place, tmp_path) as (process, url):
        cookies = httpx.get(f"{url}/join/{token}", timeout=60).cookies
        servers = find_servers(process)
        assert len(servers) == 2
        for _ in range(10):  # each on a connection of its own
            assert httpx.get(f"{url}/", cookies=cookies, timeout=30).status_code == 200
        killed = min(servers)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: len(find_servers(process) - {killed}) == 2)
        assert [httpx.get(f"{url}/", cookies=cookies, timeout=60).status_code for _ in range(6)] == [200] * 6
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "stopped\n"
    assert process.returncode == 0
    with study.reading() as connection:
        assert connection.execute(select(func.count()).select_from(quota)).scalar_one() > 0


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux")
def test_processes_end_with_the_one_that_started_them(sqlite_study: Database, tmp_path: Path) -> None:
    with serve_by_processes(sqlite_study.place, tmp_path) as (process, url):
        assert httpx.get(f"{url}/health", timeout=60).status_code == 200
        servers = find_servers(process)
        process.kill()
    wait_until(lambda: not any(map(is_running, servers)))


def test_the_study_has_a_task_of_each_kind_with_a_check_and_consent(tmp_path: Path) -> None:
    with closing(open_database(make_study(tmp_path))) as database, database.reading() as connection:
        tasks = all_tasks(connection)
        items = {task.settings.kind: number_of_items(connection, task.id) for task in tasks}
        checks = connection.execute(select(func.count()).where(item.c.correct.is_not(None))).scalar_one()
    assert items == {"rate": 30, "compare": 180, "chat": 2}
    assert checks == 1
    assert {task.settings.consent for task in tasks} == {CONSENT}
