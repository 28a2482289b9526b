"""Who may use each route of the app. Routes are taken from the app, so that a new one is tested as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from interloq.web.app import Study, create_app
from interloq.web.security import CSRF_HEADER
from tests.web.conftest import KEY, Served, chat_task, likert_task, replies
from tests.web.made_references import add_references
from tests.web.test_app import Annotator

OPEN = {"/health", "/worker.js", "/offline", "/join/{token}"}  # for everybody
VALUES: dict[str, Any] = {  # fields of bodies
    "place": 0, "text": "something", "revision": 10**8, "body": {}, "submission": "submission-1", "answers": [],
    "action": "keep", "candidate": 0,
}  # fmt: skip


def interface(served: Served) -> dict[str, Any]:
    """The app's description of its routes."""
    inner: Any = create_app(Study(served.database, KEY)).app
    found: dict[str, Any] = inner.openapi()
    return found


def routes(served: Served) -> list[tuple[str, str]]:
    """Method and path of each route that is not for everybody."""
    paths = interface(served)["paths"]
    named = [(method.upper(), path) for path, methods in paths.items() if path not in OPEN for method in methods]
    return [(method, path.replace("{number}", "1")) for method, path in named]


def test_every_route_needs_a_session_a_token_and_the_right_role(served: Served) -> None:
    task = served.add(likert_task(), replies(1))
    annotator, admin = Annotator(served.invite(task), served.url), Annotator(served.invite(None), served.url)
    found = routes(served)
    assert len(found) > 20
    for method, path in found:
        assert httpx.request(method, served.url + path, json={}).status_code == 401, path
        own, other = (admin, annotator) if path.startswith("/admin") else (annotator, admin)
        if path != "/":
            assert other.client.request(method, path, json={}, headers=other.headers).status_code == 403, path
        if method == "GET":
            continue
        for headers in (
            {},
            {CSRF_HEADER: other.headers[CSRF_HEADER]},
            {**own.headers, "origin": "http://evil.example"},
        ):
            answer = own.client.request(method, path, json={}, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (403, "not_our_page"), path
    for one in (annotator, admin):
        one.client.close()


@pytest.mark.parametrize("kind", ["rate", "chat", "references"])
def test_no_route_takes_an_item_of_somebody_else(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "references":
        task = add_references(served.database, tmp_path, monkeypatch, per_item=2)[0].id
    else:
        task = served.add_chat(chat_task(per_item=2)) if kind == "chat" else served.add(likert_task(), replies(1))
    first, second = (Annotator(served.invite(task), served.url) for _ in range(2))
    number, described, tried = first.assignment(), interface(served), []
    assert number != second.assignment()
    for name, model in described["components"]["schemas"].items():
        if "assignment" not in model.get("properties", {}):
            continue
        body = {field: number if field == "assignment" else VALUES[field] for field in model["properties"]}
        for path, methods in described["paths"].items():
            if f"/{name}'" not in str(methods.get("post", {}).get("requestBody", "")):
                continue
            answer = second.post(path, body)
            assert answer.status_code == 409, (path, answer.text)
            tried.append(path)
    assert len(tried) >= 8
    for one in (first, second):
        one.client.close()
