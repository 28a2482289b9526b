# SPDX-License-Identifier: Apache-2.0
"""Administrators' pages: who reaches them, and a whole study in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.routing import APIRoute

from interloq import read
from interloq.data.records.jsonl import write
from interloq.records import Score
from interloq.web.access.security import ADMIN_COOKIE, COOKIE
from interloq.web.admin.admin_routes import router
from interloq.web.serve import invitation_links
from interloq.web.serve_options import InvitationOptions, ServerAddress
from tests.web.conftest import Served, choice_task, likert_task, replies

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

REFUSED = "Failed to load resource: the server responded with a status of 409 (Conflict)"  # and the page says why
ROUTES = sorted(
    (method, route.path) for route in router.routes if isinstance(route, APIRoute) for method in route.methods or ()
)


class Client:
    """Requests with the cookie of an invitation; redirects are not followed."""

    def __init__(self, served: Served, link: str = "") -> None:
        self.port, self.cookie, self.csrf = served.port, "", ""
        if link:
            _, headers, _ = self("GET", link.removeprefix(served.url))
            self.cookie = headers["set-cookie"].split(";")[0]
            assert self.cookie.startswith((COOKIE, ADMIN_COOKIE))

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        sent = {"Cookie": self.cookie, "Content-Type": "application/json", "X-CSRF-Token": self.csrf, **headers}
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return found

    def with_token(self, page: str = "/") -> Client:
        """The same with the CSRF token that a page carries."""
        text = self("GET", page, Accept="text/html")[2].decode()
        self.csrf = text.split('data-csrf="')[1].split('"')[0]
        return self


@pytest.fixture
def rated(served: Served) -> int:
    return served.add(likert_task(), replies(2))


def _path(route: str, task: int) -> str:
    return route.replace("{number}", str(task))


def test_all_routes_are_known() -> None:
    assert {path for _, path in ROUTES} >= {"/admin", "/admin/upload", "/admin/tasks/{number}/export"}
    assert {method for method, _ in ROUTES} == {"GET", "POST"}


def _body(route: str) -> dict[str, Any]:
    return {"closed": True} if route.endswith("close") else {"number": 1}


def test_nobody_else_reaches_administrators_pages(served: Served, rated: int) -> None:
    annotator, stranger = Client(served, served.invite(rated)).with_token(), Client(served)
    for method, route in ROUTES:
        path = _path(route, rated)
        status, _, text = annotator(method, path, _body(route))
        assert (status, json.loads(text)["error"]) == (403, "not_allowed"), route
        assert stranger(method, path, _body(route))[0] == 401, route


def test_changes_need_the_token(served: Served, rated: int) -> None:
    admin = Client(served, served.invite(None))
    changes = [route for method, route in ROUTES if method == "POST"]
    for route in changes:
        status, _, text = admin("POST", _path(route, rated), _body(route))
        assert (status, json.loads(text)["error"]) == (403, "not_our_page"), route
    admin.with_token("/admin")
    for route in changes:
        assert admin("POST", _path(route, rated), _body(route), Origin="http://elsewhere.example")[0] == 403, route


def test_unknown_numbers(served: Served) -> None:
    admin = Client(served, served.invite(None)).with_token("/admin")
    for path in ("/admin/tasks/99", "/admin/tasks/99/figures", "/admin/tasks/99/export"):
        assert admin("GET", path)[0] == 404
    for path in ("/admin/people/99/forget", "/admin/people/1/forget", "/admin/invitations/99/revoke"):
        assert admin("POST", path, {})[0] == 404  # person 1 is the administrator
    assert admin("POST", "/admin/invitations/1/revoke", {})[0] == 409


def test_figures_are_sent_when_they_changed(served: Served, rated: int) -> None:
    admin = Client(served, served.invite(None)).with_token("/admin")
    status, _, text = admin("GET", f"/admin/tasks/{rated}/figures")
    state = json.loads(text)["state"]
    assert (status, admin("GET", f"/admin/tasks/{rated}/figures?seen={state}")[0]) == (200, 204)
    assert admin("POST", f"/admin/tasks/{rated}/close", {"closed": True})[0] == 200
    status, _, text = admin("GET", f"/admin/tasks/{rated}/figures?seen={state}")
    assert (status, json.loads(text)["closed"]) == (200, True)


def test_links_revocation_and_deletion(served: Served, rated: int) -> None:
    admin = Client(served, served.invite(None)).with_token("/admin")
    wanted = {"number": 2, "label": "friends"}
    first, second = json.loads(admin("POST", f"/admin/tasks/{rated}/invitations", wanted)[2])["links"]
    annotator = Client(served, first)
    assert annotator("GET", "/")[0] == 200
    assert first.rsplit("/", 1)[1] not in admin("GET", f"/admin/tasks/{rated}")[2].decode()
    assert admin("POST", "/admin/people/2/forget", {})[0] == 200
    assert annotator("GET", "/")[0] == 401
    assert admin("POST", "/admin/invitations/3/revoke", {})[0] == 200
    assert Client(served)("GET", second.removeprefix(served.url))[0] == 404


def test_links_have_the_public_address_and_equal_those_of_the_command(served: Served, rated: int) -> None:
    served.stop()
    served.public = "https://rate.example.org/"
    served.start()
    admin = Client(served, served.invite(None)).with_token("/admin")
    (link,) = json.loads(admin("POST", f"/admin/tasks/{rated}/invitations", {"parameter": "PID"})[2])["links"]
    (other,) = invitation_links(
        served.place, "likert", ServerAddress(public=served.public), InvitationOptions(parameter="PID")
    )
    assert re.fullmatch(r"https://rate\.example\.org/join/[\w-]+\?PID=\{\{%PID%\}\}", link)
    assert link.split("/join/")[1][32:] == other.split("/join/")[1][32:]
    assert link.startswith(other.split("/join/")[0])


# ---- in a browser ----------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Pages of people with browsers of their own, whose consoles stay empty."""
    contexts, complaints = [], list[str]()

    def made(link: str, **options: Any) -> Page:
        contexts.append(browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options}))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(link)
        return page

    yield made
    for context in contexts:
        context.close()
    assert [text for text in complaints if text != REFUSED] == []


