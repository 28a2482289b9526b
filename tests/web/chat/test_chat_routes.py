"""A chat in a real browser, from the invitation to the export."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from interloq import write
from interloq.web.access import people
from interloq.web.studies.questions import Question, StudyTask
from interloq.web.studies.task_file import prepare_file, read_settings
from tests.made_chat_server import Server, serving
from tests.web.bots import FAILING, FLAKY
from tests.web.conftest import People, Person, Served, chat_task, export

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "<img src=x onerror=\"document.title = 'owned'\"></script>{{ 7 * 7 }}"
BOTS = {"secret-parrot": FLAKY}


def texts(page: Page) -> list[str]:
    return page.locator("#turns .text").all_inner_texts()


def say(one: Person, text: str) -> None:
    """Type a message and wait for the reply."""
    one.page.keyboard.type(text)
    one.press("Enter")
    one.page.locator("#turns .text", has_text=f"You said: {text}").wait_for()


def test_a_chat_with_the_keyboard_from_invitation_to_export(served: Served, person: People, tmp_path: Path) -> None:
    named = {"secret-parrot": "The chatty one", "secret-owl": "The wise one"}
    options = {"topics": [HOSTILE], "guess": True, "which_bot": named}
    bots = dict.fromkeys(named, FLAKY)
    task = served.add_chat(chat_task(bots=bots, options=options, completion="CODE-7", most_items=1))
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
    page.get_by_text("No reply arrived.").wait_for()
    page.reload()  # the failure is known, and the bot is not asked again by itself
    page.get_by_role("button", name="Try again").press("Enter")
    page.locator("#turns .text", has_text=f"You said: {failing}").wait_for()
    assert len(texts(page)) == 4
    one.press("Tab", "Tab")  # from the button that is gone to the next ones
    page.get_by_role("button", name="End the conversation").first.press("Enter")
    one.press("Tab")
    with page.expect_navigation():
        one.press("Enter")
    page.get_by_text("5 questions are not answered yet.").wait_for()
    one.press("2", "3", "5", "1", "2")
    one.submit()
    assert page.locator("code").inner_text() == "CODE-7"
    assert page.title() != "owned"
    assert page.evaluate("localStorage.length") == 0
    (dialogue,) = export(served.database, task, tmp_path / "out.jsonl")
    assert [turn.text for turn in dialogue.turns] == [HOSTILE, f"You said: {HOSTILE}", failing, f"You said: {failing}"]
    assert {rating.aspect: rating.value for rating in dialogue.ratings} == {
        "overall": 5, "guessed_human": 1, "guessed_partner": 2, "continued": 0,
        "recognised": "secret-owl" in dialogue.systems,
    }  # fmt: skip
    assert "secret-owl is asleep" in dialogue.failure


def test_a_streamed_reply_survives_a_reload_and_is_stored_once(served: Served, person: People, tmp_path: Path) -> None:
    with serving(Server()) as server:
        bot = f"endpoint(url='{server.url}', model='m', key='', retries=0)"
        task = served.add_chat(chat_task(bots={"secret-parrot": bot}))
        one = person(viewport={"width": 390, "height": 844})
        page = one.open(served.invite(task))
        page.keyboard.type("waiting")
        one.press("Enter")
        part = page.locator("#part .text")
        part.get_by_text("The first part").wait_for()
        assert page.locator("#typing").inner_text() == "Your partner is typing…"
        assert len(texts(page)) == 1  # what is read aloud has no parts
        one.check_page()
        page.reload()
        part.get_by_text("The first part").wait_for()
        server.released.set()
        page.locator("#turns .text", has_text="The first part and the rest.").wait_for()
        assert part.is_hidden()
        assert server.asked["waiting"] == 1
        page.keyboard.type("broken*1")
        one.press("Enter")
        page.get_by_text("No reply arrived.").wait_for()
        assert part.is_hidden()
        page.get_by_role("button", name="Try again").click()
        page.locator("#turns .text", has_text="re broken*1").wait_for()
        page.locator("#open-end").click()
        with page.expect_navigation():
            page.locator("#end-confirm").click()
    (dialogue,) = export(served.database, task, tmp_path / "out.jsonl")
    assert [turn.text for turn in dialogue.turns[:3]] == ["waiting", "The first part and the rest.", "broken*1"]
    assert len(dialogue.turns) == 4
    assert dialogue.failure == "secret-parrot: broke off: the stream ended early at turn 4"


def test_two_tabs_and_lost_messages_store_no_turn_twice(served: Served, person: People, tmp_path: Path) -> None:
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
    (dialogue,) = export(served.database, task, tmp_path / "out.jsonl")
    assert [turn.text for turn in dialogue.turns[::2]] == ["first", "from the other tab"]
    assert [(rating.aspect, rating.value) for rating in dialogue.ratings] == [("continued", None)]  # the limit ended it


@pytest.mark.parametrize(("scheme", "width", "language"), [("light", 1280, "en"), ("dark", 390, "ja")])
def test_axe_finds_nothing_in_a_chat_and_nothing_scrolls_sideways(
    served: Served, person: People, scheme: str, width: int, language: str
) -> None:
    one = person(color_scheme=scheme, viewport={"width": width, "height": 844}, reduced_motion="reduce")
    settings: dict[str, Any] = {"language": language, "title": "A study", "instructions": "Talk.", "turns": 3}
    task = served.add_chat(chat_task(bots=BOTS, options={"topics": ["Travel"], "guess": True}, **settings))
    page = one.open(served.invite(task))
    one.check_page()
    say(one, "I like long train rides. " * 5 + "And you?")
    page.keyboard.type(f"{FAILING}: {scheme}")
    one.press("Enter")
    page.locator("#notice button").wait_for()
    one.check_page()
    page.locator("#open-end").click()
    one.check_page()
    with page.expect_navigation():
        page.locator("#end-confirm").click()
    one.check_page()


def test_a_given_first_message_is_sent_by_itself(served: Served, person: People) -> None:
    one = person()
    page = one.open(served.invite(served.add_chat(chat_task(bots=BOTS, options={"first": "Hi!"}))))
    page.locator("#turns .text", has_text="You said: Hi!").wait_for()
    say(one, "How are you?")
    page.reload()
    assert texts(page) == ["Hi!", "You said: Hi!", "How are you?", "You said: How are you?"]
    assert page.locator("#message").is_editable()


PUBLISHED = {  # the questions of the papers, in the languages of the pages
    "en": [
        ("fluency", "Are Bot's responses fluent and grammatically correct?"),
        ("specificity", "Are Bot's responses specific and explicit in the given context?"),
        ("sensibleness", "Are Bot's responses sensible?"),
        ("overall", "Is the overall impression of the chatbot good?"),
    ],
    "ja": [
        ("fluency", "応答は流暢で、文法的に正しいですか？"),
        ("specificity", "応答は文脈に対して具体的で明確ですか？"),
        ("sensibleness", "応答は理にかなっていますか？"),
        ("overall", "全体としての印象は良いですか？"),
    ],
}
FIRST = {"en": "Hi!", "ja": "こんにちは！"}


@pytest.mark.parametrize(("scheme", "width", "language"), [("light", 1280, "en"), ("dark", 390, "ja")])
def test_six_turns_four_questions_and_replies_of_seven_systems(
    served: Served, person: People, tmp_path: Path, scheme: str, width: int, language: str
) -> None:
    first = FIRST[language]
    asked = tuple(Question(aspect, text, labels=("-", "+")) for aspect, text in PUBLISHED[language])
    options = {"bots": {"secret-parrot": "echo"}, "first": first, "replies": []}
    settings = StudyTask("chat", "six-turns", asked, turns=6, language=language, options=options)
    task = served.add_chat(settings)
    one = person(color_scheme=scheme, viewport={"width": width, "height": 844}, reduced_motion="reduce")
    page = one.open(served.invite(task))
    for count in range(1, 6):
        page.locator("#turns li").nth(2 * count - 1).wait_for()  # the reply
        page.locator("#message").press_sequentially(f"line {count}")
        one.press("Enter")
    page.locator("#turns li").nth(11).wait_for()
    assert page.locator("#say").is_hidden()  # six turns were said
    assert texts(page)[::2] == [first, *(f"line {count}" for count in range(1, 6))]
    one.check_page()
    with page.expect_navigation():
        one.press("Enter")  # the focus is on the button to the questions
    assert page.locator("fieldset legend").all_inner_texts() == [text for _, text in PUBLISHED[language]]
    one.check_page()
    one.press("5", "4", "3", "2")
    one.submit()
    (dialogue,) = export(served.database, task, tmp_path / "talks.jsonl")
    assert (len(dialogue.turns), dialogue.given) == (12, 1)
    whole = {one.aspect: (one.value, one.role) for one in dialogue.ratings if one.aspect != "continued"}
    assert whole == {
        aspect: (value, "interlocutor") for (aspect, _), value in zip(PUBLISHED[language], (5, 4, 3, 2), strict=True)
    }
    _rate_further_replies(served, one, task, tmp_path, language)


def _rate_further_replies(served: Served, one: Person, task: int, folder: Path, language: str) -> None:
    """Let the person who talked rate seven systems' replies and the reply that they got, with a slider."""
    *_, got = export(served.database, task, folder / "replies.jsonl", replies=True)
    others = [replace(got, system=f"secret-owl-{i}", response=f"reply {i}", ratings=()) for i in range(7)]
    write(folder / "own.jsonl", [got, *others], kind="samples", users="hashed")
    (folder / "own.json").write_text(
        json.dumps({
            "language": language,
            "questions": [{"aspect": "answer", "text": "?", "control": "slider", "low": 0, "high": 100}],
            "options": {"interlocutor": True},
        })
    )  # fmt: skip
    prepared = prepare_file(folder / "own.jsonl", read_settings(folder / "own.json", kind="rate", name="own"))
    with served.database.writing() as connection:
        number = prepared.store(connection)["number"]
        (link,) = people.invite_to_task(connection, number, number=1, label="", parameter="", most_people=1)
    page = one.open(served.url + link)
    assert len(page.locator("section.unit").all()) == 8
    assert page.locator(".context .tag").count() == 6  # their own turns
    one.check_page()
    for slider in page.locator("input[type=range]").all():
        slider.focus()
        one.press("End")
    one.submit()
    rated = export(served.database, number, folder / "rated.jsonl")
    new = [rating for sample in rated for rating in sample.ratings if rating.aspect == "answer"]
    assert [(rating.value, rating.role) for rating in new] == [(100, "interlocutor")] * 8
    assert {rating.rater for rating in new} == {turn.speaker for turn in got.context[::2]}  # as in the chat


def test_enter_that_ends_the_input_of_japanese_sends_nothing(served: Served, person: People) -> None:
    one = person()
    page = one.open(served.invite(served.add_chat(chat_task(bots=BOTS))))
    page.locator("#message").fill("こんにちは")
    for more in ({"isComposing": True}, {"keyCode": 229}):
        page.locator("#message").dispatch_event("keydown", {"key": "Enter", **more})
    assert texts(page) == []
    one.press("Enter")
    page.locator("#turns .text", has_text="You said: こんにちは").wait_for()
