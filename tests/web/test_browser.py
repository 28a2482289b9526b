"""The pages of annotators in a real browser, from the invitation to the exported file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interloq import Sample
from interloq.records import Dialogue, Turn
from interloq.web.studies.questions import Question, StudyTask
from interloq.web.work import answers
from tests.web.conftest import SECRETS, People, Served, choice_task, export, likert_task, replies

SLIDER = Question("overall", "How good is it?", control="slider", low=0, high=100, not_applicable=True, reason=True)
HOSTILE = [
    "<script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title = 'owned'\">",
    "</script><svg onload=\"document.title = 'owned'\">",
    '"><b data-evil>bold</b>{{ 7 * 7 }}',
]


def get_draft(served: Served) -> Any:
    """Return what the server keeps of the first item."""
    with served.database.reading() as connection:
        return answers.get_draft(connection, 1)[1]


def test_rate_with_the_mouse_from_invitation_to_export(served: Served, person: People, tmp_path: Path) -> None:
    settings = StudyTask("rate", "t", (Question("fit", "Does it fit?"), SLIDER), consent="May we?", completion="CODE-7")
    task = served.add(settings, replies(1))
    page = person().page
    page.goto(served.invite(task))
    assert page.url == f"{served.url}/"
    page.get_by_role("button", name="I agree").click()
    page.get_by_text("4 questions are not answered yet.").wait_for()
    units = page.locator("section.unit")
    for place, unit in enumerate(units.all()):
        value = 2 if "Reply 0" in unit.locator(".reply").inner_text() else 5
        page.locator(f"#q{place}-0 .step", has_text=str(value)).click()
    page.locator("#q0-1 .confirm").click()  # the middle counts only if it is confirmed
    page.get_by_text("1 question is not answered yet.").wait_for()
    page.locator("#q1-1").get_by_label("Not applicable").check()
    page.locator("#q1-1 textarea").fill("cannot tell")
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("CODE-7").wait_for()
    assert page.get_by_text("You finished 1 item.").is_visible()
    samples = export(served.database, task, tmp_path / "out.jsonl")
    given = {(sample.system, rating.aspect): rating.value for sample in samples for rating in sample.ratings}
    assert given["secret-parrot", "fit"] == 2
    assert given["secret-owl", "fit"] == 5
    assert sorted(given[system, "overall"] is None for system in SECRETS[1:]) == [False, True]
    assert 50 in given.values()


def test_compare_with_the_keyboard_from_invitation_to_export(served: Served, person: People, tmp_path: Path) -> None:
    task = served.add(choice_task(completion="javascript:alert(1)"), replies(3))
    one = person()
    page = one.open(served.invite(task))
    one.press("?")
    assert page.get_by_role("dialog", name="Keyboard shortcuts").is_visible()
    one.press("Escape", "Control+Enter")
    assert page.locator("#problems").inner_text().startswith("1 question needs your attention")
    assert page.locator("#q0-0-problem").inner_text() == "Please answer this question."
    assert page.evaluate("document.activeElement.closest('.question').id") == "q0-0"
    for wanted in ("Reply 0", "Reply 1", ""):
        shown = page.locator(".reply").all_inner_texts()
        one.press("0" if not wanted else "1" if shown[0].startswith(wanted) else "2")
        if wanted == "Reply 0":
            one.press("Tab")
            page.keyboard.type("it is 2 lines")
        one.submit()
    assert page.locator("code").inner_text() == "javascript:alert(1)"  # a code, not a link
    assert page.locator("main a").count() == 0
    records = export(served.database, task, tmp_path / "out.jsonl")
    assert sorted(record.winner for record in records) == ["", "secret-owl", "secret-parrot"]
    assert {record.reason for record in records if record.winner == "secret-parrot"} == {"it is 2 lines"}


def test_number_and_arrow_keys_answer_and_can_be_turned_off(served: Served, person: People) -> None:
    settings = StudyTask("rate", "t", (Question("fit"), SLIDER, Question("wit", optional=True)))
    one = person()
    page = one.open(served.invite(served.add(settings, replies(1, ["secret-owl"]))))
    assert page.locator("#left").inner_text() == "2 questions are not answered yet."
    one.press("4")
    assert page.locator("#q0-0 input:checked").input_value() == "4"
    assert page.evaluate("document.activeElement.type") == "range"
    one.press("ArrowRight")
    assert page.locator("output").inner_text() == "51"
    one.press("n")
    assert page.locator("output").inner_text() == "not set yet"
    assert page.locator("#left").inner_text() == "Everything is answered."
    one.press("?", "Tab")  # to the close button, by way of the box
    page.get_by_label("Use single-key shortcuts").uncheck()
    one.press("Escape", "3")
    assert page.locator("#q0-2 input:checked").count() == 0
    page.reload()
    assert not page.locator("#single-keys").is_checked()


def test_no_key_but_enter_or_space_alone_confirms_a_slider(served: Served, person: People) -> None:
    one = person()
    page = one.open(served.invite(served.add(StudyTask("rate", "t", (SLIDER,)), replies(1, ["secret-owl"]))))
    slider, state = page.locator("input[type=range]"), page.locator("output")
    slider.focus()
    for keys in ("Control+Enter", "Meta+Enter", "Shift+Enter", "Alt+Enter", "Control+Space"):
        one.press(keys)
        assert state.inner_text() == "not set yet", keys
    page.get_by_role("button", name="Submit").focus()
    page.keyboard.down("Enter")  # it names the slider as missing and moves the focus there …
    assert page.evaluate("document.activeElement.type") == "range"
    page.keyboard.down("Enter")  # … where the key that is still held repeats
    page.keyboard.up("Enter")
    assert state.inner_text() == "not set yet"
    assert page.locator("#q0-0-problem").inner_text() == "Please answer this question."
    one.press("Enter")
    assert state.inner_text() == "50"


def test_a_key_that_is_held_answers_one_question(served: Served, person: People) -> None:
    one = person()
    page = one.open(served.invite(served.add(likert_task(), replies(1))))
    for _ in range(3):
        page.keyboard.down("4")
    assert page.locator("#left").inner_text() == "1 question is not answered yet."
    page.keyboard.up("4")


def test_a_slider_that_is_not_touched_cannot_be_submitted_with_a_finger(served: Served, person: People) -> None:
    one = person(has_touch=True, viewport={"width": 390, "height": 844})
    page = one.open(served.invite(served.add(StudyTask("rate", "t", (SLIDER,)), replies(1, ["secret-owl"]))))
    page.get_by_role("button", name="Submit").tap()
    assert page.locator("#q0-0-problem").inner_text() == "Please answer this question."
    box = page.locator("input[type=range]").bounding_box()
    assert box is not None
    page.locator("input[type=range]").tap(position={"x": box["width"] - 2, "y": box["height"] / 2})
    page.locator("output", has_text="100").wait_for()


def test_nothing_typed_is_lost_by_a_reload_a_closed_tab_or_a_restart(served: Served, person: People) -> None:
    settings = StudyTask("rate", "t", (SLIDER,), completion="https://example.org/back?a=1&b=2")
    link = served.invite(served.add(settings, replies(1, ["secret-owl"])))
    one = person()
    page = one.open(link)
    page.locator("textarea").fill("at once")
    page.reload()  # before it is sent
    assert page.locator("textarea").input_value() == "at once"
    page.locator("input[type=range]").press("End")
    page.get_by_text("Draft saved").wait_for()
    assert get_draft(served)["answers"] == [{"unit": 0, "aspect": "overall", "value": 100, "reason": "at once"}]
    other = person()  # another device: only the server knows the draft
    assert other.open(link).locator("output").inner_text() == "100"
    other.page.locator("textarea").fill("newer")
    other.page.get_by_text("Draft saved").wait_for()
    served.stop()
    page.close()
    served.start()
    one.page = one.context.new_page()
    page = one.open(served.url)
    assert page.locator("textarea").input_value() == "newer"
    one.submit()
    back = page.get_by_role("link", name="Finish and return")
    assert back.get_attribute("href") == "https://example.org/back?a=1&b=2"
    assert page.evaluate("localStorage.length") == 0


def test_answers_wait_for_the_connection_and_are_stored_once(served: Served, person: People, tmp_path: Path) -> None:
    task = served.add(choice_task(), replies(2))
    one = person()
    page = one.open(served.invite(task))
    one.context.set_offline(True)
    one.press("1")
    page.get_by_text("No connection. Keep working").wait_for()
    one.press("Control+Enter")
    page.get_by_role("button", name="Try again now").wait_for()
    assert "will be sent automatically" in page.locator("#notice").inner_text()
    page.locator("textarea").fill("changed")  # so it must be submitted again
    assert "Please submit them again" in page.locator("#notice").inner_text()
    one.press("Control+Enter")
    page.get_by_role("button", name="Try again now").wait_for()
    with page.expect_navigation():
        one.context.set_offline(False)
    assert page.locator("#progress-text").inner_text() == "1 of 2 done"
    assert [record.reason for record in export(served.database, task, tmp_path / "out.jsonl")] == ["changed"]


def test_a_failure_of_the_server_does_not_look_like_a_lost_connection(
    served: Served, person: People, tmp_path: Path
) -> None:
    task = served.add(choice_task(), replies(1))
    one = person(service_workers="block")  # what passes through a worker is not routed
    page = one.open(served.invite(task))
    page.route("**/api/**", lambda route: route.fulfill(status=500, json={"error": "internal"}))
    one.press("1")
    page.locator("textarea").fill("typed while it failed")
    page.get_by_text("The server cannot answer at the moment. Keep working").wait_for()
    one.press("Control+Enter")
    page.get_by_text("The server cannot answer at the moment. Your answers are kept").wait_for()
    assert "connection" not in page.locator("#notice").inner_text()
    page.unroute("**/api/**")
    page.get_by_role("button", name="Try again now").click()
    page.get_by_text("You finished 1 item.").wait_for()
    assert [record.reason for record in export(served.database, task, tmp_path / "out.jsonl")] == [
        "typed while it failed"
    ]
    one.complaints.clear()  # the console reports the status


def test_an_answer_without_a_receipt_is_sent_again_after_a_reload(
    served: Served, person: People, tmp_path: Path
) -> None:
    task = served.add(choice_task(), replies(1))
    one = person(service_workers="block")
    page = one.open(served.invite(task))
    sent = []

    def lose(route: Any) -> None:
        sent.append(route.request.post_data_json["submission"])
        if len(sent) == 1:
            assert route.fetch().json() == {"stored": True}
            route.abort("internetdisconnected")
        else:
            route.continue_()

    page.route("**/api/answers", lose)
    one.press("2", "Control+Enter")
    page.get_by_role("button", name="Try again now").wait_for()
    page.reload()
    page.get_by_text("You finished 1 item.").wait_for()
    page.wait_for_function("() => localStorage.length === 0")
    assert len(sent) > 1
    assert len(set(sent)) == 1
    assert len(export(served.database, task, tmp_path / "out.jsonl")) == 1


def test_markup_in_data_and_settings_is_shown_as_text(served: Served, person: People) -> None:
    asked = Question(HOSTILE[3], HOSTILE[1], labels=(HOSTILE[0], HOSTILE[2]), reason=True)
    settings = StudyTask("rate", "t", (asked,), title=HOSTILE[2], instructions=HOSTILE[0], completion=HOSTILE[1])
    samples = [Sample("1", HOSTILE, text, (), f"secret-owl-{i}") for i, text in enumerate(HOSTILE)]
    one = person()
    page = one.open(served.invite(served.add(settings, samples)))
    assert sorted(page.locator(".reply").all_inner_texts()) == sorted(HOSTILE)
    assert page.locator(".context .text").all_inner_texts() == HOSTILE
    assert page.title() == HOSTILE[2]
    page.locator("textarea").first.fill(HOSTILE[1])
    one.press("Control+Enter")  # names of questions are put into the list by the script
    assert HOSTILE[1] in page.locator("#problems").inner_text()
    page.get_by_text("Draft saved").wait_for()
    page.reload()
    assert page.locator("textarea").first.input_value() == HOSTILE[1]
    for place in range(4):
        page.locator(f"#q{place}-0 .step").nth(place).click()
    one.submit()
    assert page.locator("code").inner_text() == HOSTILE[1]
    assert page.locator("[data-evil], img, svg").count() == 0


def test_withdrawing_deletes_everything_after_a_question(served: Served, person: People) -> None:
    one = person()
    page = one.open(served.invite(served.add(likert_task(), replies(2))))
    one.press("3")
    page.get_by_text("Draft saved").wait_for()
    page.get_by_role("button", name="Withdraw and delete my answers").click()
    one.press("Enter")  # cancels: deleting needs more than that
    assert get_draft(served) is not None
    page.get_by_role("button", name="Withdraw and delete my answers").click()
    page.get_by_role("button", name="Delete my answers", exact=True).click()
    page.get_by_role("heading", name="You withdrew from this study").wait_for()
    assert get_draft(served) is None
    assert page.evaluate("localStorage.length") == 0


def _dialogues() -> list[Dialogue]:
    turns = [Turn("Hello", "u"), Turn("Hi, how are you?", "b"), Turn("مرحبا", "u")]
    return [Dialogue(f"secret-id-{name}", turns, systems={"b": name}, occasion="o") for name in SECRETS[1:]]


@pytest.mark.parametrize(("scheme", "width", "language"), [("light", 1280, "en"), ("dark", 390, "ja")])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    served: Served, person: People, scheme: str, width: int, language: str
) -> None:
    one = person(color_scheme=scheme, viewport={"width": width, "height": 844}, reduced_motion="reduce")
    page, check = one.page, one.check_page
    common: dict[str, Any] = {"language": language, "instructions": "Read.", "title": "A study"}
    asked = (Question("fit", labels=("bad", "good")), Question("wit", labels=tuple("abcde"), optional=True), SLIDER)
    page.goto(served.invite(served.add(StudyTask("rate", "r", asked, consent="May we?", **common), replies(1))))
    check()
    page.locator("#agree").click()
    page.locator("html[data-ready]").wait_for(state="attached")
    check()
    one.press("4", "Control+Enter")  # with problems shown
    check()
    one.press("?") if language == "en" else page.locator("#open-withdraw").click()
    check()
    one.open(served.invite(served.add(StudyTask("rate", "d", asked, **common), _dialogues())))
    check()
    one.open(served.invite(served.add(choice_task(completion="CODE", **common), _dialogues())))
    one.press("1")
    check()
    one.submit()
    check()
    page.goto(f"{served.url}/nothing/here")
    check()
    one.complaints.clear()  # the console reports the 404


def test_without_script_the_page_says_what_is_missing(served: Served, person: People) -> None:
    one = person(java_script_enabled=False)
    one.page.goto(served.invite(served.add(likert_task(), replies(1))))
    notice = one.page.locator("noscript p")
    assert notice.is_visible()
    assert notice.inner_text().startswith("This page needs JavaScript.")
    assert one.page.locator("button:visible, input:visible").count() == 0