def _accessible(page: Page) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_a_study_from_the_file_to_the_export(served: Served, opened: Callable[..., Page], tmp_path: Path) -> None:
    records = tmp_path / "replies.jsonl"
    write(records, replies(2), kind="samples")
    scores = tmp_path / "scores.jsonl"
    found = [Score(one.id, m, float(n), system=one.system) for m in ("a", "b") for n, one in enumerate(replies(2))]
    write(scores, found, kind="scores")
    admin = opened(served.invite(None))
    admin.get_by_role("link", name="New task").click()
    _accessible(admin)
    admin.get_by_label("File of samples or dialogues").set_input_files(records)
    admin.get_by_label("Scores of metrics").set_input_files(scores)
    admin.get_by_label("Name").fill("first-study")
    admin.get_by_role("button", name="Preview").click()
    admin.get_by_text("first-study (rate): 2 pages from 4 records; each page goes to 3 annotators.").wait_for()
    admin.get_by_text("It needs at least 3 people, each with up to 2 pages (4 answers).").wait_for()
    assert "Reply 0 to question 0." in admin.locator("#pages").inner_text()
    assert "secret" not in admin.locator("#pages").inner_text()
    _accessible(admin)
    admin.get_by_role("button", name="Create the task").click()
    admin.get_by_role("heading", name="first-study").wait_for()
    assert admin.locator("#h-pages").inner_text() == "0"
    assert admin.locator("#warning").inner_text().startswith("0 people are invited, but at least 3 are needed")
    admin.get_by_label("Links").fill("1")
    admin.get_by_role("button", name="Make links").click()
    link = admin.locator("#links code").inner_text()
    admin.get_by_text("1 person is invited, but at least 3 are needed").wait_for()

    admin.evaluate("window.notReloaded = true")
    annotator = opened(link)
    for step in annotator.locator("fieldset.question").all():
        step.locator(".step", has_text="4").click()
    with annotator.expect_navigation():
        annotator.keyboard.press("Control+Enter")
    admin.locator("#h-pages", has_text="1").wait_for()
    assert admin.evaluate("window.notReloaded") is True
    assert admin.get_by_role("row", name="secret-owl").locator("td").first.inner_text() == "4.00"
    _accessible(admin)
    with admin.expect_download() as download:
        admin.get_by_role("link", name="Export", exact=True).click()
    download.value.save_as(tmp_path / "out.jsonl")
    new = [rating for one in read(tmp_path / "out.jsonl") for rating in one.ratings if rating.rater != "earlier"]
    assert [rating.value for rating in new] == [4, 4]
    assert {rating.rater[0] for rating in new} == {"u"}

    admin.get_by_role("button", name="Delete the data of").click()
    admin.get_by_role("button", name="Delete", exact=True).click()
    admin.locator("#h-pages", has_text="0").wait_for()


