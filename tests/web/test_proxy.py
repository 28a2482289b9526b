"""The app behind a reverse proxy, with and without a path of its own."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from interloq.web.access.visitors import Study
from interloq.web.app import create_app
from interloq.web.serve import _config
from interloq.web.serve_options import PROXIES, ServerAddress
from tests.web.conftest import KEY, People, Served, likert_task, replies

HOST, CLIENT = "rate.example.org", "203.0.113.7"


@contextmanager
def run_proxy(upstream: str, *, strip: str, host: str) -> Iterator[str]:
    """Yield the address of a proxy that adds headers as nginx does; it may remove a path and change the host name."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            headers |= {"x-forwarded-for": f"{headers.get('x-forwarded-for', '')}, {CLIENT}", "host": host}
            headers["x-forwarded-proto"] = "https"
            answer = client.request(self.command, self.path.removeprefix(strip), headers=headers, content=body)
            self.send_response(answer.status_code)
            for name, value in answer.headers.multi_items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with httpx.Client(base_url=upstream) as client, ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def restart(served: Served, study: Study, address: ServerAddress) -> list[str]:
    """Serve a study as `interloq serve run` does; return a list to which the addresses of clients are added."""
    clients: list[str] = []
    config = _config(create_app(study), address, access_log=False)
    app: Any = config.app

    async def watch(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            clients.append(scope["client"][0])
        await app(scope, receive, send)

    config.app, config.port = watch, served.port
    served.stop()
    served.start(config)
    return clients


@pytest.mark.parametrize(
    ("root", "strip", "host"), [("", "", HOST), ("/study", "", "127.0.0.1"), ("/study", "/study", HOST)]
)
def test_cookies_links_origins_and_clients_behind_a_proxy(served: Served, root: str, strip: str, host: str) -> None:
    public = f"https://{HOST}{root}"
    link = served.invite(served.add(likert_task(), replies(1))).replace(served.url, root)
    admin = served.invite(None).replace(served.url, root)
    address = ServerAddress("127.0.0.1", served.port, public, PROXIES)
    study = Study(served.database, KEY, address.hosts, secure=True, public=public)
    clients = restart(served, study, address)
    forged = {"x-forwarded-for": "198.51.100.1"}  # the client's own, which nginx appends to
    with run_proxy(served.url, strip=strip, host=host) as url, httpx.Client(base_url=url, headers=forged) as client:
        joined = client.get(link)
        assert joined.headers["location"] == f"{root}/"
        cookie = joined.headers["set-cookie"]
        assert cookie.startswith("interloq_session=" if root else "__Host-interloq_session=")
        assert link.rsplit("/", 1)[1] not in cookie
        assert {"Secure", "HttpOnly", f"Path={root}/", "SameSite=lax"} <= set(cookie.split("; "))
        client.headers["cookie"] = cookie.split(";")[0]
        page = client.get(f"{root}/").text
        linked = re.findall(r'(?:href|src)="(/[^"]*)"', page)
        assert linked
        assert {client.get(path).status_code for path in [*linked, f"{root}/worker.js"]} == {200}
        token = re.findall(r'data-csrf="([^"]+)"', page)[0]
        for origin, status in ((f"https://{HOST}", 200), ("https://evil.example", 403)):
            headers = {"x-csrf-token": token, "origin": origin}
            assert client.post(f"{root}/consent", headers=headers).status_code == status
        joined = client.get(admin)
        assert joined.headers["location"] == f"{root}/admin"
        client.headers["cookie"] = joined.headers["set-cookie"].split(";")[0]
        assert client.get(f"{root}/").headers["location"] == f"{root}/admin"
        token = re.findall(r'data-csrf="([^"]+)"', client.get(f"{root}/admin").text)[0]
        made = client.post(f"{root}/admin/administrators", json={}, headers={"x-csrf-token": token})
        assert made.json()["links"][0].startswith(f"{public}/join/")
    assert set(clients) == {CLIENT}


def test_all_pages_work_below_a_path_in_a_browser(served: Served, person: People) -> None:
    public = f"{served.url}/study"
    link, admin = (served.invite(task) for task in (served.add(likert_task(), replies(2, ["secret-owl"])), None))
    restart(served, Study(served.database, KEY, public=public), ServerAddress("127.0.0.1", served.port))
    one = person()
    page = one.open(link.replace(served.url, public))
    one.press("3")
    page.get_by_text("Draft saved").wait_for()
    one.submit()
    page.get_by_text("1 of 2 done").wait_for()
    scopes = "async () => (await navigator.serviceWorker.getRegistrations()).map(({ scope }) => scope)"
    assert page.evaluate(scopes) == [f"{public}/"]
    page.goto(admin.replace(served.url, public))
    page.get_by_role("link", name="likert").click()
    page.locator("html[data-ready] #h-pages").wait_for()
    page.get_by_role("button", name="Make links").click()
    page.get_by_text(f"{public}/join/").first.wait_for()
    assert page.url == f"{public}/admin/tasks/1"


def test_without_a_proxy_its_headers_are_not_believed(served: Served) -> None:
    clients = restart(served, Study(served.database, KEY), ServerAddress("127.0.0.1", served.port))
    link = served.invite(served.add(likert_task(), replies(1)))
    joined = httpx.get(link, headers={"x-forwarded-for": CLIENT, "x-forwarded-proto": "https"})
    assert clients == ["127.0.0.1"]
    assert joined.headers["location"] == "/"
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(joined.headers["set-cookie"].split("; "))
