"""The web app, served for tests: `served` runs it on loopback with an empty study of its own."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import psycopg
import pytest
import uvicorn
from psycopg import sql
from sqlalchemy import make_url

from interloq import Rating, Sample
from interloq.records import Dialogue
from interloq.web.access import joining, people
from interloq.web.access.security import CSRF_HEADER
from interloq.web.access.visitors import Study
from interloq.web.app import create_app
from interloq.web.chat import chat_bots
from interloq.web.chat.chat_task import NO_LIMIT
from interloq.web.database import Database, open_database
from interloq.web.schema import METADATA
from interloq.web.studies import tasks
from interloq.web.studies.items import compare_items, rate_items
from interloq.web.studies.questions import Question, StudyTask
from interloq.web.studies.tasks import Stored
from tests.conftest import missing
from tests.server_fixtures import free_port

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response

ASSIGNMENT = re.compile(r'"assignment": ?(\d+)')
TOKEN = re.compile(r'data-csrf="([\w-]{20,})"')
KEY = "a key of pseudonyms for tests"
READY_WITHIN = 20.0  # seconds
SECRETS = ("secret-id", "secret-parrot", "secret-owl")
EXPECTED_COMPLAINTS = (
    "Failed to load resource: net::ERR_INTERNET_DISCONNECTED",
    "Failed to load resource: net::ERR_FAILED",  # without a connection, through the service worker
    "Service Worker registration blocked by Playwright",
)


class Served:
    """The app in a thread. It keeps its port and its study over a restart."""

    def __init__(self, place: Path) -> None:
        self.place, self.port = place, free_port()
        self.database: Database = open_database(place)
        self.sent: list[bytes] = []  # bodies of all responses
        self.public = ""
        self.effects: list[str] = []  # what bots do besides talking
        self.limit = NO_LIMIT  # of calls of bots
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, config: uvicorn.Config | None = None) -> None:
        """Serve; returns when requests are answered."""
        study = Study(self.database, KEY, public=self.public, trust=self.effects.append, limit=self.limit)
        app = recording(create_app(study), self.sent)
        config = config or uvicorn.Config(
            app, "127.0.0.1", self.port, log_level="error", lifespan="on", ws="none", timeout_graceful_shutdown=2
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        until = time.monotonic() + READY_WITHIN
        while not self._server.started:
            assert self._thread.is_alive(), "the app did not start"
            assert time.monotonic() < until, "the app did not start in time"
            time.sleep(0.01)

    def stop(self) -> None:
        """End the server; the study stays open."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(READY_WITHIN)
            assert not self._thread.is_alive()
        self._server = self._thread = None

    def add(self, settings: StudyTask, records: Iterable[Sample | Dialogue]) -> int:
        """The number of a new task of kind rate or compare with these records."""
        return stored_task(self.database, settings, records).id

    def add_chat(self, settings: StudyTask) -> int:
        """The number of a new task of kind chat."""
        with self.database.writing() as connection:
            return chat_bots.add_chat(connection, settings, trust=self.effects.append)

    def invite(self, task: int | None, **options: Any) -> str:
        """The link of a new invitation; without a task, of an administrator."""
        options.setdefault("role", "owner" if task is None else "annotator")
        with self.database.writing() as connection:
            return f"{self.url}/join/{people.invite(connection, task, **options)}"


def recording(app: Any, sent: list[bytes]) -> Any:
    """The app; the bodies of its responses are added to `sent`."""

    async def recorded(scope: Any, receive: Any, send: Any) -> None:
        async def record(message: Any) -> None:
            sent.append(message.get("body", b""))
            await send(message)

        await app(scope, receive, record)

    return recorded


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    app = Served(tmp_path / "study.db")
    app.start()
    yield app
    app.stop()
    app.database.close()


@pytest.fixture(scope="session")
def postgres_study(postgres_server: str) -> Iterator[Database]:
    """A study in PostgreSQL that all tests share, one after another."""
    with made_server_database(postgres_server) as url:
        database = open_database(url)
        yield database
        database.close()


