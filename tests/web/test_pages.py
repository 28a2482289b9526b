"""Pages as the server sends them."""

from __future__ import annotations

import re
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from interloq.web.messages import FOLDER, texts
from interloq.web.pages import PAGE_VERSION, Pages, is_link
from tests.web.conftest import Served, likert_task, replies


def test_an_invitation_leads_to_the_first_item(served: Served) -> None:
    link = served.invite(served.add(likert_task(), replies(1)))
    with build_opener(HTTPCookieProcessor()).open(link) as answer:
        page = answer.read().decode()
        assert answer.url == f"{served.url}/"
    assert "Reply 0 to question 0." in page
    assert "Reply 1 to question 0." in page
    assert "secret" not in page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://app.example.org/done?cc=C1", True),
        (" http://localhost:1/ ", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("https:", False),
        ("http://[", False),
        ("CODE-7", False),
        ("", False),
    ],
)
def test_only_web_addresses_become_links(text: str, expected: bool) -> None:
    assert is_link(text) is expected


@pytest.mark.parametrize(
    ("asked", "expected"), [("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("fr, ja;q=0.5", "ja"), ("fr", "en"), ("", "en")]
)
def test_failures_are_shown_in_a_language_that_is_asked_for(asked: str, expected: str) -> None:
    page = Pages().failure("no_session", "<why>", asked)
    assert f'<html lang="{expected}"' in page
    assert texts(expected)["message_no_session"] in page
    assert "&lt;why&gt;" in page
    assert texts(expected)["message_other"] in Pages().failure("Not Found", "", asked)


def test_the_version_of_the_pages_is_a_short_hash() -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", PAGE_VERSION)


def test_every_address_in_a_template_is_below_the_root() -> None:
    sources = [path.read_text(encoding="utf-8") for path in FOLDER.glob("templates/*.html")]
    assert len(sources) > 10
    assert not [found for source in sources for found in re.findall(r'\s(?:href|src|action)="/[^"]*"', source)]
