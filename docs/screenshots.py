"""Makes the pictures in docs/images from the study of `interloq serve --demo`; needs playwright and Chromium.

The ratings behind the administrator's page are made up: a random number around a constant of each system. The model
behind the page for references is trained on the 30 queries of `interloq new`, far too few for useful predictions.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, ViewportSize, sync_playwright
from sqlalchemy import Connection, select

from interloq.web.access import joining, people
from interloq.web.database import open_database
from interloq.web.schema import item
from interloq.web.serve import invitation_links, make_study
from interloq.web.serve_options import ServerAddress
from interloq.web.studies.tasks import Stored, find_task
from interloq.web.work.answers import submit
from interloq.web.work.assign import Assigned, next_item

IMAGES = Path(__file__).with_name("images")
WINDOW: ViewportSize = {"width": 880, "height": 640}
REFERENCES = {
    "title": "Which replies would also fit?",
    "consent": "This is an example.",
    "options": {"model": "reliability", "log": ["trial/pairs.jsonl"], "k": 20, "limit": 5, "device": "cpu"},
}
COMMANDS = (
    "new trial",
    "train reliability trial/samples.jsonl --metric bleu_star --sizes 1,2 --device cpu -o reliability",
    "serve add study.db trial/samples.jsonl --task references --name references --settings references.json",
)
PEOPLE, PAGES = 6, 12  # of each person
SECONDS = 25  # per page
QUALITY = {"attentive": 4.5, "generic": 3.0, "drifting": 2.0, "parrot": 1.5}


def main() -> None:
    """Write the pictures."""
    random.seed(0)
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        study = make_study(Path(folder))
        _rate(study)
        _add_references(Path(folder))
        command = [sys.executable, "-m", "interloq.cli", "serve", "run", str(study), "--port", "0"]
        command += ["--secret", str(Path(folder) / "demo.key")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            admin = server.stdout.readline().split()[-1]
            port = int(admin.split("/")[2].split(":")[1])
            server.stdout.readline()  # it serves
            try:
                _take(study, admin, ServerAddress(port=port))
            finally:
                server.terminate()


def _add_references(folder: Path) -> None:
    """Train a small model, and add a task with its predictions to the study in the folder."""
    (folder / "references.json").write_text(json.dumps(REFERENCES))
    for command in COMMANDS:
        subprocess.run([sys.executable, "-m", "interloq.cli", *command.split()], cwd=folder, check=True)


def _rate(study: Path) -> None:
    """Let invented people rate everything."""
    database = open_database(study)
    with database.writing() as connection:
        stored = find_task(connection, "rate")
        for _ in range(PEOPLE):
            entry = joining.join(connection, people.invite(connection, stored.id), {})
            visitor = people.visitor(connection, entry.secret if entry else "")
            assert visitor is not None
            for _ in range(PAGES):
                given = next_item(connection, stored, visitor.person, now=time.time() - SECONDS)
                assert given is not None
                answers = _answers(connection, stored, given)
                submit(connection, stored.settings, visitor.person, given.id, f"demo-{given.id}", answers, "demo")
    database.close()


def _answers(connection: Connection, stored: Stored, given: Assigned) -> list[dict[str, Any]]:
    units = connection.execute(select(item.c.hidden).where(item.c.id == given.item)).scalar_one()["units"]
    found = []
    for unit, place in enumerate(given.order):
        mean = QUALITY.get(units[place]["system"], 9)  # an attention check is passed
        for question in stored.settings.questions:
            share = (mean - 1) / 4 + random.gauss(0, 0.15)
            value = question.low + round(min(max(share, 0), 1) * (question.high - question.low))
            found.append({"unit": unit, "aspect": question.aspect, "value": value})
    return found


def _take(study: Path, admin: str, address: ServerAddress) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown = {"rate": _rated, "compare": _compared, "chat": _chatted, "references": _written, "admin": _watched}
        for name, prepare in shown.items():
            page = browser.new_context(viewport=WINDOW, reduced_motion="reduce").new_page()
            page.goto(admin if name == "admin" else invitation_links(study, name, address)[0])
            if name != "admin":
                page.get_by_role("button", name="I agree").click()
                page.locator("#questions, #say, #deciding").wait_for()
            page.locator("html[data-ready]").wait_for(state="attached")
            prepare(page)
            page.screenshot(path=IMAGES / f"serve-{name}.png")
        browser.close()


def _rated(page: Page) -> None:
    page.keyboard.press("4")


def _compared(page: Page) -> None:
    page.keyboard.press("1")
    page.locator("textarea").fill("It answers the question.")


def _chatted(page: Page) -> None:
    for text in ("Hello! I have just come back from the sea.", "I remember the long beach."):
        page.get_by_label("Your message").fill(text)
        page.keyboard.press("Enter")
        page.wait_for_timeout(1500)  # for the reply


def _written(page: Page) -> None:
    page.locator("#after b").wait_for()  # the first prediction
    page.locator(".instructions summary").click()
    page.keyboard.press("e")
    page.get_by_label("Your text").fill("Not at all, I lay awake until the birds started to sing.")
    page.wait_for_timeout(1500)  # for the prediction and the draft
    page.locator("#known li").last.evaluate("one => one.scrollIntoView()")


def _watched(page: Page) -> None:
    page.get_by_role("link", name="rate").click()
    page.get_by_role("heading", name="Systems").first.wait_for()


if __name__ == "__main__":
    main()
