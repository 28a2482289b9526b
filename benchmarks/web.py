"""100 annotators who answer at once: latency, lost and duplicated answers, beside a plain form; and a killed server.

    python benchmarks/web.py                          # SQLite in a temporary folder
    python benchmarks/web.py --people 100 --seconds 60
    python benchmarks/web.py --potato VENV/bin/potato --label-studio VENV/bin/label-studio

Each annotator opens the page, keeps a draft and sends the answers, again and again, as a browser does; the server is
another process on the same machine. The plain form is the same FastAPI and uvicorn with one route that appends a row to
SQLite: what a form costs without sessions, assignment, drafts and checks. Potato and Label Studio, if their programs
are named, get pages with the same texts and questions, without drafts, and run as their packages start them. In the
last part the server is killed with SIGKILL in the middle of the load and started again: every answer that was
acknowledged must be there, once.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from _figures import Figure, add_json_option, report
from _web_load import ASPECTS, REPLIES, Load, end, free_port, timed, together, wait_for
from _web_others import label_studio, potato
from sqlalchemy import func, select

from interloq import Sample
from interloq.web.access import people
from interloq.web.access.security import CSRF_HEADER
from interloq.web.database import Database, open_database
from interloq.web.schema import answer, assignment
from interloq.web.studies import tasks
from interloq.web.studies.items import rate_items
from interloq.web.studies.questions import Question, StudyTask

ITEMS = 5_000  # more than can be answered
CSRF = re.compile(r'data-csrf="([\w-]{20,})"')
ASSIGNMENT = re.compile(r'"assignment": ?(\d+)')
FORM = """
import sqlite3, sys
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
import uvicorn
app, place = FastAPI(), sys.argv[1]
with sqlite3.connect(place) as made:
    made.execute("PRAGMA journal_mode=WAL")
    made.execute("CREATE TABLE row (person TEXT, body TEXT)")
@app.get("/")
def page():
    return HTMLResponse("<form>" + "x" * 4000 + "</form>")
@app.post("/")
def take(body: dict):
    with sqlite3.connect(place, timeout=30) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("INSERT INTO row VALUES (?, ?)", (str(body["person"]), str(body)))
    return {"stored": True}
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""
SERVER = """
import os, sys
from interloq.web.serve import run
from interloq.web.serve_options import ServeOptions, ServerAddress
options = ServeOptions(secret=sys.argv[1] + ".key", workers=int(os.environ["WORKERS"]))
run(sys.argv[1], ServerAddress(port=int(sys.argv[2])), options, say=lambda line: None)
"""


def made_samples(contexts: int) -> list[Sample]:
    return [
        Sample(f"c{i}", [f"What do you think of number {i}?"], f"Reply {n} to question {i}.", (), f"system {n}")
        for i in range(contexts)
        for n in range(REPLIES)
    ]


def made_study(place: Path, annotators: int) -> tuple[Database, list[str]]:
    """A study with more items than can be answered, and invitations."""
    settings = StudyTask("rate", "load", tuple(Question(aspect, f"How {aspect}?") for aspect in ASPECTS), per_item=3)
    database = open_database(place)
    with database.writing() as connection:
        number = tasks.add_task(connection, settings, rate_items(made_samples(ITEMS)), {"kind": "samples"})
        return database, [people.invite(connection, number) for _ in range(annotators)]


def started(code: str, place: Path, port: int) -> subprocess.Popen[bytes]:
    """A server in another process, ready for requests."""
    process = subprocess.Popen([sys.executable, "-c", code, str(place), str(port)])  # noqa: S603 - our own code
    wait_for(process, port)
    httpx.get(f"http://127.0.0.1:{port}/", timeout=60)  # our server listens before it can answer
    return process


async def annotate(url: str, token: str, load: Load, until: float) -> None:
    """One annotator, until the time is up."""
    async with httpx.AsyncClient(base_url=url, timeout=30, follow_redirects=True) as client:
        page = await timed(load, "open", client.get(f"/join/{token}"))
        for i in itertools.count():
            if time.monotonic() > until or page is None:
                return
            found, csrf = ASSIGNMENT.search(page.text), CSRF.search(page.text)
            if not (found and csrf):
                return
            number, headers = int(found[1]), {CSRF_HEADER: csrf[1]}
            draft = {"assignment": number, "revision": 1, "body": {"typed": i}}
            await timed(load, "draft", client.post("/api/draft", json=draft, headers=headers))
            name = f"submission-{i:08d}"
            answers = [{"unit": u, "aspect": a, "value": 1 + (u + i) % 5} for u in range(REPLIES) for a in ASPECTS]
            body = {"assignment": number, "submission": name, "answers": answers}
            sent = await timed(load, "answer", client.post("/api/answers", json=body, headers=headers))
            if sent is not None and sent.status_code == 200:
                load.acknowledged.append((number, name))
            page = await timed(load, "page", client.get("/"))


