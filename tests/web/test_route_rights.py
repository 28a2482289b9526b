"""Who may use each route of the app. Routes are taken from the app, so that a new one is tested as well."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from interloq.web.access.security import CSRF_HEADER
from interloq.web.access.visitors import Study
from interloq.web.app import create_app
from tests.web.conftest import KEY, TOKEN, AddReferences, Served, chat_task, likert_task, replies

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


def describe_interface(served: Served) -> dict[str, Any]:
    """Return the app's description of its routes."""
    inner: Any = create_app(Study(served.database, KEY)).app
    described: dict[str, Any] = inner.openapi()
    return described


def list_routes(served: Served) -> list[tuple[str, str]]:
    """Return method and path of each route that is not for everybody."""
    routes = []
    for path, methods in describe_interface(served)["paths"].items():
        if path not in OPEN:
            routes += [(method.upper(), path.replace("{number}", "1")) for method in methods]
    return routes


def may_use(role: str, path: str) -> bool:
    """Return whether a role may use a route."""
    if not path.startswith("/admin"):
        return role == "annotator" or path == "/"
    return role == "owner" or path in (LEAD | VIEWER if role == "lead" else VIEWER if role == "viewer" else ())


@pytest.mark.parametrize("role", ["annotator", "viewer", "lead", "owner"])
def test_every_route_is_for_the_roles_that_need_it(served: Served, role: str) -> None:
    task = served.add(likert_task(), replies(1))
    one = served.visit(task if role == "annotator" else None, role=role)
    for method, path in list_routes(served):
        path = path.replace("1", "99") if method == "POST" else path  # nothing is changed
        answer = one.client.request(method, path, json={}, headers=one.headers)
        if may_use(role, path.replace("99", "1")):
            assert answer.status_code not in (401, 403), path
        else:
            assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed"), path


def test_only_owners_revoke_invitations_of_administrators(served: Served) -> None:
    task = served.add(likert_task(), replies(1))
    owner, lead = served.visit(None), served.visit(None, role="lead")
    served.invite(task)
    assert lead.post("/admin/invitations/1/revoke", {}).json()["error"] == "not_allowed"
    assert lead.post("/admin/invitations/3/revoke", {}).json() == {"revoked": True}
    assert owner.post("/admin/invitations/2/revoke", {}).json() == {"revoked": True}
    assert lead.get("/admin").status_code == 401


def test_viewers_see_figures_without_identities_and_actions(served: Served) -> None:
    task = served.add(likert_task(), replies(1))
    served.open(f"{served.invite(task, parameter='PID', label='team B')}?PID=ann-7")
    pages = [served.visit(None, role=role).get(f"/admin/tasks/{task}").text for role in ("viewer", "lead", "owner")]
    assert ["ann-7" in page and "team B" in page for page in pages] == [False, True, True]
    assert ['"forget"]' in page for page in pages] == [False, False, True]
    assert ["/export" in page for page in pages] == [False, True, True]


def test_a_browser_can_be_an_administrators_and_an_annotators(served: Served) -> None:
    task = served.add(likert_task(), replies(1))
    admin = served.visit(None)
    page = admin.get(served.invite(task))
    assert "Reply 0" in page.text
    token = TOKEN.search(page.text)
    assert token is not None
    assert admin.post(f"/admin/tasks/{task}/close", {"closed": True}).json() == {"closed": True}
    assert admin.post("/consent").json()["error"] == "not_our_page"  # the administrator's token is not the annotator's
    admin.headers[CSRF_HEADER] = token[1]
    assert admin.post("/consent").json() == {"stored": True}
    assert admin.get(served.invite(None)).url.path == "/admin"


def test_every_route_needs_a_session_and_a_token(served: Served) -> None:
    task = served.add(likert_task(), replies(1))
    annotator, admin, routes = served.visit(task), served.visit(None), list_routes(served)
    assert len(routes) > 20
    for method, path in routes:
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


@pytest.mark.parametrize("kind", ["rate", "chat", "references"])
def test_no_route_takes_an_item_of_somebody_else(served: Served, add_references: AddReferences, kind: str) -> None:
    if kind == "references":
        task = add_references(served.database, per_item=2).stored.id
    else:
        task = served.add_chat(chat_task(per_item=2)) if kind == "chat" else served.add(likert_task(), replies(1))
    first, second = served.visit(task), served.visit(task)
    number, described, tried = first.assignment(), describe_interface(served), []
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
