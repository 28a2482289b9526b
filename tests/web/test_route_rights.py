"""Who may use each route of the app. Routes are taken from the app, so that a new one is tested as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from interloq.web.access.security import CSRF_HEADER
from interloq.web.access.visitors import Study
from interloq.web.app import create_app
from tests.web.conftest import KEY, TOKEN, Annotator, Served, chat_task, likert_task, replies
from tests.web.made_references import add_references

VIEWER = {"/admin", "/admin/tasks/1", "/admin/tasks/1/figures"}
LEAD = {
    "/admin/tasks/1/export", "/admin/tasks/1/close", "/admin/tasks/1/outsiders", "/admin/tasks/1/limit",
    "/admin/new", "/admin/upload", "/admin/tasks/1/invitations", "/admin/invitations/1/revoke",
    "/admin/people/1/readmit",
}  # fmt: skip
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


def may(role: str, path: str) -> bool:
    """Whether a role may use a route."""
    if not path.startswith("/admin"):
        return role == "annotator" or path == "/"
    return role == "owner" or path in (LEAD | VIEWER if role == "lead" else VIEWER if role == "viewer" else ())


@pytest.mark.parametrize("role", ["annotator", "viewer", "lead", "owner"])
def test_every_route_is_for_the_roles_that_need_it(served: Served, role: str) -> None:
    task = served.add(likert_task(), replies(1))
    one = Annotator(served.invite(task if role == "annotator" else None, role=role), served.url)
    for method, path in routes(served):
        path = path.replace("1", "99") if method == "POST" else path  # nothing is changed
        answer = one.client.request(method, path, json={}, headers=one.headers)
        if may(role, path.replace("99", "1")):
            assert answer.status_code not in (401, 403), path
        else:
            assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed"), path
    one.client.close()


def test_only_owners_revoke_invitations_of_administrators(served: Served) -> None:
    task = served.add(likert_task(), replies(1))
    owner = Annotator(served.invite(None), served.url)
    lead = Annotator(served.invite(None, role="lead"), served.url)
    served.invite(task)
    assert lead.post("/admin/invitations/1/revoke", {}).json()["error"] == "not_allowed"
    assert lead.post("/admin/invitations/3/revoke", {}).json() == {"revoked": True}
    assert owner.post("/admin/invitations/2/revoke", {}).json() == {"revoked": True}
    assert lead.client.get("/admin").status_code == 401
    for one in (owner, lead):
        one.client.close()


def test_viewers_see_figures_without_identities_and_actions(served: Served) -> None:
    task = served.add(likert_task(), replies(1))
    Annotator(f"{served.invite(task, parameter='PID', label='team B')}?PID=ann-7", served.url).client.close()
    seen = {}
    for role in ("viewer", "lead", "owner"):
        one = Annotator(served.invite(None, role=role), served.url)
        seen[role] = one.client.get(f"/admin/tasks/{task}").text
        one.client.close()
    assert ["ann-7" in text and "team B" in text for text in seen.values()] == [False, True, True]
    assert ['"forget"]' in text for text in seen.values()] == [False, False, True]
    assert ["/export" in text for text in seen.values()] == [False, True, True]


def test_a_browser_can_be_an_administrators_and_an_annotators(served: Served) -> None:
    task = served.add(likert_task(), replies(1))
    admin = Annotator(served.invite(None), served.url)
    page = admin.client.get(served.invite(task))
    assert "Reply 0" in page.text
    found = TOKEN.search(page.text)
    assert found is not None
    assert admin.post(f"/admin/tasks/{task}/close", {"closed": True}).json() == {"closed": True}
    assert admin.post("/consent").json()["error"] == "not_our_page"  # the administrator's token is not the annotator's
    admin.headers[CSRF_HEADER] = found[1]
    assert admin.post("/consent").json() == {"stored": True}
    assert admin.client.get(served.invite(None)).url.path == "/admin"
    admin.client.close()


def test_every_route_needs_a_session_and_a_token(served: Served) -> None:
    task = served.add(likert_task(), replies(1))
    annotator, admin = Annotator(served.invite(task), served.url), Annotator(served.invite(None), served.url)
    found = routes(served)
    assert len(found) > 20
    for method, path in found:
        assert httpx.request(method, served.url + path, json={}).status_code == 401, path
        own, other = (admin, annotator) if path.startswith("/admin") else (annotator, admin)
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
