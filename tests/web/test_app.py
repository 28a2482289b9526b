"""The HTTP interface: sessions, tokens, refusals, and what annotators can and cannot read."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from interloq.web.access.security import COOKIE, CSRF_HEADER
from interloq.web.access.visitors import Study
from interloq.web.app import create_app
from interloq.web.studies.questions import Question, StudyTask
from tests.web.conftest import KEY, Served, choice_task, likert_task, replies

ASSIGNMENT = re.compile(r'"assignment": ?(\d+)')
TOKEN = re.compile(r'data-csrf="([\w-]{20,})"')


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


@pytest.fixture
def person(served: Served) -> Iterator[Annotator]:
    found = Annotator(served.invite(served.add(likert_task(), replies(2))), served.url)
    yield found
    found.client.close()


def rated(assignment: int, submission: str = "submission-1", value: object = 4) -> dict[str, Any]:
    answers = [{"unit": unit, "aspect": "overall", "value": value} for unit in (0, 1)]
    return {"assignment": assignment, "submission": submission, "answers": answers}


def test_the_cookie_is_only_for_the_server_and_the_secret_leaves_the_address(served: Served) -> None:
    link = served.invite(served.add(likert_task(), replies(1)))
    answer = httpx.get(link)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    assert link.rsplit("/", 1)[1] not in cookie


def test_nothing_is_shown_without_a_session(served: Served) -> None:
    served.add(likert_task(), replies(1))
    for method, path in [("GET", "/"), ("POST", "/api/answers"), ("POST", "/api/draft"), ("POST", "/withdraw")]:
        answer = httpx.request(method, served.url + path, json={})
        assert answer.status_code == 401, path
        assert "Reply" not in answer.text
    assert httpx.get(f"{served.url}/join/guessed").status_code == 404
    assert httpx.get(served.url, headers={"host": "evil.example"}).status_code == 400  # a name that was rebound


def test_answers_are_stored_once_and_incomplete_ones_not_at_all(person: Annotator) -> None:
    number = person.assignment()
    body = rated(number)
    missing = {**body, "answers": body["answers"][:1]}
    refused = person.post("/api/answers", missing)
    assert refused.status_code == 422
    assert refused.json()["problems"] == [{"unit": 1, "aspect": "overall", "reason": "missing"}]
    assert person.post("/api/answers", rated(number, value=9)).json()["problems"][0]["reason"] == "not_on_scale"
    assert person.assignment() == number
    assert person.post("/api/answers", body).json() == {"stored": True}
    assert person.post("/api/answers", body).json() == {"stored": True}  # sent again after a lost connection
    assert person.post("/api/answers", rated(number, "submission-2")).status_code == 409
    assert person.assignment() != number


def test_a_slider_without_a_value_is_refused_however_it_is_sent(served: Served) -> None:
    asked = Question("overall", control="slider", low=0, high=100)
    person = Annotator(
        served.invite(served.add(StudyTask("rate", "t", (asked,)), replies(1, ["secret-owl"]))), served.url
    )
    number = person.assignment()
    own = {"unit": 0, "aspect": "overall"}
    for entered in ({}, {"value": None}, {"reason": "none"}, {"not_applicable": True}):
        answers = [{**own, **entered}]
        refused = person.post("/api/answers", {**rated(number), "answers": answers})
        assert (refused.status_code, refused.json()["error"]) == (422, "incomplete"), answers
    for value in ("50", True, [50]):
        answers = [{**own, "value": value}]
        problems = person.post("/api/answers", {**rated(number), "answers": answers}).json()["problems"]
        assert [one["reason"] for one in problems] == ["not_on_scale"]
    assert person.post("/api/answers", {**rated(number), "answers": []}).json()["error"] == "incomplete"
    form = {"assignment": str(number), "submission": "submission-1", "q0-0": "50"}  # as a form without script sends it
    assert person.client.post("/api/answers", data=form, headers=person.headers).status_code == 422
    assert person.client.post("/", data=form, headers=person.headers).status_code == 405
    assert person.assignment() == number
    person.client.close()


def test_nobody_can_answer_or_read_for_somebody_else(served: Served) -> None:
    task = served.add(likert_task(), replies(2))
    first, second = (Annotator(served.invite(task), served.url) for _ in range(2))
    number = first.assignment()
    draft = {"assignment": number, "revision": 1, "body": {"typed": "private words"}}
    assert first.post("/api/draft", draft).json() == {"revision": 1}
    assert second.post("/api/answers", rated(number)).status_code == 409
    assert second.post("/api/draft", draft).status_code == 409
    assert "private words" not in second.client.get("/").text
    assert first.post("/api/answers", rated(number)).status_code == 200
    for one in (first, second):
        one.client.close()


def test_no_response_names_systems_or_samples(served: Served) -> None:
    person = Annotator(served.invite(served.add(choice_task(), replies(1))), served.url)
    choice = {"unit": 0, "aspect": "overall", "choice": "first", "reason": ""}
    body = {"assignment": person.assignment(), "submission": "submission-1", "answers": [choice]}
    found = [
        person.page,
        person.post("/api/answers", {**body, "answers": []}).text,
        person.post("/api/answers", body).text,
    ]
    found += [
        person.client.get(path).text for path in ("/", "/api/item", "/admin", "/docs", "/openapi.json", "/health")
    ]
    assert all("secret" not in text for text in found)
    person.client.close()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"assignment": "x"}', b"\xff\xfe", b'{"assignment": 1e400}'])
def test_bodies_that_cannot_be_read_are_refused_without_a_traceback(person: Annotator, body: bytes) -> None:
    headers = {**person.headers, "content-type": "application/json"}
    answer = person.client.post("/api/answers", content=body, headers=headers)
    assert answer.status_code in (400, 422)
    assert "Traceback" not in answer.text


def test_any_draft_is_kept_or_refused(person: Annotator) -> None:
    number, headers = person.assignment(), {**person.headers, "content-type": "application/json"}
    bodies = {"NaN": 422, "Infinity": 422, "9" * 5_000: 400, "[" * 50_000: 400, r'"\ud800\u0000"': 200}
    for body, status in bodies.items():
        text = f'{{"assignment": {number}, "revision": 1, "body": {{"x": {body}}}}}'
        assert person.client.post("/api/draft", content=text, headers=headers).status_code == status
        assert person.assignment() == number


def test_no_input_to_the_interface_causes_a_server_error(served: Served) -> None:
    """Schemathesis: requests that fit the interface's schema, and requests that do not."""
    person = Annotator(served.invite(served.add(likert_task(), replies(30))), served.url)
    inner: Any = create_app(Study(served.database, KEY)).app
    schema = schemathesis.openapi.from_dict({**inner.openapi(), "servers": [{"url": served.url}]})
    changing = ("/api/draft", "/api/answers", "/join/{token}", "/consent")
    operations: list[Any] = list(schema.get_all_operations())
    for operation in (found.ok() for found in operations):
        if operation.path not in changing:
            continue

        @given(case=operation.as_strategy())
        @settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        def check(case: Any) -> None:
            answer = case.call(base_url=served.url, headers=person.headers, cookies=dict(person.client.cookies))
            assert answer.status_code < 500, (case.path, answer.status_code)

        check()
    person.client.close()


