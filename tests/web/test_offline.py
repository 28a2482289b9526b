"""Pages without a connection, in a real browser: the service worker keeps the item in hand, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from interloq.web.database import UnusableStudyError
from tests.web.conftest import (
    READY_WITHIN,
    People,
    Person,
    Served,
    chat_task,
    choice_task,
    export,
    likert_task,
    replies,
)

KEPT = "async () => await caches.has('interloq-page') && Boolean(await (await caches.open('interloq-page')).match('/'))"
GONE = "async () => !(await navigator.serviceWorker.getRegistrations()).length && !(await caches.keys()).length"


def _wait_for(one: Person, condition: str) -> None:
    """Wait for an asynchronous condition, which Playwright's own waiting may take for true at once."""
    until = time.monotonic() + READY_WITHIN
    while not one.page.evaluate(condition):
        assert time.monotonic() < until, condition
        time.sleep(0.05)


def test_a_reload_without_a_connection_shows_the_item_and_loses_nothing(
    served: Served, person: People, tmp_path: Path
) -> None:
    task = served.add(choice_task(), replies(2))
    one = person()
    page = one.open(served.invite(task))
    _wait_for(one, KEPT)
    shown = page.locator(".reply").all_inner_texts()
    one.context.set_offline(True)
    page.locator("textarea").fill("typed before")
    page.reload()
    assert page.locator(".reply").all_inner_texts() == shown
    assert page.locator("textarea").input_value() == "typed before"
    page.get_by_text("No connection. Keep working").wait_for()
    one.press("Escape", "1")
    page.locator("textarea").fill("typed after")
    one.press("Control+Enter")
    page.get_by_role("button", name="Try again now").wait_for()
    page.reload()
    page.get_by_role("button", name="Try again now").wait_for()
    with page.expect_navigation():
        one.context.set_offline(False)
    page.get_by_text("1 of 2 done").wait_for()
    assert [record.reason for record in export(served.database, task, tmp_path / "out.jsonl")] == ["typed after"]
    _wait_for(one, KEPT)
    page.evaluate("caches.delete('interloq-page')")  # as after answers that were stored
    served.stop()
    page.reload()
    page.get_by_role("heading", name="No connection").wait_for()
    served.start()
    page.get_by_text("1 of 2 done").wait_for()
    one.complaints.clear()  # the console reports refused connections


def test_a_busy_server_says_so_and_a_kept_item_can_be_continued(
    served: Served, person: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = person()
    page = one.open(served.invite(served.add(choice_task(), replies(2))))
    _wait_for(one, KEPT)
    page.locator("textarea").fill("typed before")

    def locked(*_: object) -> None:
        raise UnusableStudyError("study.db", "database is locked")

    with monkeypatch.context() as patch:
        patch.setattr("interloq.web.work.assign.next_item", locked)
        page.reload()
        page.locator("html[data-ready]").wait_for()
        assert page.locator("textarea").input_value() == "typed before"
        page.evaluate("caches.delete('interloq-page')")
        page.reload()
        page.get_by_role("heading", name="The server is busy").wait_for()
    page.get_by_role("link", name="Try again").click()
    page.locator("html[data-ready]").wait_for()
    assert page.locator("textarea").input_value() == "typed before"
    one.complaints.clear()  # the console reports the status


def test_a_page_is_never_shown_to_the_next_person(served: Served, person: People) -> None:
    first, second = (served.add(likert_task(name), replies(1, [f"secret-owl-{name}"])) for name in ("a", "b"))
    one = person()
    page = one.open(served.invite(first))
    _wait_for(one, KEPT)
    owner = page.locator("body").get_attribute("data-owner")
    one.open(served.invite(second))
    assert page.locator("body").get_attribute("data-owner") != owner
    _wait_for(one, KEPT)
    served.stop()
    page.reload()
    page.get_by_text("No connection. Keep working").wait_for()
    assert page.locator("body").get_attribute("data-owner") != owner
    served.start()
    page.goto(f"{served.url}/join/nobody")
    served.stop()
    page.goto(served.url)
    page.get_by_role("heading", name="No connection").wait_for()
    served.start()
    page.locator(".reply").wait_for()
    page.goto(served.invite(None))  # an administrator
    page.goto(f"{served.url}/admin/tasks/{first}")
    page.goto(f"{served.url}/admin/new")
    kept = "async () => (await (await caches.open('interloq-files')).keys()).map(({ url }) => url)"
    assert not [url for url in page.evaluate(kept) if "admin" in url]
    assert page.evaluate("async () => (await caches.open('interloq-page')).keys()") == []
    one.complaints.clear()  # the console reports the 404 and refused connections


def test_the_worker_is_removed_at_withdrawal_and_at_the_end(served: Served, person: People) -> None:
    one = person()
    page = one.open(served.invite(served.add(likert_task(), replies(1))))
    _wait_for(one, KEPT)
    one.press("1", "2")
    one.submit()
    page.get_by_text("You finished 1 item.").wait_for()
    _wait_for(one, GONE)
    page.evaluate("async () => (await fetch('/static/icon.svg')).text()")  # as the browser does, some time later
    assert page.evaluate(GONE)
    one.open(served.invite(served.add(likert_task("again"), replies(1))))
    _wait_for(one, KEPT)
    page.get_by_role("button", name="Withdraw and delete my answers").click()
    page.get_by_role("button", name="Delete my answers", exact=True).click()
    page.get_by_role("heading", name="You withdrew from this study").wait_for()
    assert page.evaluate(GONE)


def test_a_conversation_continues_after_a_reload_without_a_connection(served: Served, person: People) -> None:
    one = person()
    page = one.open(served.invite(served.add_chat(chat_task())))
    _wait_for(one, KEPT)
    one.press(*"Hi", "Enter")
    page.locator("#turns .turn").nth(1).wait_for()
    one.press(*"More")
    one.context.set_offline(True)
    page.reload()
    page.get_by_text("No connection. Keep working").wait_for()
    assert page.locator("#message").input_value() == "More"
    assert page.locator("#turns .text").all_inner_texts() == ["Hi", "Hi"]
    with page.expect_navigation():
        one.context.set_offline(False)
    assert page.locator("#turns .turn").count() == 2
    assert page.locator("#message").input_value() == "More"
