"""What an administrator who watches a large study costs the annotators: latency of their pages, and the server's time.

    python benchmarks/admin_page.py [--ratings 60000] [--workers 2]

A study has this many ratings already. A few annotators open pages and answer, with a pause between pages as people
have; in the second half, an administrator's page asks for new figures again and again, as it does by itself. "Nobody
watches" is the first half of the same run. The processor time of the server's process is read before and after the
figures are computed once, with nobody at work.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import httpx
from _figures import Figure, add_json_option, report
from _web_load import ASPECTS, REPLIES, Load, free_port, timed, together, wait_for
from sqlalchemy import insert, select
from web import ASSIGNMENT, CSRF, SERVER, made_samples

from interloq.web.access import people
from interloq.web.access.security import CSRF_HEADER
from interloq.web.database import open_database
from interloq.web.schema import answer, assignment, invitation, item, person
from interloq.web.studies import tasks
from interloq.web.studies.items import rate_items
from interloq.web.studies.questions import Question, StudyTask

PER_ITEM, RATERS, ANNOTATORS = 3, 60, 6
PAUSE = 0.3  # seconds between an annotator's pages


def make_study(place: Path, ratings: int) -> tuple[list[str], str]:
    """Write a study with these ratings; return links for annotators and one for an administrator."""
    finished = ratings // (REPLIES * len(ASPECTS))
    samples = made_samples(finished // PER_ITEM + 2_000)
    questions = tuple(Question(aspect, f"How {aspect}?") for aspect in ASPECTS)
    rng = random.Random(0)
    with closing(open_database(place)) as database, database.writing() as connection:
        task = tasks.add_task(
            connection,
            StudyTask("rate", "load", questions, per_item=PER_ITEM),
            rate_items(samples),
            {"kind": "samples"},
        )
        links = [people.invite(connection, task) for _ in range(ANNOTATORS + RATERS)]
        admin = people.invite(connection, None, role="owner")
        invited = connection.execute(select(invitation.c.id).where(invitation.c.task_id == task)).scalars().all()
        raters = [{"id": i + 1, "invitation_id": invited[ANNOTATORS + i], "created": 0.0} for i in range(RATERS)]
        connection.execute(insert(person), raters)
        items = connection.execute(select(item.c.id, item.c.answer_key).order_by(item.c.place)).all()
        rows, answers = [], []
        for page in range(finished):
            which = items[page // PER_ITEM]
            number = page + 1
            row = {"id": number, "task_id": task, "item_id": which.id, "answer_key": which.answer_key}
            row |= {"person_id": 1 + (page % PER_ITEM) + PER_ITEM * (page // PER_ITEM % (RATERS // PER_ITEM))}
            rows.append(row | {"order": [0, 1, 2], "started": float(page), "seen": 0.0, "finished": page + 20.0})
            for unit in range(REPLIES):
                for aspect in ASPECTS:
                    value = min(5, max(1, round(2 + unit + rng.gauss(0, 1))))
                    given = {"assignment_id": number, "submission": f"made{number:08}", "unit": unit, "aspect": aspect}
                    answers.append(given | {"value": value, "time": page + 20.0, "page": "1"})
        connection.execute(insert(assignment), rows)
        connection.execute(insert(answer), answers)
        connection.execute(item.update().where(item.c.id <= items[finished // PER_ITEM - 1].id).values(active=PER_ITEM))
    return links[:ANNOTATORS], admin


async def annotate(url: str, link: str, load: Load, halves: Sequence[float]) -> None:
    """Answer pages; requests in the second half are counted apart."""
    async with httpx.AsyncClient(base_url=url, timeout=60, follow_redirects=True) as client:
        page = await timed(load, "open", client.get(f"/join/{link}"))
        while page is not None and time.monotonic() < halves[1]:
            half = "alone" if time.monotonic() < halves[0] else "watched"
            found, csrf = ASSIGNMENT.search(page.text), CSRF.search(page.text)
            if not (found and csrf):
                raise SystemExit("there is no page left to answer")
            answers = [{"unit": u, "aspect": a, "value": 1 + u % 5} for u in range(REPLIES) for a in ASPECTS]
            body = {"assignment": int(found[1]), "submission": "submission-1", "answers": answers}
            headers = {CSRF_HEADER: csrf[1]}
            await timed(load, f"answer {half}", client.post("/api/answers", json=body, headers=headers))
            page = await timed(load, f"page {half}", client.get("/"))
            await asyncio.sleep(PAUSE)


async def watch(url: str, link: str, load: Load, halves: Sequence[float]) -> None:
    """Ask for new figures again and again in the second half."""
    async with httpx.AsyncClient(base_url=url, timeout=60, follow_redirects=True) as client:
        await client.get(f"/join/{link}")
        await asyncio.sleep(max(0, halves[0] - time.monotonic()))
        while time.monotonic() < halves[1]:
            await timed(load, "figures", client.get("/admin/tasks/1/figures"))


def compute_once(url: str, link: str, process: int) -> tuple[float, float]:
    """Return seconds until the first figures, and processor time of the server's process."""
    with httpx.Client(base_url=url, timeout=120, follow_redirects=True) as client:
        client.get(f"/join/{link}")
        start, before = time.perf_counter(), processor_time(process)
        client.get("/admin/tasks/1/figures").raise_for_status()
        return time.perf_counter() - start, processor_time(process) - before


def processor_time(process: int) -> float:
    """Return seconds that a process has used, without the processes that it started."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ratings", type=int, default=60_000)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each half (20)")
    parser.add_argument("--workers", default="1", help="processes of the server (1)")
    add_json_option(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place, port, load = Path(folder) / "study.db", free_port(), Load()
        links, admin = make_study(place, args.ratings)
        os.environ["WORKERS"] = args.workers
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(place), str(port)])  # noqa: S603 - our own code
        url = f"http://127.0.0.1:{port}"
        try:
            wait_for(server, port)
            httpx.get(f"{url}/health", timeout=60)
            first, own_time = compute_once(url, admin, server.pid)
            start = time.monotonic()
            halves = start + args.seconds, start + 2 * args.seconds
            work = [annotate(url, link, load, halves) for link in links]
            asyncio.run(together([*work, watch(url, admin, load, halves)]))
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
    figures = [
        Figure("first figures", first, "s"),
        Figure("processor time of the server's process for figures", own_time, "s"),
        Figure(
            "new figures while people answer, median", load.measured("figures", 1)["figures, median", "ms"] / 1000, "s"
        ),
    ]
    for kind in ("page", "answer"):
        alone, watched = (load.measured(f"{kind} {half}", args.seconds) for half in ("alone", "watched"))
        for name in ("median", "95 %", "99 %"):
            ours, other = watched[f"{kind} watched, {name}", "ms"], alone[f"{kind} alone, {name}", "ms"]
            figures.append(
                Figure(f"{kind}, {name}, while figures are computed", ours, "ms", other, peer="nobody watches")
            )
    if load.failures:
        raise SystemExit(f"failed requests: {dict(load.failures)}")
    people_at_work = f"{ANNOTATORS} annotators with a pause of {PAUSE:g} s"
    report(f"a study of {args.ratings:,} ratings, {people_at_work}, {args.workers} worker(s)", figures, args.json)


if __name__ == "__main__":
    main()