def test_drafts_keep_the_larger_revision(person: Annotator) -> None:
    number = person.assignment()

    def keep(revision: int) -> Any:
        body = {"assignment": number, "revision": revision, "body": {"answers": [], "time": revision}}
        return person.post("/api/draft", body).json()

    assert [keep(2), keep(1), keep(3)] == [{"revision": 2}, {"revision": 2}, {"revision": 3}]
    assert '"time": 3' in person.client.get("/").text


def test_nothing_is_stored_before_consent_or_after_withdrawal(served: Served) -> None:
    one = Annotator(served.invite(served.add(likert_task(consent="May we?"), replies(1))), served.url)
    assert "Reply 0" not in one.page
    assert one.post("/api/answers", rated(1)).json()["error"] == "no_consent"
    assert one.post("/consent").json() == {"stored": True}
    assert one.post("/api/answers", rated(one.assignment())).json() == {"stored": True}
    assert one.post("/withdraw").json() == {"stored": True}
    assert one.post("/api/answers", rated(1, "submission-2")).json()["error"] == "withdrawn"
    assert "You withdrew" in one.client.get("/").text
    one.client.close()


def test_a_crowd_workers_id_comes_from_the_address(served: Served) -> None:
    link = served.invite(served.add(likert_task(), replies(1)), parameter="PID")
    assert httpx.get(link).json()["error"] == "no_participant"
    people = [Annotator(f"{link}?PID={name}", served.url) for name in ("a", "b")]
    numbers = [one.assignment() for one in people]
    assert numbers[0] != numbers[1]
    for one in people:
        one.client.close()


def test_failures_are_pages_for_people_and_json_for_scripts(served: Served) -> None:
    for path, reason in (("/", "no_session"), ("/join/wrong", "invitation_not_valid"), ("/nothing", "Not Found")):
        assert httpx.get(served.url + path).json() == {"error": reason, "detail": ""}
        page = httpx.get(served.url + path, headers={"accept": "text/html"})
        assert page.text.startswith("<!doctype html>")


def test_a_bug_is_a_page_in_the_language_of_the_browser(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr("interloq.web.access.joining.join", fail)
    for language, words in (("en", "Something went wrong"), ("ja", "サーバーで問題"), ("zh", "服务器出现问题")):
        answer = httpx.get(f"{served.url}/join/x", headers={"accept": "text/html", "accept-language": language})
        assert answer.status_code == 500
        assert words in answer.text
        assert 'href=""' in answer.text  # try again
        assert "secret" not in answer.text
        assert "default-src" in answer.headers["content-security-policy"]
    answer = httpx.get(f"{served.url}/join/x")
    assert (answer.status_code, answer.json()) == (500, {"error": "internal", "detail": ""})


def test_a_locked_study_is_busy_and_takes_the_answer_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.web.database.WAIT", 0.05)
    served = Served(tmp_path / "study.db")
    served.start()
    annotator = Annotator(served.invite(served.add(likert_task(), replies(1))), served.url)
    body = rated(annotator.assignment())
    other = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = annotator.post("/api/answers", body)
    assert (answer.status_code, answer.json()["error"]) == (503, "busy")
    assert int(answer.headers["retry-after"]) > 0
    page = annotator.client.get("/", headers={"accept": "text/html", "accept-language": "ja"})
    assert (page.status_code, "サーバーが混み合っています" in page.text) == (503, True)
    other.close()
    assert annotator.post("/api/answers", body).status_code == 200
    annotator.client.close()
    served.stop()
    served.database.close()


def test_only_static_files_are_served_and_always_checked_for_newer_ones(served: Served) -> None:
    assert httpx.get(f"{served.url}/static/work.js").headers["cache-control"] == "no-cache"
    for path in ("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/schema.py"):
        assert httpx.get(served.url + path).status_code == 404
