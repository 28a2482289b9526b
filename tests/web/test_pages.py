"""Pages as the server sends them."""

from __future__ import annotations

from urllib.request import HTTPCookieProcessor, build_opener

from tests.web.conftest import Served, likert_task, replies


def test_an_invitation_leads_to_the_first_item(served: Served) -> None:
    link = served.invite(served.add(likert_task(), replies(1)))
    with build_opener(HTTPCookieProcessor()).open(link) as answer:
        page = answer.read().decode()
        assert answer.url == f"{served.url}/"
    assert "Reply 0 to question 0." in page
    assert "Reply 1 to question 0." in page
    assert "secret" not in page