def _talk(one: Client, replies: int) -> None:
    """Get so many replies, end the conversation, and answer all questions with 1."""
    page = one("GET", "/", Accept="text/html")[2].decode()
    number = json.loads(re.search(r'id="facts">(.*?)</script>', page, re.DOTALL)[1])["assignment"]  # type: ignore[index]
    for place in range(0, 2 * replies, 2):
        assert one("POST", "/api/chat/say", {"assignment": number, "place": place, "text": "Hi"})[0] == 200
        assert one("POST", "/api/chat/reply", {"assignment": number, "place": place + 1})[0] == 200
    one("POST", "/api/chat/end", {"assignment": number})
    page = one("GET", "/", Accept="text/html")[2].decode()
    asked = re.findall(r'data-unit="(\d+)" data-aspect="(\w+)"', page)
    given = [{"unit": int(unit), "aspect": aspect, "value": 1} for unit, aspect in asked]
    assert one("POST", "/api/answers", {"assignment": number, "submission": "submission", "answers": given})[0] == 200


def test_a_chat_from_the_form_to_outsiders(served: Served, opened: Callable[..., Page]) -> None:
    admin = opened(served.invite(None), viewport={"width": 390, "height": 844})
    admin.get_by_role("link", name="New task").click()
    admin.get_by_label("Name").fill("two-bots")
    admin.get_by_label("Task").select_option("chat")
    admin.get_by_label("File of samples or dialogues").wait_for(state="hidden")
    bots = admin.get_by_label("Bots, one per line")
    bots.fill("old = eliza\nshell = process(command='id')")
    admin.get_by_label("Allow bots that start programs").check()
    admin.get_by_role("button", name="Preview").click()
    admin.get_by_text("the bot 'shell' names a file, a program or a server").wait_for()
    bots.fill("old = eliza\nparrot = echo")
    admin.get_by_label("Ask whether the partner was a person or a bot").check()
    admin.get_by_role("button", name="Preview").click()
    admin.get_by_text("two-bots (chat): 2 pages with old = eliza; parrot = echo").wait_for()
    _accessible(admin)
    admin.get_by_role("button", name="Create the task").click()
    admin.get_by_role("heading", name="two-bots").wait_for()
    for number in (1, 3):
        _talk(Client(served, served.invite(1)).with_token(), number)
    admin.locator("[data-section=survival] polyline").first.wait_for()
    admin.locator("[data-section=guessed-human] tbody tr").first.wait_for()
    admin.get_by_text("The first look is after 3 complete items; 1 of 3 items complete.").wait_for()
    _accessible(admin)
    assert admin.evaluate("document.documentElement.scrollWidth <= innerWidth")
    admin.get_by_role("button", name="Send conversations to outsiders").click()
    admin.get_by_role("heading", name="two-bots-outsiders").wait_for()
    outsider = opened(served.invite(2))
    outsider.get_by_text("Was speaker B a person or a bot?").wait_for()
    assert outsider.locator(".bubble .tag").count() == 0


def test_a_bad_upload_says_why(served: Served, opened: Callable[..., Page], tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": "1", "response": "only one"}\n')
    page = opened(served.invite(None))
    page.goto(f"{served.url}/admin/new")
    page.get_by_label("File of samples or dialogues").set_input_files(tmp_path / "bad.jsonl")
    page.get_by_label("Name").fill("bad")
    page.get_by_label("Task").select_option("compare")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("This did not work: nothing to compare").wait_for()


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}])
def test_pages_are_accessible_in_the_dark_and_on_a_phone(
    served: Served, opened: Callable[..., Page], options: dict[str, Any]
) -> None:
    task = served.add(choice_task(), replies(2))
    Client(served, served.invite(task, label="friends"))
    page = opened(served.invite(None), **options)
    for path in ("/admin", f"/admin/tasks/{task}"):
        page.goto(f"{served.url}{path}")
        page.locator("html[data-ready]").wait_for(state="attached")
        _accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