@contextmanager
def made_server_database(server: str) -> Iterator[str]:
    """The URL of a new database on the server; it is dropped at the end."""
    name = f"study_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(params=["sqlite", "postgres"])
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty study, in each database."""
    if request.param == "sqlite":
        database = open_database(tmp_path / "study.db")
        yield database
        database.close()
        return
    database = request.getfixturevalue("postgres_study")
    yield database
    tables = ", ".join(f'"{table.name}"' for table in METADATA.sorted_tables)
    with database.writing() as connection:
        connection.exec_driver_sql(f"TRUNCATE {tables} RESTART IDENTITY CASCADE")


def stored_task(study: Database, settings: StudyTask, records: Iterable[Sample | Dialogue]) -> Stored:
    """A new task of kind rate or compare with these records."""
    items = (compare_items if settings.kind == "compare" else rate_items)(records)
    with study.writing() as connection:
        number = tasks.add_task(connection, settings, items, {"name": "test", "kind": items[0].hidden["kind"]})
        return tasks.get_task(connection, number)


def annotators(study: Database, stored: Stored, number: int = 1) -> list[int]:
    """Numbers of people who opened their invitations to a task."""
    found = []
    for _ in range(number):
        with study.writing() as connection:
            entry = joining.join(connection, people.invite(connection, stored.id), {})
            visitor = people.visitor(connection, entry.secret if entry else "")
            assert visitor is not None
            found.append(visitor.person)
    return found


def likert_task(name: str = "likert", **settings: Any) -> StudyTask:
    """A task of kind rate with one Likert question."""
    return StudyTask("rate", name, (Question("overall", "How good is this reply?"),), **settings)


def choice_task(name: str = "choice", **settings: Any) -> StudyTask:
    """A task of kind compare with one question and a field for a reason."""
    asked = Question("overall", "Which reply is better?", control="choice", reason=True)
    return StudyTask("compare", name, (asked,), **settings)


def chat_task(name: str = "chat", *, bots: Mapping[str, str] | None = None, **settings: Any) -> StudyTask:
    """A task of kind chat with one question about each reply and the whole."""
    options = {"bots": bots or {"secret-parrot": "echo"}, **settings.pop("options", {})}
    return StudyTask("chat", name, (Question("overall", "How good is it?"),), options=options, **settings)


def replies(contexts: int = 3, systems: Iterable[str] = ("secret-parrot", "secret-owl")) -> list[Sample]:
    """Replies of systems to several contexts, with ids and names that no annotator may see."""
    return [
        Sample(f"secret-id-{i}", [f"Question {i}?"], f"Reply {n} to question {i}.", (), system, [Rating(4, "earlier")])
        for i in range(contexts)
        for n, system in enumerate(systems)
    ]


class Annotator:
    """A browser's cookies, and the token of its page."""

    def __init__(self, link: str, url: str) -> None:
        self.client = httpx.Client(base_url=url, follow_redirects=True)
        page = self.client.get(link)
        assert page.status_code == 200
        self.page = page.text
        found = TOKEN.search(self.page)
        assert found, "the page has no token"
        self.headers = {CSRF_HEADER: found[1]}

    def assignment(self) -> int:
        found = ASSIGNMENT.search(self.client.get("/").text)
        assert found
        return int(found[1])

    def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return self.client.post(path, json=body, headers={**self.headers, **headers})


def submission(assignment: int, name: str = "submission-1", value: object = 4) -> dict[str, Any]:
    answers = [{"unit": unit, "aspect": "overall", "value": value} for unit in (0, 1)]
    return {"assignment": assignment, "submission": name, "answers": answers}


class Person:
    """Somebody with a browser of their own; headers of responses and what the console prints are recorded."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.sent: list[str] = []
        self.complaints: list[str] = []
        self.page.on("response", self._record)
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))

    def _record(self, response: Response) -> None:
        self.sent.append(response.url + str(response.headers))

    def open(self, link: str) -> Page:
        self.page.goto(link)
        self.page.locator("html[data-ready]").wait_for(state="attached")
        return self.page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def submit(self) -> None:
        """Submit with the keyboard, and wait for the page after it."""
        with self.page.expect_navigation():
            self.page.keyboard.press("Control+Enter")


@pytest.fixture
def person(browser: Browser, served: Served) -> Iterator[Callable[..., Person]]:
    people: list[Person] = []

    def made(**options: Any) -> Person:
        people.append(Person(browser, **options))
        return people[-1]

    yield made
    for one in people:
        one.context.close()
        assert [text for text in one.complaints if text not in EXPECTED_COMPLAINTS] == []
        assert not [text for text in one.sent for secret in SECRETS if secret in text]
    assert not [secret for secret in SECRETS if secret.encode() in b"".join(served.sent)]


@pytest.fixture(scope="module")
def axe() -> Any:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        missing("axe-playwright-python")
    return Axe()


def problems(axe: Any, page: Page) -> list[str]:
    """Violations that axe finds on a page."""
    found = axe.run(page).response
    assert len(found["passes"]) > 10
    return [f"{one['id']}: {node['html']}" for one in found["violations"] for node in one["nodes"]]