async def fill_form(url: str, person: int, load: Load, until: float) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        while time.monotonic() < until:
            await timed(load, "page", client.get("/"))
            body = {"person": person, "answers": [{"value": 3}] * (REPLIES * len(ASPECTS))}
            await timed(load, "answer", client.post("/", json=body))


def compare(load: Load, others: dict[str, Load], seconds: float) -> list[Figure]:
    """Return the figures of pages and answers beside those of other programs, and of drafts, which only we have."""
    figures = [Figure(name, value, unit) for (name, unit), value in load.measured("draft", seconds).items()]
    for program, other in others.items():
        for kind in ("page", "answer"):
            theirs = other.measured(kind, seconds)
            for (name, unit), value in load.measured(kind, seconds).items():
                label = f"{name}, beside {program}"
                figures.append(Figure(label, value, unit, theirs[name, unit], peer=program))
    return figures


def check(database: Database, load: Load) -> str:
    """Acknowledged submissions against the stored ones; stops the benchmark if one is lost or stored twice."""
    with database.reading() as connection:
        rows = connection.execute(
            select(answer.c.assignment_id, answer.c.submission, func.count()).group_by("assignment_id", "submission")
        ).all()
        late = connection.execute(
            select(func.count()).select_from(assignment).where(assignment.c.finished.is_not(None))
        ).scalar_one()
    stored = {(row[0], row[1]): row[2] for row in rows}
    wanted = REPLIES * len(ASPECTS)
    lost = [one for one in load.acknowledged if one not in stored]
    wrong = [one for one, n in stored.items() if n != wanted]
    twice = len(stored) - len({number for number, _ in stored})
    if lost or wrong or twice:
        raise SystemExit(f"lost {len(lost)}, incomplete or duplicated {len(wrong)}, answered twice {twice}")
    return f"{len(load.acknowledged):,} acknowledged, {late:,} stored, none lost, none duplicated"


def killed(place: Path, port: int, links: list[str], seconds: float) -> tuple[Load, float]:
    """Load during which the server is killed once and started again by nobody: clients see failures, then stop."""
    process, load = started(SERVER, place, port), Load()
    start = time.monotonic()

    async def run() -> None:
        jobs = [annotate(f"http://127.0.0.1:{port}", link, load, start + seconds) for link in links]
        work = asyncio.gather(*jobs)
        await asyncio.sleep(seconds / 2)
        os.kill(process.pid, signal.SIGKILL)
        await work

    asyncio.run(run())
    process.wait()
    return load, time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", default="1", help="processes of our server (1)")
    parser.add_argument(
        "--potato", type=Path, metavar="PROGRAM", help="also put the load on Potato (potato-annotation)"
    )
    parser.add_argument("--label-studio", type=Path, metavar="PROGRAM", help="also put the load on Label Studio")
    add_json_option(parser)
    args = parser.parse_args()
    os.environ["WORKERS"] = args.workers
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        database, links = made_study(base / "study.db", args.people)
        load, url = Load(), f"http://127.0.0.1:{(port := free_port())}"
        server = started(SERVER, base / "study.db", port)
        until = time.monotonic() + args.seconds
        asyncio.run(together([annotate(url, link, load, until) for link in links]))
        end(server)
        plain, place = Load(), base / "form.db"
        server = started(FORM, place, port := free_port())
        until = time.monotonic() + args.seconds
        jobs = [fill_form(f"http://127.0.0.1:{port}", i, plain, until) for i in range(args.people)]
        asyncio.run(together(list(jobs)))
        end(server)
        others = {"a plain form": plain}
        with sqlite3.connect(place) as connection:
            stored = connection.execute("SELECT count(*) FROM row").fetchone()[0]
            print(f"plain form: {stored:,} stored of {len(plain.seconds['answer']):,}")
        for name, measure in (("potato", potato), ("label_studio", label_studio)):
            if program := getattr(args, name):
                (base / name).mkdir()
                others[name], line = measure(program, base / name, args.people, args.seconds, ITEMS)
                print(line)
        facts = f"{args.people} annotators at once, {args.seconds:.0f} s, {args.workers} worker(s)"
        report(facts, compare(load, others, args.seconds), args.json)
        print(f"interloq: {check(database, load)}; failures {dict(load.failures) or 'none'}")
        database.close()
        database, links = made_study(base / "killed.db", args.people)
        load, _ = killed(base / "killed.db", free_port(), links, min(20.0, args.seconds))
        print(f"killed with SIGKILL: {check(database, load)}")
        database.close()


if __name__ == "__main__":
    main()
