"""A chat in a real browser, from the invitation to the export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from interloq import load
from interloq.data.pseudonyms import Pseudonyms
from interloq.records import Dialogue
from interloq.web.export import export_task
from interloq.web.tasks import get_task
from tests.web.bots import FAILING, FLAKY
from tests.web.conftest import KEY, Person, Served, chat_task, problems

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "<img src=x onerror=\"document.title = 'owned'\"></script>{{ 7 * 7 }}"
BOTS = {"secret-parrot": FLAKY}


def dialogues(served: Served, task: int, folder: Path) -> list[Dialogue]:
    with served.database.reading() as connection:
        export_task(connection, get_task(connection, task), folder / "out.jsonl", Pseudonyms(KEY))
    return load(folder / "out.jsonl", kind="dialogues")


def texts(page: Page) -> list[str]:
    return page.locator("#turns .text").all_inner_texts()


def say(one: Person, text: str) -> None:
    """Type a message and wait for the reply."""
    one.page.keyboard.type(text)
    one.press("Enter")
    one.page.locator("#turns .text", has_text=f"You said: {text}").wait_for()


def test_a_chat_with_the_keyboard_from_invitation_to_export(
    served: Served, person: Callable[..., Person], tmp_path: Path
) -> None:
    options = {"topics": [HOSTILE], "guess": True}
    task = served.add_chat(chat_task(bots=BOTS, options=options, completion="CODE-7"))
    one = person()
    page = one.open(served.invite(task))
    assert page.locator(".topic .text").inner_text() == HOSTILE
    one.press("Enter")
    assert page.locator("#notice").inner_text() == "Write a message first."
    say(one, HOSTILE)
    page.keyboard.type("half a mess")
    page.reload()
    assert texts(page) == [HOSTILE, f"You said: {HOSTILE}"]
    assert page.locator("#message").input_value() == "half a mess"
    one.press("Control+a")
    failing = f"{FAILING}: keyboard"
    page.keyboard.type(failing)
    one.press("Enter")
    page.get_by_text("No reply came.").wait_for()
    page.reload()  # the failure is known, and the bot is not asked again by itself
    page.get_by_role("button", name="Try again").press("Enter")
    page.locator("#turns .text", has_text=f"You said: {failing}").wait_for()
    assert len(texts(page)) == 4
    one.press("Tab", "Tab")  # from the button that is gone to the next ones
    page.get_by_role("button", name="End the conversation").first.press("Enter")
    one.press("Tab")
    with page.expect_navigation():
        one.press("Enter")
    page.get_by_text("4 questions are not answered yet.").wait_for()
    one.press("2", "3", "5", "1")
    one.submit()
    assert page.locator("code").inner_text() == "CODE-7"
    assert page.title() != "owned"
    assert page.evaluate("localStorage.length") == 0
    (found,) = dialogues(served, task, tmp_path)
    assert [turn.text for turn in found.turns] == [HOSTILE, f"You said: {HOSTILE}", failing, f"You said: {failing}"]
    assert {rating.aspect: rating.value for rating in found.ratings} == {
        "overall": 5, "guessed_human": 1, "continued": 0,
    }  # fmt: skip
    assert "secret-owl is asleep" in found.failure


def test_two_tabs_and_lost_messages_store_no_turn_twice(
    served: Served, person: Callable[..., Person], tmp_path: Path
) -> None:
    task = served.add_chat(chat_task(bots=BOTS, turns=2))
    one = person()
    one.open(served.invite(task))
    other = one.context.new_page()
    other.goto(served.url)
    other.locator("html[data-ready]").wait_for(state="attached")
    say(one, "first")
    other.locator("#message").fill("from the other tab")
    other.locator("#message").press("Enter")  # it does not know the first turn
    other.locator("#turns .text", has_text="You said: first").wait_for()
    assert other.locator("#message").input_value() == "from the other tab"
    one.context.set_offline(True)
    other.locator("#message").press("Enter")
    other.get_by_text("No connection. Your message is kept").wait_for()
    one.context.set_offline(False)
    other.get_by_role("button", name="Try again").click()
    other.get_by_text("That was the last message").wait_for()
    other.get_by_role("button", name="Continue to the questions").click()
    other.get_by_text("3 questions are not answered yet.").wait_for()
    (found,) = dialogues(served, task, tmp_path)
    assert [turn.text for turn in found.turns[::2]] == ["first", "from the other tab"]
    assert found.ratings == ()  # the limit ended it, and nothing is rated yet


@pytest.mark.parametrize(("scheme", "width", "language"), [("light", 1280, "en"), ("dark", 390, "ja")])
def test_axe_finds_nothing_in_a_chat_and_nothing_scrolls_sideways(
    served: Served, person: Callable[..., Person], axe: Any, scheme: str, width: int, language: str
) -> None:
    one = person(color_scheme=scheme, viewport={"width": width, "height": 844}, reduced_motion="reduce")
    settings: dict[str, Any] = {"language": language, "title": "A study", "instructions": "Talk.", "turns": 3}
    task = served.add_chat(chat_task(bots=BOTS, options={"topics": ["Travel"], "guess": True}, **settings))
    page, seen = one.open(served.invite(task)), []

    def check() -> None:
        seen.append(problems(axe, page))
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    check()
    say(one, "I like long train rides. " * 5 + "And you?")
    page.keyboard.type(f"{FAILING}: {scheme}")
    one.press("Enter")
    page.locator("#notice button").wait_for()
    check()
    page.locator("#open-end").click()
    check()
    with page.expect_navigation():
        page.locator("#end-confirm").click()
    check()
    assert seen == [[]] * 4
