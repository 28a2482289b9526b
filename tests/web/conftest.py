"""The web app, served for tests: `served` runs it on loopback with an empty study of its own."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import psycopg
import pytest
import uvicorn
from psycopg import sql
from sqlalchemy import make_url

from interloq import Rating, Sample, load
from interloq.data.pseudonyms import Pseudonyms
from interloq.records import Dialogue
from interloq.trust import Trust
from interloq.web.access import joining, people
from interloq.web.access.security import CSRF_HEADER
from interloq.web.access.visitors import Study
from interloq.web.app import create_app
from interloq.web.chat.chat_task import NO_LIMIT
from interloq.web.database import Database, open_database
from interloq.web.references.rating_task import make_rating_items
from interloq.web.schema import METADATA
from interloq.web.serve_options import ExportOptions
from interloq.web.studies import tasks
from interloq.web.studies.export import export_task
from interloq.web.studies.items import compare_items, rate_items
from interloq.web.studies.questions import Question, StudyTask
from interloq.web.studies.task_file import TaskSettings, prepare_chat
from interloq.web.studies.tasks import Stored
from interloq.web.work import answers, assign
from interloq.web.work.assign import Assigned
from tests.conftest import missing
from tests.server_fixtures import free_port

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response

    from tests.web.made_references import ReferencesStudy

AddReferences = Callable[..., "ReferencesStudy"]  # adds a task of kind references to a study
ASSIGNMENT = re.compile(r'"assignment": ?(\d+)')
TOKEN = re.compile(r'data-csrf="([\w-]{20,})"')
KEY = "a key of pseudonyms for tests"
NAMES = Pseudonyms(KEY)
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
        self.clients: list[httpx.Client] = []  # closed at the end
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, config: uvicorn.Config | None = None) -> None:
        """Serve; returns when requests are answered."""
        study = Study(self.database, KEY, public=self.public, trust=self.effects.append, limit=self.limit)
        app = record_bodies(create_app(study), self.sent)
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
        """Add a task of kind rate or compare with these records; return its number."""
        return store_task(self.database, settings, records).id

    def add_chat(self, settings: StudyTask) -> int:
        """Add a task of kind chat; return its number."""
        return store_chat(self.database, settings, trust=self.effects.append).id

    def invite(self, task: int | None, **options: Any) -> str:
        """Return the link of a new invitation; without a task, of an administrator."""
        options.setdefault("role", "owner" if task is None else "annotator")
        with self.database.writing() as connection:
            return f"{self.url}/join/{people.invite(connection, task, **options)}"

    def visit(self, task: int | None, **options: Any) -> Annotator:
        """Open a new invitation in a browser of its own."""
        return self.open(self.invite(task, **options))

    def open(self, link: str) -> Annotator:
        """Open a link in a browser of its own."""
        self.clients.append(httpx.Client(base_url=self.url, follow_redirects=True))
        return Annotator(self.clients[-1], link)


def record_bodies(app: Any, sent: list[bytes]) -> Any:
    """Return the app; the bodies of its responses are added to `sent`."""

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
    for client in app.clients:
        client.close()


@pytest.fixture(scope="session")
def postgres_study(postgres_server: str) -> Iterator[Database]:
    """A study in PostgreSQL that all tests share, one after another."""
    with make_server_database(postgres_server) as url, closing(open_database(url)) as database:
        yield database


@contextmanager
def make_server_database(server: str) -> Iterator[str]:
    """Yield the URL of a new database on the server; it is dropped at the end."""
    name = f"study_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(params=["sqlite", "postgres"])
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty study, in each database."""
    if request.param == "sqlite":
        with closing(open_database(tmp_path / "study.db")) as database:
            yield database
        return
    database = request.getfixturevalue("postgres_study")
    yield database
    tables = ", ".join(f'"{table.name}"' for table in METADATA.sorted_tables)
    with database.writing() as connection:
        connection.exec_driver_sql(f"TRUNCATE {tables} RESTART IDENTITY CASCADE")


@pytest.fixture
def sqlite_study(tmp_path: Path) -> Iterator[Database]:
    """An empty study in a file."""
    with closing(open_database(tmp_path / "study.db")) as database:
        yield database


@pytest.fixture
def add_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AddReferences:
    """Add a task of kind references for samples, with a made-up predictor, to a study."""
    from tests.web.made_references import SAMPLES, ReferencesStudy

    def add(study: Database, samples: list[Sample] = SAMPLES, **settings: Any) -> ReferencesStudy:
        return ReferencesStudy(study, tmp_path, monkeypatch, samples, **settings)

    return add


def store_task(study: Database, settings: StudyTask, records: Iterable[Sample | Dialogue]) -> Stored:
    """Add a task of kind rate or compare with these records."""
    make_items: dict[str, Any] = {"compare": compare_items, "references-rating": make_rating_items}
    items = make_items.get(settings.kind, rate_items)(records)
    with study.writing() as connection:
        number = tasks.add_task(
            connection, settings, items, {"name": "test", "kind": items[0].hidden["kind"], "header": {}}
        )
        return tasks.get_task(connection, number)


