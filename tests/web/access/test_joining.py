# SPDX-License-Identifier: Apache-2.0
"""Who enters by an invitation: by a link of their own, or by that of a crowd platform."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy import func, select, update
from starlette.exceptions import HTTPException

from interloq.web.access import joining, people
from interloq.web.access.joining import Browser, NewSession
from interloq.web.access.security import NEWCOMERS
from interloq.web.database import Database
from interloq.web.schema import METADATA, person
from tests.web.access.test_access import invite, visit
from tests.web.conftest import People, Served, likert_task, replies, store_task


def enter(
    study: Database, token: str, name: str, browser: Browser | None = None, *, may_come: bool = True
) -> tuple[int, NewSession]:
    """The person with this id, and the secrets that their browser gets."""
    with study.writing() as connection:
        entry = joining.join(connection, token, {"PID": name}, browser, may_come=lambda: may_come)
        assert entry is not None
        found = people.visitor(connection, entry.secret)
    assert found is not None
    return found.person, entry


def refused(study: Database, token: str, name: str, browser: Browser | None = None, *, may_come: bool = True) -> str:
    """The reason why somebody cannot enter."""
    with pytest.raises(HTTPException) as raised:
        enter(study, token, name, browser, may_come=may_come)
    return raised.value.detail


@pytest.fixture
def crowd(study: Database) -> str:
    """The secret of a link for many people."""
    return invite(study, store_task(study, likert_task(), replies(1)).id, parameter="PID")


def test_one_link_is_one_person_however_often_it_is_opened(study: Database) -> None:
    token = invite(study, store_task(study, likert_task(), replies(1)).id)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: visit(study, token), range(4)))
    assert len({one.person for one in found if one}) == 1
    assert len({one.csrf for one in found if one}) == 4
    assert visit(study, "x" * 32) is None
    assert visit(study, "\0\ud800") is None


def test_the_oldest_session_ends_when_a_link_is_opened_very_often(study: Database) -> None:
    token = invite(study, store_task(study, likert_task(), replies(1)).id)
    ended = []
    with study.writing() as connection:
        entries = [joining.join(connection, token, {}) for _ in range(joining.MOST_SESSIONS + 1)]
        for entry in entries:
            assert entry is not None
            ended.append(people.visitor(connection, entry.secret) is None)
    assert ended == [True] + [False] * joining.MOST_SESSIONS


def test_ids_are_different_people_and_return_only_in_their_browser(study: Database, crowd: str) -> None:
    ann, first = enter(study, crowd, "ann")
    bob, second = enter(study, crowd, "b'; --\0")
    assert ann != bob
    assert enter(study, crowd, " ann ", Browser(first.browser))[0] == ann
    for stranger in (None, Browser(), Browser("invented"), Browser(second.browser, second.secret)):
        assert refused(study, crowd, "ann", stranger) == "other_browser"
    cat, entry = enter(study, crowd, "cat", Browser(first.browser))  # one browser may be several people's
    assert entry.browser == first.browser
    assert enter(study, crowd, "ann", Browser(first.browser))[0] == ann != cat


@pytest.mark.parametrize(
    "name",
    ["", " ", "\0", "x" * 201, "{{%PROLIFIC_PID%}}", "{{PID}}", "${workerId}", "%PID%", "<id>", "[id]", "pid", "PID",
     "undefined", "ASSIGNMENT_ID_NOT_AVAILABLE"],
)  # fmt: skip
def test_what_a_platform_did_not_replace_is_not_an_id(study: Database, crowd: str, name: str) -> None:
    assert refused(study, crowd, name) == "no_participant"


@pytest.mark.parametrize("name", ["5f3c9a1b2c4d5e6f7a8b9c0d", "A1B2C3", "ann@example.org", "名前", "a_b-c.d"])
def test_ids_of_platforms_are_accepted(study: Database, crowd: str, name: str) -> None:
    assert enter(study, crowd, name)[0] == 1


def test_an_administrator_lets_a_person_continue_elsewhere_once_and_soon(study: Database, crowd: str) -> None:
    ann, first = enter(study, crowd, "ann")
    with study.writing() as connection:
        assert joining.readmit(connection, ann)
        assert not joining.readmit(connection, 99)
    number, second = enter(study, crowd, "ann")
    assert number == ann
    assert second.browser != first.browser
    with study.reading() as connection:
        assert people.visitor(connection, first.secret) is None  # perhaps somebody else's
    assert refused(study, crowd, "ann") == "other_browser"
    assert refused(study, crowd, "ann", Browser(first.browser)) == "other_browser"
    with study.writing() as connection:
        joining.readmit(connection, ann)
        connection.execute(update(person).values(readmitted=time.time() - joining.READMISSION - 1))
    assert refused(study, crowd, "ann") == "other_browser"


def test_people_from_before_browsers_had_secrets_return_with_their_session(study: Database, crowd: str) -> None:
    ann, first = enter(study, crowd, "ann")
    with study.writing() as connection:
        connection.execute(update(person).values(browser=None))
    assert refused(study, crowd, "ann", Browser("invented")) == "other_browser"
    number, second = enter(study, crowd, "ann", Browser("", first.secret))
    assert number == ann
    assert enter(study, crowd, "ann", Browser(second.browser))[0] == ann


def test_an_id_is_one_person_by_all_links_of_a_task(study: Database) -> None:
    stored = store_task(study, likert_task(), replies(1))
    old, new = (invite(study, stored.id, parameter="PID") for _ in range(2))
    ann, first = enter(study, old, "ann")
    assert refused(study, new, "ann") == "other_browser"
    with study.writing() as connection:
        people.revoke(connection, 1)
    assert enter(study, new, "ann", Browser(first.browser))[0] == ann
    other = store_task(study, likert_task("other"), replies(1))
    assert enter(study, invite(study, other.id, parameter="PID"), "ann")[0] != ann


def test_only_as_many_people_come_as_a_link_is_for(study: Database) -> None:
    stored = store_task(study, likert_task(), replies(1))
    with study.writing() as connection:
        token = people.invite(connection, stored.id, parameter="PID", most_people=2)

    def attempt(name: str) -> str:
        try:
            return enter(study, token, name)[1].browser
        except HTTPException as error:
            return error.detail

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(attempt, "abcd"))
    assert found.count("full") == 2
    browser = next(one for one in found if one != "full")
    assert enter(study, token, "abcd"[found.index(browser)], Browser(browser))[0] in (1, 2)  # who is in may return
    assert refused(study, token, "e", may_come=False) == "full"


def test_an_address_that_sends_too_many_people_adds_no_person(study: Database, crowd: str) -> None:
    ann, entry = enter(study, crowd, "ann")
    assert refused(study, crowd, "bob", may_come=False) == "too_many_people"
    assert enter(study, crowd, "ann", Browser(entry.browser), may_come=False)[0] == ann
    with study.reading() as connection:
        assert connection.execute(select(func.count()).select_from(person)).scalar_one() == 1


def test_the_database_contains_no_secret_of_a_browser(study: Database, crowd: str) -> None:
    browsers = {enter(study, crowd, name, Browser("the same secret"))[1].browser for name in ("ann", "bob")}
    assert browsers == {"the same secret"}
    with study.reading() as connection:
        kept = str([connection.execute(select(table)).all() for table in METADATA.sorted_tables])
        hashes = list(connection.execute(select(person.c.browser)).scalars())
    assert "the same secret" not in kept
    assert len(set(hashes)) == 2  # nor that two ids came from one browser


def test_nobody_enters_as_another_or_deletes_their_answers(served: Served) -> None:
    link = served.invite(served.add(likert_task(), replies(2)), parameter="PID")
    assert httpx.get(link).json()["error"] == "no_participant"
    ann = served.open(f"{link}?PID=ann")
    number = ann.assignment()
    assert served.open(f"{link}?PID=bob").assignment() != number
    with httpx.Client(base_url=served.url, follow_redirects=True) as thief:
        answer = thief.get(f"{link}?PID=ann", headers={"accept": "text/html", "accept-language": "ja"})
        assert answer.status_code == 403
        assert "別のブラウザ" in answer.text
        assert thief.post("/withdraw", json={}).status_code == 401
    assert ann.get(f"{link}?PID=ann").status_code == 200  # by the platform's link again
    assert ann.assignment() == number


def test_invented_people_of_one_address_are_limited(served: Served) -> None:
    link = served.invite(served.add(likert_task(), replies(1)), parameter="PID")
    found = [httpx.get(f"{link}?PID=p{i}").status_code for i in range(int(NEWCOMERS) + 5)]
    assert set(found[: int(NEWCOMERS)]) == {303}
    assert 429 in found  # one more is allowed each minute


def test_an_administrator_allows_another_browser_in_the_table_of_annotators(served: Served, person: People) -> None:
    task = served.add(likert_task(), replies(1, ["owl"]))
    link = f"{served.invite(task, parameter='PID')}?PID=ann"
    person().open(link)
    other, admin = person(), person()
    other.page.goto(link)
    assert other.page.locator("h1").inner_text() == "This participant id is used in another browser"
    other.complaints.clear()  # the console reports the 403
    admin.page.goto(served.invite(None, role="lead"))
    admin.page.goto(f"{served.url}/admin/tasks/{task}")
    admin.page.get_by_role("button", name="continue in another browser").click()
    admin.page.get_by_text("For 24 hours, the next browser").wait_for()
    other.open(link)
    assert other.page.locator(".reply").count() == 1
