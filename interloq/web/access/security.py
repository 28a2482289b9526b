# SPDX-License-Identifier: Apache-2.0
"""Protection of the pages: headers, limits on size and rate, and proof that a request comes from our own page."""

from __future__ import annotations

import hmac
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from threading import Lock
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, Response

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE, ADMIN_COOKIE = "interloq_session", "interloq_admin"  # sessions of annotators and of administrators
BROWSER_COOKIE = "interloq_browser"  # the secret of a browser that came from a crowd platform
HOST = "__Host-"  # prefix of cookies over https: browsers let no other host, such as a sub-domain, set them
CSRF_HEADER = "x-csrf-token"
LARGEST_BODY = 256 * 1024
LARGEST_UPLOAD = 64 * 1024 * 1024  # of administrators
ADMIN = "/admin"
UPLOADS = f"{ADMIN}/upload"
RATE, BURST = 20.0, 200.0  # requests per second and session, over time and at once
SHARED = 50  # sessions behind one address, whose limits are added
JOINING = "/join/"
JOIN_COST = 20.0  # trying a link counts as this many requests
NEWCOMERS = 60.0  # new people from one address by links of crowd platforms, at once and per hour
CLIENTS = 10_000  # remembered for rate limits
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class Limiter(Protocol):
    """How much each client may do."""

    def take(self, client: str, cost: float = 1.0) -> bool:
        """Return whether the client may do something of this cost now; may wait for a database."""

    def take_at_once(self, client: str, cost: float = 1.0) -> bool | None:
        """Return the same without waiting, or None if that is not possible."""


class Protected:
    """An app whose responses carry the headers, and whose requests are limited in size and rate.

    `root` is the path of the pages behind a reverse proxy, which may pass it on or remove it. `busy_page` makes the
    page for people who send too many requests, in a language of their browser. `make_limiter` gets a name, a rate and a
    burst.
    """

    def __init__(
        self,
        app: App,
        *,
        root: str = "",
        rate: float = RATE,
        burst: float = BURST,
        busy_page: Callable[[str], str] | None = None,
        make_limiter: Callable[[str, float, float], Limiter] = lambda _, rate, burst: Buckets(rate, burst),
    ) -> None:
        self.app, self.root, self.busy_page = app, root, busy_page
        self.sessions = make_limiter("session", rate, burst)
        self.addresses = make_limiter("address", rate * SHARED, burst * SHARED)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = str(scope["path"])
        if self.root and path.startswith(f"{self.root}/"):
            path = path.removeprefix(self.root)
            scope = {**scope, "path": path}
        headers = Headers(scope=scope)
        guarded = _add_headers(send, path)
        if not path.startswith("/static/") and not await self._may(scope, headers):
            await self._too_many(headers)(scope, receive, guarded)
            return
        limit = LARGEST_UPLOAD if path == UPLOADS else LARGEST_BODY
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 20) or int(length) > limit:
            await JSONResponse({"error": "too_large"}, 413)(scope, receive, guarded)
            return
        await self.app(scope, _limit_body(receive, limit), guarded)

    def _too_many(self, headers: Headers) -> Response:
        if self.busy_page is None or "text/html" not in headers.get("accept", ""):
            return JSONResponse({"error": "too_many_requests"}, 429)
        return HTMLResponse(self.busy_page(headers.get("accept-language", "")), 429)

    async def _may(self, scope: Scope, headers: Headers) -> bool:
        cost = JOIN_COST if str(scope["path"]).startswith(JOINING) else 1.0
        address = network_of(scope)
        cookies = cookie_parser(headers.get("cookie", ""))
        name = ADMIN_COOKIE if str(scope["path"]).startswith(ADMIN) else COOKIE
        session = (cookies.get(f"{HOST}{name}") or cookies.get(name, ""))[:64]
        if not await _take(self.addresses, address, cost):
            return False
        return not session or await _take(self.sessions, session, cost)


async def _take(limiter: Limiter, client: str, cost: float) -> bool:
    taken = limiter.take_at_once(client, cost)
    return await run_in_threadpool(limiter.take, client, cost) if taken is None else taken


class Buckets:
    """Token buckets of clients; the least recently seen clients are forgotten."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._lock = Lock()
        self._level: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, cost: float = 1.0) -> bool:
        """Return whether the client may do something of this cost now."""
        now = self.clock()
        with self._lock:
            level, then = self._level.pop(client, (self.burst, now))
            level = min(self.burst, level + (now - then) * self.rate)
            allowed = level >= cost
            if allowed:
                level -= cost
            self._level[client] = level, now
            if len(self._level) > CLIENTS:
                self._level.popitem(last=False)
        return allowed

    take_at_once = take


def network_of(scope: Scope) -> str:
    """Return the client's address, or for IPv6 its home network, in which a client can choose any address."""
    address = str((scope.get("client") or ("unknown",))[0])
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address) or parsed.ipv4_mapped:
        return address
    return str(ipaddress.ip_network((int(parsed), 64), strict=False))


def from_our_page(headers: Headers, csrf: str, given: str, *, public: str = "") -> bool:
    """Return whether a request that changes something carries the session's CSRF token and comes from the same origin.

    `public` is the origin of the pages if there is a reverse proxy, which may not pass the host name on.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}", public):
        return False
    return bool(csrf) and hmac.compare_digest(csrf.encode(), given.encode("utf-8", "surrogatepass"))


def _add_headers(send: Send, path: str) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers["Cache-Control"] = "no-cache" if path.startswith("/static/") else "no-store"
        await send(message)

    return guarded


def _limit_body(receive: Receive, limit: int) -> Receive:
    """Stop reading a body that is too long, which the headers do not reveal if they give no length."""
    read = 0

    async def limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > limit:
            return {"type": "http.disconnect"}
        return message

    return limited