def store_chat(study: Database, settings: StudyTask, *, trust: Trust = None) -> Stored:
    """Add a task of kind chat."""
    with study.writing() as connection:
        facts = prepare_chat(TaskSettings(settings), trust=trust).store(connection)
        return tasks.get_task(connection, facts["number"])


def add_annotators(study: Database, stored: Stored, number: int = 1) -> list[int]:
    """Let people open their invitations to a task; return their numbers."""
    numbers = []
    for _ in range(number):
        with study.writing() as connection:
            entry = joining.join(connection, people.invite(connection, stored.id), {})
            visitor = people.visitor(connection, entry.secret if entry else "")
            assert visitor is not None
            numbers.append(visitor.person)
    return numbers


def take_item(study: Database, stored: Stored, person: int, now: float | None = None) -> Assigned:
    """Give a person their next item."""
    with study.writing() as connection:
        assigned = assign.next_item(connection, stored, person, now=now)
    assert assigned is not None
    return assigned


def finish_item(study: Database, stored: Stored, person: int, assigned: Assigned, value: float = 3) -> None:
    """Answer the question about each unit of an item with the value, or a comparison with a tie."""
    given: list[dict[str, Any]] = [
        {"unit": unit, "aspect": "overall", "value": value} for unit in range(len(assigned.order))
    ]
    if stored.settings.kind == "compare":
        given = [{"aspect": "overall", "choice": "tie"}]
    submit(study, stored, person, assigned.id, given)


def submit(study: Database, stored: Stored, person: int, assignment: int, given: list[dict[str, Any]]) -> None:
    """Store the answers to an item."""
    with study.writing() as connection:
        answers.submit(connection, stored.settings, person, assignment, f"submission-{assignment}", given, "page")


def export(study: Database, task: int, output: Path, **options: Any) -> list[Any]:
    """Export a task and read the file."""
    with study.reading() as connection:
        stored = tasks.get_task(connection, task)
        facts = export_task(connection, stored, output, NAMES, ExportOptions(**options))
    records = load(output, kind=facts["kind"])
    assert len(records) == facts["records"]
    return records


def likert_task(name: str = "likert", **settings: Any) -> StudyTask:
    """Return a task of kind rate with one Likert question."""
    return StudyTask("rate", name, (Question("overall", "How good is this reply?"),), **settings)


def choice_task(name: str = "choice", **settings: Any) -> StudyTask:
    """Return a task of kind compare with one question and a field for a reason."""
    question = Question("overall", "Which reply is better?", control="choice", reason=True)
    return StudyTask("compare", name, (question,), **settings)


def chat_task(name: str = "chat", *, bots: Mapping[str, str] | None = None, **settings: Any) -> StudyTask:
    """Return a task of kind chat with one question about each reply and the whole."""
    options = {"bots": bots or {"secret-parrot": "echo"}, **settings.pop("options", {})}
    return StudyTask("chat", name, (Question("overall", "How good is it?"),), options=options, **settings)


def replies(contexts: int = 3, systems: Iterable[str] = ("secret-parrot", "secret-owl")) -> list[Sample]:
    """Return replies of systems to several contexts, with ids and names that no annotator may see."""
    return [
        Sample(f"secret-id-{i}", [f"Question {i}?"], f"Reply {n} to question {i}.", (), system, [Rating(4, "earlier")])
        for i in range(contexts)
        for n, system in enumerate(systems)
    ]


class Annotator:
    """A browser's cookies, and the token of its page."""

    def __init__(self, client: httpx.Client, link: str) -> None:
        self.client = client
        page = self.client.get(link)
        assert page.status_code == 200
        self.page = page.text
        token = TOKEN.search(self.page)
        assert token, "the page has no token"
        self.headers = {CSRF_HEADER: token[1]}

    def assignment(self) -> int:
        number = ASSIGNMENT.search(self.client.get("/").text)
        assert number
        return int(number[1])

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path)

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

    def check_page(self) -> None:
        """Check that axe finds no violation on the page, and that it does not scroll sideways."""
        try:
            from axe_playwright_python.sync_playwright import Axe
        except ImportError:
            missing("axe-playwright-python")
        results = Axe().run(self.page).response
        assert len(results["passes"]) > 10
        assert [f"{rule['id']}: {node['html']}" for rule in results["violations"] for node in rule["nodes"]] == []
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


People = Callable[..., Person]  # makes a person with options of their browser


@pytest.fixture
def administrator(browser: Browser) -> Iterator[People]:
    """People whose pages may show names of systems."""
    people: list[Person] = []

    def make(**options: Any) -> Person:
        people.append(Person(browser, **options))
        return people[-1]

    yield make
    for someone in people:
        someone.context.close()
        assert [text for text in someone.complaints if text not in EXPECTED_COMPLAINTS] == []
        assert not [text for text in someone.sent for secret in SECRETS if secret in text]


@pytest.fixture
def person(administrator: People, served: Served) -> Iterator[People]:
    """People to whom no name of a system is sent."""
    yield administrator
    assert not [secret for secret in SECRETS if secret.encode() in b"".join(served.sent)]
