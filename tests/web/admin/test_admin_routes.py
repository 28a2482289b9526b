# SPDX-License-Identifier: Apache-2.0
"""Administrators' pages: who reaches them, and a whole study in a browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from interloq import read
from interloq.data.records.jsonl import write
from interloq.records import Score
from interloq.web.serve import invitation_links
from interloq.web.serve_options import InvitationOptions, ServerAddress
from tests.web.conftest import Annotator, People, Served, choice_task, likert_task, replies


@pytest.fixture
def rated(served: Served) -> int:
    return served.add(likert_task(), replies(2))


def test_unknown_numbers(served: Served) -> None:
    admin = served.visit(None)
    for path in ("/admin/tasks/99", "/admin/tasks/99/figures", "/admin/tasks/99/export"):
        assert admin.get(path).status_code == 404
    for path in ("/admin/people/99/forget", "/admin/people/1/forget", "/admin/invitations/99/revoke"):
        assert admin.post(path, {}).status_code == 404  # person 1 is the administrator
    assert admin.post("/admin/invitations/1/revoke", {}).status_code == 409


def test_figures_are_sent_when_they_changed(served: Served, rated: int) -> None:
    admin, path = served.visit(None), f"/admin/tasks/{rated}/figures"
    state = admin.get(path).json()["state"]
    assert admin.get(f"{path}?seen={state}").status_code == 204
    assert admin.post(f"/admin/tasks/{rated}/close", {"closed": True}).status_code == 200
    assert admin.get(f"{path}?seen={state}").json()["closed"] is True


def test_links_revocation_and_deletion(served: Served, rated: int) -> None:
    admin = served.visit(None)
    made = admin.post(f"/admin/tasks/{rated}/invitations", {"number": 2, "label": "friends"})
    first, second = made.json()["links"]
    annotator = served.open(first)
    assert first.rsplit("/", 1)[1] not in admin.get(f"/admin/tasks/{rated}").text
    assert admin.post("/admin/people/2/forget", {}).status_code == 200
    assert annotator.get("/").status_code == 401
    assert admin.post("/admin/invitations/3/revoke", {}).status_code == 200
    assert admin.get(second).status_code == 404


def test_links_have_the_public_address_and_equal_those_of_the_command(served: Served, rated: int) -> None:
    served.stop()
    served.public = "https://rate.example.org/"
    served.start()
    made = served.visit(None).post(f"/admin/tasks/{rated}/invitations", {"parameter": "PID"})
    by_command = invitation_links(
        served.place, "likert", ServerAddress(public=served.public), InvitationOptions(parameter="PID")
    )
    for (link,) in (made.json()["links"], by_command):
        assert re.fullmatch(r"https://rate\.example\.org/join/[\w-]{32}\?PID=\{\{%PID%\}\}", link)


# ---- in a browser ----------------------------------------------------------------------------------------------------


def test_a_study_from_the_file_to_the_export(served: Served, administrator: People, tmp_path: Path) -> None:
    records = tmp_path / "replies.jsonl"
    write(records, replies(2), kind="samples")
    scores = tmp_path / "scores.jsonl"
    made_up = [Score(reply.id, m, float(n), system=reply.system) for m in "ab" for n, reply in enumerate(replies(2))]
    write(scores, made_up, kind="scores")
    owner, someone = administrator(), administrator()
    admin, annotator = owner.page, someone.page
    admin.goto(served.invite(None))
    admin.get_by_role("link", name="New task").click()
    owner.check_page()
    admin.get_by_label("File of samples or dialogues").set_input_files(records)
    admin.get_by_label("Scores of metrics").set_input_files(scores)
    admin.get_by_label("Name").fill("first-study")
    admin.get_by_role("button", name="Preview").click()
    admin.get_by_text("first-study (rate): 2 pages from 4 records; each page goes to 3 annotators.").wait_for()
    admin.get_by_text("It needs at least 3 people, each with up to 2 pages (4 answers).").wait_for()
    assert "Reply 0 to question 0." in admin.locator("#pages").inner_text()
    assert "secret" not in admin.locator("#pages").inner_text()
    owner.check_page()
    admin.get_by_role("button", name="Create the task").click()
    admin.get_by_role("heading", name="first-study").wait_for()
    assert admin.locator("#h-pages").inner_text() == "0"
    assert admin.locator("#warning").inner_text().startswith("0 people are invited, but at least 3 are needed")
    admin.get_by_label("Links").fill("1")
    admin.get_by_role("button", name="Make links").click()
    link = admin.locator("#links code").inner_text()
    admin.get_by_text("1 person is invited, but at least 3 are needed").wait_for()

    admin.evaluate("window.notReloaded = true")
    annotator.goto(link)
    for step in annotator.locator("fieldset.question").all():
        step.locator(".step", has_text="4").click()
    someone.submit()
    admin.locator("#h-pages", has_text="1").wait_for()
    assert admin.evaluate("window.notReloaded") is True
    assert admin.get_by_role("row", name="secret-owl").locator("td").first.inner_text() == "4.00"
    owner.check_page()
    with admin.expect_download() as download:
        admin.get_by_role("link", name="Export", exact=True).click()
    download.value.save_as(tmp_path / "out.jsonl")
    samples = read(tmp_path / "out.jsonl")
    new = [rating for sample in samples for rating in sample.ratings if rating.rater != "earlier"]
    assert [rating.value for rating in new] == [4, 4]
    assert {rating.rater[0] for rating in new} == {"u"}

    admin.get_by_role("button", name="Delete the data of").click()
    admin.get_by_role("button", name="Delete", exact=True).click()
    admin.locator("#h-pages", has_text="0").wait_for()


def talk(someone: Annotator, replies: int) -> None:
    """Get so many replies, end the conversation, and answer all questions with 1."""
    number = someone.assignment()
    for place in range(0, 2 * replies, 2):
        someone.post("/api/chat/say", {"assignment": number, "place": place, "text": "Hi"})
        someone.post("/api/chat/reply", {"assignment": number, "place": place + 1})
    someone.post("/api/chat/end", {"assignment": number})
    questions = re.findall(r'data-unit="(\d+)" data-aspect="(\w+)"', someone.get("/").text)
    given = [{"unit": int(unit), "aspect": aspect, "value": 1} for unit, aspect in questions]
    body = {"assignment": number, "submission": "submission", "answers": given}
    assert someone.post("/api/answers", body).status_code == 200


def test_a_chat_from_the_form_to_outsiders(served: Served, administrator: People) -> None:
    owner = administrator(viewport={"width": 390, "height": 844})
    admin = owner.page
    admin.goto(served.invite(None))
    admin.get_by_role("link", name="New task").click()
    admin.get_by_label("Name").fill("two-bots")
    admin.get_by_label("Task").select_option("chat")
    admin.get_by_label("File of samples or dialogues").wait_for(state="hidden")
    bots = admin.get_by_label("Bots, one per line")
    bots.fill("old = eliza\nshell = process(command='id')")
    admin.get_by_label("Allow bots that start programs").check()
    admin.get_by_role("button", name="Preview").click()
    admin.get_by_text("the bot 'shell' names a file, a program or a server").wait_for()
    owner.complaints.clear()  # the console reports the 409
    bots.fill("old = eliza\nparrot = echo")
    admin.get_by_label("Ask whether the partner was a person or a bot").check()
    admin.get_by_role("button", name="Preview").click()
    admin.get_by_text("two-bots (chat): 2 pages with old = eliza; parrot = echo").wait_for()
    owner.check_page()
    admin.get_by_role("button", name="Create the task").click()
    admin.get_by_role("heading", name="two-bots").wait_for()
    for number in (1, 3):
        talk(served.visit(1), number)
    admin.locator("[data-section=survival] polyline").first.wait_for()
    admin.locator("[data-section=guessed-human] tbody tr").first.wait_for()
    admin.get_by_text("The first look is after 3 complete items; 1 of 3 items complete.").wait_for()
    owner.check_page()
    admin.get_by_role("button", name="Send conversations to outsiders").click()
    admin.get_by_role("heading", name="two-bots-outsiders").wait_for()
    outsider = administrator().open(served.invite(2))
    outsider.get_by_text("Was speaker B a person or a bot?").wait_for()
    assert outsider.locator(".bubble .tag").count() == 0


def test_a_bad_upload_says_why(served: Served, administrator: People, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": "1", "response": "only one"}\n')
    owner = administrator()
    page = owner.page
    page.goto(served.invite(None))
    page.goto(f"{served.url}/admin/new")
    page.get_by_label("File of samples or dialogues").set_input_files(tmp_path / "bad.jsonl")
    page.get_by_label("Name").fill("bad")
    page.get_by_label("Task").select_option("compare")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("This did not work: nothing to compare").wait_for()
    owner.complaints.clear()  # the console reports the 409


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}])
def test_pages_are_accessible_in_the_dark_and_on_a_phone(
    served: Served, administrator: People, options: dict[str, Any]
) -> None:
    task = served.add(choice_task(), replies(2))
    served.visit(task, label="friends")
    owner = administrator(**options)
    owner.page.goto(served.invite(None))
    for path in ("/admin", f"/admin/tasks/{task}"):
        owner.open(f"{served.url}{path}")
        owner.check_page()
