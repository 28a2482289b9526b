"""Headers, limits on size and rate, and proof that a request comes from our own page."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.datastructures import Headers

from interloq.web.access.security import BURST, HEADERS, JOIN_COST, LARGEST_BODY, Buckets, Protected, from_our_page

TOKEN = "the session's token"  # noqa: S105


@pytest.mark.parametrize(
    ("origin", "given", "good"),
    [
        (None, TOKEN, True),
        ("http://study.example:8765", TOKEN, True),
        ("http://evil.example", TOKEN, False),
        ("null", TOKEN, False),
        ("http://[", TOKEN, False),
        ("https://rate.example.org", TOKEN, True),  # the public address of a proxy that does not pass the host on
        ("https://rate.example.org.evil.example", TOKEN, False),
        ("http://study.example:8765", "", False),
        ("http://study.example:8765", "another token", False),
        ("http://study.example:8765", "\ud800", False),
    ],
)
def test_a_request_needs_the_token_and_our_origin(origin: str | None, given: str, good: bool) -> None:
    headers = Headers({"host": "study.example:8765"} | ({"origin": origin} if origin else {}))
    assert from_our_page(headers, TOKEN, given, public="https://rate.example.org") is good
    assert not from_our_page(headers, "", "")  # a session without a token proves nothing


def test_a_bucket_refills_with_time_and_forgets_old_clients() -> None:
    now = [0.0]
    buckets = Buckets(2.0, 4.0, lambda: now[0])
    assert [buckets.take("a") for _ in range(5)] == [True, True, True, True, False]
    assert buckets.take("b")  # clients do not share
    now[0] = 1.0
    assert [buckets.take("a") for _ in range(3)] == [True, True, False]


async def _echo(_: Any, receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"read"})


def _ask(
    app: Protected,
    path: str = "/",
    *,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    client: str = "10.0.0.1",
) -> list[Any]:
    """Messages that the app sends; the body comes in two parts."""
    scope = {
        "type": "http", "path": path, "method": "POST", "client": (client, 1),
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
    }  # fmt: skip
    parts = [
        {"type": "http.request", "body": body[: len(body) // 2], "more_body": True},
        {"type": "http.request", "body": body[len(body) // 2 :], "more_body": False},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return parts.pop(0) if parts else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent


def test_every_response_has_the_headers_also_a_refusal() -> None:
    app = Protected(_echo)
    for sent in (_ask(app), _ask(app, headers={"content-length": str(LARGEST_BODY + 1)})):
        found = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        assert {name.lower(): value for name, value in HEADERS.items()}.items() <= found.items()
        assert found["cache-control"] == "no-store"


@pytest.mark.parametrize("length", [str(LARGEST_BODY + 1), "-1", "many", "²", "9" * 5000])
def test_a_body_that_says_it_is_too_large_is_not_read(length: str) -> None:
    assert _ask(Protected(_echo), headers={"content-length": length})[0]["status"] == 413


def test_a_body_without_a_length_ends_when_it_is_too_large() -> None:
    assert _ask(Protected(_echo), body=b"x" * LARGEST_BODY)[0]["status"] == 200
    assert _ask(Protected(_echo), body=b"x" * (LARGEST_BODY + 2)) == []  # the app saw the client leave


def test_sessions_have_limits_and_other_sessions_at_the_same_address_are_not_affected() -> None:
    app = Protected(_echo, rate=0.0001)
    own, other = ({"cookie": f"interloq_session={name}"} for name in ("one", "two"))
    found = [_ask(app, headers=own)[0]["status"] for _ in range(int(BURST) + 1)]
    assert found.count(200) == BURST
    assert found[-1] == 429
    assert _ask(app, headers=other)[0]["status"] == 200


def test_people_who_ask_for_too_many_pages_get_a_page_in_their_language() -> None:
    app = Protected(_echo, rate=0.0001, burst=0.02, busy_page=lambda languages: f"busy in {languages}")
    asked = {"accept": "text/html", "accept-language": "ja"}
    assert [_ask(app, headers=asked)[0]["status"] for _ in range(2)] == [200, 429]
    assert _ask(app, headers=asked)[1]["body"] == b"busy in ja"
    assert b"too_many_requests" in _ask(app)[1]["body"]


def test_links_cannot_be_guessed_quickly() -> None:
    app = Protected(_echo, rate=0.0001, burst=20.0)
    found = [_ask(app, f"/join/{i}")[0]["status"] for i in range(60)]
    assert found.count(200) == 20 * 50 / JOIN_COST


def test_addresses_of_one_home_have_one_limit() -> None:
    app = Protected(_echo, rate=0.0001, burst=0.02)  # one request per address

    def status(client: str) -> int:
        return int(_ask(app, client=client)[0]["status"])

    assert [status(one) for one in ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1")] == [200, 429, 200]
    assert [status(one) for one in ("::ffff:10.0.0.1", "::ffff:10.0.0.2", "10.0.0.3", "unknown")] == [200] * 4
