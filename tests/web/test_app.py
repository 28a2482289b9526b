"""The app as a whole: failures, busy databases, static files, and requests that no page would send."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from interloq.web.access.visitors import Study
from interloq.web.app import create_app
from tests.web.conftest import KEY, Served, likert_task, replies, submission


def test_no_input_to_the_interface_causes_a_server_error(served: Served) -> None:
    """Schemathesis: requests that fit the interface's schema, and requests that do not."""
    person = served.visit(served.add(likert_task(), replies(30)))
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


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interloq.web.database.WAIT", 0.05)


@pytest.mark.usefixtures("impatient", "served")
def test_a_locked_study_is_busy_and_takes_the_answer_later(served: Served, tmp_path: Path) -> None:
    annotator = served.visit(served.add(likert_task(), replies(1)))
    body = submission(annotator.assignment())
    other = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = annotator.post("/api/answers", body)
    assert (answer.status_code, answer.json()["error"]) == (503, "busy")
    assert int(answer.headers["retry-after"]) > 0
    page = annotator.client.get("/", headers={"accept": "text/html", "accept-language": "ja"})
    assert (page.status_code, "サーバーが混み合っています" in page.text) == (503, True)
    other.close()
    assert annotator.post("/api/answers", body).status_code == 200


def test_only_static_files_are_served_and_always_checked_for_newer_ones(served: Served) -> None:
    assert httpx.get(f"{served.url}/static/work.js").headers["cache-control"] == "no-cache"
    for path in ("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/schema.py"):
        assert httpx.get(served.url + path).status_code == 404
