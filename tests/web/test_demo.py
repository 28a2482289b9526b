"""`interloq serve --demo`, as a user runs it, and its links as they are opened."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
from sqlalchemy import func, select

from interloq.web.database import open_database
from interloq.web.demo import CONSENT, make_study
from interloq.web.schema import item
from interloq.web.studies.tasks import all_tasks, number_of_items


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


def test_the_study_has_a_task_of_each_kind_with_a_check_and_consent(tmp_path: Path) -> None:
    database = open_database(make_study(tmp_path))
    with database.reading() as connection:
        found = {stored.settings.kind: number_of_items(connection, stored.id) for stored in all_tasks(connection)}
        checks = connection.execute(select(func.count()).where(item.c.correct.is_not(None))).scalar_one()
        consents = {stored.settings.consent for stored in all_tasks(connection)}
    database.close()
    assert found == {"rate": 30, "compare": 180, "chat": 2}
    assert checks == 1
    assert consents == {CONSENT}
