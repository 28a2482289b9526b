"""The page for references in a real browser, from the invitation to the export."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from interloq import Sample
from interloq.errors import InputError
from interloq.records import Pair
from interloq.reliability.model import Reliability
from interloq.web.database import Database
from interloq.web.messages import texts
from interloq.web.references.references_routes import Predictors, check_models
from interloq.web.references.references_task import prepare_references
from interloq.web.schema import step
from interloq.web.studies.tasks import add_task
from tests.reliability.made_model import small_model
from tests.reliability.made_predictor import MadePredictor
from tests.web.conftest import AddReferences, People, Served, export
from tests.web.made_references import SAMPLES, references_task

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "<img src=x onerror=\"document.title = 'owned'\"></script>{{ 7 * 7 }}"
QUERY = "do you want tea ?"
TEA = [Sample("secret-id-0", [QUERY], "yes", ["tea", HOSTILE], "secret-owl")]
PAIRS = [
    Pair("secret-id-p1", "do you want some tea", f"{HOSTILE} we so"),
    Pair("secret-id-p2", "you want tea", "milk cup leaf"),
    Pair("secret-id-p3", "want tea", "pot"),
    Pair("secret-id-p4", "want tea now", "أريد كوبًا من الشاي"),
]


def export_references(served: Served, task: int, folder: Path) -> list[tuple[str, str]]:
    """Return texts and sources of the references of the first sample."""
    sample, *_ = export(served.database, task, folder / "out.jsonl")
    return [(reference.text, reference.source) for reference in sample.references]


def wait_for(page: Page, selector: str, content: str) -> None:
    page.locator(selector, has_text=re.compile(content)).wait_for()


def test_references_with_the_keyboard_from_invitation_to_export(
    served: Served, person: People, add_references: AddReferences, tmp_path: Path
) -> None:
    task = add_references(served.database, TEA, pairs=PAIRS, completion="CODE-7").stored.id
    one = person()
    page = one.open(served.invite(task))
    assert page.locator("#known .text").all_inner_texts() == sorted([HOSTILE, "tea"])
    assert page.locator("#candidate").inner_text() == f"{HOSTILE} we so"
    wait_for(page, "#before", r"^0\.050 \(−0\.050 to 0\.150\)$")
    wait_for(page, "#after", r"0\.000 .* −0\.050$")
    assert page.locator("#best-text").inner_text() == "milk cup leaf"
    one.press("b")  # the one that would help most
    wait_for(page, "#candidate", "^milk cup leaf$")
    wait_for(page, "#after", r"0\.350 .* \+0\.300$")
    one.press("e")
    wait_for(page, "#why", "Change the text first.")
    assert page.locator("#use").get_attribute("aria-disabled") == "true"
    page.keyboard.type(" pot")
    wait_for(page, "#after", r"0\.450 .* \+0\.400$")  # live
    wait_for(page, "#saved", "Draft saved")
    page.reload()
    assert page.locator("#text").input_value() == "milk cup leaf pot"
    wait_for(page, "#after", r"0\.450")
    served.stop()
    served.start()
    one.press("Control+Enter")
    wait_for(page, "#edited", "edited by you")
    assert page.locator("#attempts").inner_text() == "You can edit this candidate 2 more times."
    one.press("Enter")  # the focus is on Keep
    wait_for(page, "#known", "milk cup leaf pot edited by you")
    one.context.set_offline(True)
    one.press("k")
    page.get_by_text("Your decision is kept on this device").wait_for()
    one.press("a")  # does nothing while the decision waits
    page.reload()  # from the page that the browser keeps
    page.get_by_text("Your decision is kept on this device").wait_for()
    wait_for(page, "#known", "milk cup leaf pot edited by you")
    one.context.set_offline(False)
    wait_for(page, "#known", "we so kept by you")
    one.press("a", "?")
    page.locator("#help[open]").wait_for()
    one.press("Escape")
    wait_for(page, "#why", "The candidate was abandoned.")
    with page.expect_navigation():
        one.press("n")
    assert page.locator("code").inner_text() == "CODE-7"
    assert page.title() != "owned"
    assert page.evaluate("localStorage.length") == 0
    assert export_references(served, task, tmp_path)[2:] == [
        ("milk cup leaf pot", "human"), (f"{HOSTILE} we so", "retrieved:secret-id-p1"),
    ]  # fmt: skip


def test_two_tabs_store_no_step_twice_and_decisions_need_no_prediction(
    served: Served, person: People, add_references: AddReferences, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise InputError("secret-owl: the folder of the model is gone")

    task = add_references(served.database, SAMPLES).stored.id
    monkeypatch.setattr(Reliability, "load", staticmethod(fail))
    one = person()
    page = one.open(served.invite(task))
    wait_for(page, "#after", "No prediction at the moment.")
    one.complaints.clear()  # the browser reports the refusal
    other = one.context.new_page()
    other.goto(served.url)
    other.locator("html[data-ready]").wait_for(state="attached")
    one.press("k")
    wait_for(page, "#known", "we so kept by you")
    other.bring_to_front()
    other.keyboard.press("k")  # does not know that it was kept
    wait_for(other, "#candidate", "milk cup leaf")
    other.keyboard.press("e")
    other.keyboard.press("Escape")
    assert other.locator("#edit").evaluate("element => element === document.activeElement")
    other.keyboard.press("n")
    other.locator(".single h1").wait_for()
    page.bring_to_front()
    one.press("k")
    page.locator(".single h1").wait_for()
    assert export_references(served, task, tmp_path) == [("tea", "gold"), ("we so", "retrieved:secret-id-p1")]
    one.complaints.clear()


@pytest.mark.parametrize(("scheme", "width", "language"), [("light", 1280, "en"), ("dark", 390, "zh")])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    served: Served, person: People, add_references: AddReferences, scheme: str, width: int, language: str
) -> None:
    task = add_references(served.database, TEA, pairs=PAIRS, language=language).stored.id
    one = person(color_scheme=scheme, viewport={"width": width, "height": 844}, reduced_motion="reduce")
    page = one.open(served.invite(task))

    def check() -> None:
        wait_for(page, "#after", r"0\.")
        one.check_page()

    page.locator("#others summary").click()
    page.locator(".meaning summary").click()
    check()
    page.locator("#best-tag").evaluate("(tag, longest) => { tag.textContent = longest; }", texts("en")["ref_least_bad"])
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#next").click()
    check()
    one.press("Enter")  # stays here
    page.locator("#edit").click()
    page.keyboard.type(" milk")
    wait_for(page, "#after", r"\+")
    check()


def test_a_model_is_loaded_once_and_refused_if_it_is_another_one(
    study: Database, add_references: AddReferences, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, loaded = add_references(study), list[str]()
    stored = task.stored

    def load(folder: Path, **_: Any) -> MadePredictor:
        loaded.append(str(folder))
        return task.predictor

    monkeypatch.setattr(Reliability, "load", load)
    predictors, work = Predictors(), task.decide(*task.start())
    offer = predictors.offer(stored, work)
    assert (offer.before.mean, offer.after.mean, offer.best) == pytest.approx((0.1, 0.05, 1))
    encoded = [len(texts) for texts in predictors._vectors.values()]
    assert predictors.attempt(stored, work, "milk pot").after.mean == pytest.approx(0.3)
    assert [len(texts) for texts in predictors._vectors.values()] == encoded  # what was typed is not kept
    assert loaded == [str(tmp_path / "model")]
    other = replace(stored, source={**stored.source, "model": "reliability-other"})
    with pytest.raises(InputError, match="was made with reliability-other"):
        predictors.offer(other, work)


def test_a_study_is_not_served_without_its_model(sqlite_study: Database, tmp_path: Path) -> None:
    model = small_model(tmp_path, epochs=1)
    task, items, facts = prepare_references(SAMPLES, references_task(tmp_path, options={"model": str(model)}))
    with sqlite_study.writing() as connection:
        add_task(connection, task, items, facts)
    check_models(sqlite_study)
    model.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no such folder"):
        check_models(sqlite_study)


def test_people_who_see_no_predictions_are_sent_none(
    served: Served, person: People, add_references: AddReferences, tmp_path: Path
) -> None:
    options = {"predictions": "hidden", "must_rise": True}
    task = add_references(served.database, TEA, pairs=PAIRS, options=options).stored.id
    one = person(color_scheme="dark", viewport={"width": 390, "height": 844})
    page = one.open(served.invite(task))
    assert not page.locator(".gauge").is_visible()
    assert not page.locator("#best").is_visible()
    one.check_page()
    page.locator("#others summary").click()
    assert page.locator("#others-list .quiet").all_inner_texts() == [""] * 3
    assert "prediction" not in page.locator("main").inner_text()
    token = page.locator("body").get_attribute("data-csrf") or ""
    for name, more in (("offer", {}), ("attempt", {"text": "milk cup"})):
        body = {"assignment": 1, "place": 0, **more}
        sent = one.context.request.post(
            f"{served.url}/api/references/{name}", data=body, headers={"X-CSRF-Token": token, "Origin": served.url}
        ).json()
        assert sent.get("before") is sent.get("after") is sent.get("best") is None
        assert not sent.get("with_each")
    one.press("b", "k")  # there is no best one; everything may be kept
    wait_for(page, "#known", "we so kept by you")
    one.press("?")
    assert "help most" not in page.locator("#help").inner_text()
    assert export_references(served, task, tmp_path)[2:] == [(f"{HOSTILE} we so", "retrieved:secret-id-p1")]
    with served.database.reading() as connection:
        (body,) = connection.execute(select(step.c.body)).scalars()
    assert (body["before"], body["after"]) == pytest.approx((0.05, 0.0))  # recorded all the same


def test_a_candidate_that_lowers_the_prediction_must_be_edited(
    served: Served, person: People, add_references: AddReferences, tmp_path: Path
) -> None:
    task = add_references(served.database, TEA, pairs=PAIRS, options={"must_rise": True}).stored.id
    one = person()
    page = one.open(served.invite(task))
    wait_for(page, "#after", "−0.050$")
    assert page.locator("#keep").get_attribute("aria-disabled") == "true"
    one.press("k")
    wait_for(page, "#why", "The prediction does not rise with this candidate: edit or abandon it.")
    one.check_page()
    token = page.locator("body").get_attribute("data-csrf") or ""
    refused = one.context.request.post(
        f"{served.url}/api/references/step",
        data={"assignment": 1, "place": 0, "action": "keep"},
        headers={"X-CSRF-Token": token, "Origin": served.url},
    )
    assert refused.status in (409, 422)
    one.press("e")
    page.locator("#text").fill("milk cup")
    one.press("Control+Enter")
    wait_for(page, "#after", r"\+0\.200$")
    assert page.locator("#keep").get_attribute("aria-disabled") == "false"
    one.press("k")
    wait_for(page, "#known", "milk cup edited by you")
    assert export_references(served, task, tmp_path)[2:] == [("milk cup", "human")]
    one.complaints.clear()  # the browser reports the refusal
