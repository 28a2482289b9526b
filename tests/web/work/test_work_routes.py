"""Routes of annotators: sessions, tokens, refusals, and what they can and cannot read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.web.conftest import Annotator, Served, choice_task, likert_task, replies, submission


@pytest.fixture
def person(served: Served) -> Annotator:
    return served.visit(served.add(likert_task(), replies(2)))


def test_other_hosts_are_refused(served: Served) -> None:
    assert httpx.get(served.url, headers={"host": "evil.example"}).status_code == 400  # a name that was rebound


def test_answers_are_stored_once_and_incomplete_ones_not_at_all(person: Annotator) -> None:
    number = person.assignment()
    body = submission(number)
    refused = person.post("/api/answers", {**body, "answers": body["answers"][:1]})
    assert refused.status_code == 422
    assert refused.json()["problems"] == [{"unit": 1, "aspect": "overall", "reason": "missing"}]
    form = {"assignment": str(number), "submission": "submission-1", "q0-0": "4"}  # as a form without script sends it
    assert person.client.post("/api/answers", data=form, headers=person.headers).status_code == 422
    assert person.client.post("/", data=form, headers=person.headers).status_code == 405
    assert person.assignment() == number
    assert person.post("/api/answers", body).json() == {"stored": True}
    assert person.post("/api/answers", body).json() == {"stored": True}  # sent again after a lost connection
    assert person.post("/api/answers", submission(number, "submission-2")).status_code == 409
    assert person.assignment() != number


def test_no_response_names_systems_or_samples(served: Served) -> None:
    person = served.visit(served.add(choice_task(), replies(1)))
    choice = {"unit": 0, "aspect": "overall", "choice": "first", "reason": ""}
    body = {"assignment": person.assignment(), "submission": "submission-1", "answers": [choice]}
    texts = [person.page]
    texts += [person.post("/api/answers", sent).text for sent in ({**body, "answers": []}, body)]
    texts += [person.get(path).text for path in ("/", "/api/item", "/admin", "/docs", "/openapi.json", "/health")]
    assert all("secret" not in text for text in texts)


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


def test_nothing_is_stored_before_consent_or_after_withdrawal(served: Served) -> None:
    one = served.visit(served.add(likert_task(consent="May we?"), replies(1)))
    assert "Reply 0" not in one.page
    assert one.post("/api/answers", submission(1)).json()["error"] == "no_consent"
    assert one.post("/consent").json() == {"stored": True}
    assert one.post("/api/answers", submission(one.assignment())).json() == {"stored": True}
    assert one.post("/withdraw").json() == {"stored": True}
    assert one.post("/api/answers", submission(1, "submission-2")).json()["error"] == "withdrawn"
    assert "You withdrew" in one.get("/").text


def test_more_people_at_once_than_threads_do_not_stop_the_server(person: Annotator) -> None:
    """Somebody who waits for the turn to write must not keep the thread that the one at turn needs."""
    number, url = person.assignment(), f"{person.client.base_url}/api/draft"
    options: dict[str, Any] = {"headers": person.headers, "cookies": person.client.cookies, "timeout": 20}

    def keep(revision: int) -> int:
        body = {"assignment": number, "revision": revision, "body": {}}
        return httpx.post(url, json=body, **options).status_code

    with ThreadPoolExecutor(60) as threads:
        assert set(threads.map(keep, range(1, 121))) == {200}
