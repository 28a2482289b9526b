from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interloq import InputError, Reference
from interloq.reliability.annotate import (
    DecisionStep,
    QueryState,
    Session,
    apply_step,
    refuse_without_rise,
    start_query,
)
from interloq.reliability.augment import Request
from tests.reliability.made_predictor import MadePredictor

OPTIONS: dict[str, Any] = {"attempts": 2, "limit": 3}


def begun(references: list[str], candidates: list[str], turns: tuple[str, ...] = ("tea ?",)) -> QueryState:
    found = tuple(Reference(text, source=f"retrieved:{i}") for i, text in enumerate(candidates))
    return start_query(Request(turns, tuple(Reference(text) for text in references), found), **OPTIONS)


def after(state: QueryState, *steps: tuple[str, str]) -> QueryState:
    for action, text in steps:
        state = apply_step(state, DecisionStep("q", action, text), **OPTIONS)  # type: ignore[arg-type]
    return state


def test_candidates_are_offered_in_the_order_given_without_repetitions() -> None:
    state = begun(["tea"], ["pot", " tea ", "cup", "", "pot"])
    assert [one.text for one in state.waiting] == ["pot", "cup"]
    assert not state.finished


def test_keep_edit_abandon_and_choose() -> None:
    state = after(begun(["tea"], ["pot", "cup", "sip"]), ("choose", "sip"), ("edit", "a sip"), ("keep", "a sip"))
    assert [(one.text, one.source) for one in state.added] == [("a sip", "human")]
    assert [one.text for one in state.waiting] == ["pot", "cup"]
    assert state.attempts == 2
    state = after(state, ("abandon", "pot"))
    assert [one.text for one in state.waiting] == ["cup"]
    state = after(state, ("keep", "cup"))
    assert [(one.text, one.source) for one in state.added] == [("a sip", "human"), ("cup", "retrieved:1")]
    assert state.finished  # three references


def test_a_kept_text_is_not_offered_again() -> None:
    state = after(begun([], ["pot", "cup"]), ("edit", "cup"), ("keep", "cup"))
    assert state.finished
    assert len(state.added) == 1


@pytest.mark.parametrize(
    ("references", "candidates", "turns"),
    [(["a", "b", "c"], ["pot"], ("tea",)), (["a"], [], ("tea",)), ([], ["pot"], (" ",))],
)
def test_nothing_to_decide(references: list[str], candidates: list[str], turns: tuple[str, ...]) -> None:
    assert begun(references, candidates, turns).finished


@pytest.mark.parametrize(
    ("steps", "what"),
    [
        ([("edit", "a"), ("edit", "b"), ("edit", "c")], "no edits are left"),
        ([("edit", " ")], "empty or unchanged"),
        ([("edit", "pot ")], "empty or unchanged"),
        ([("edit", "tea")], "already a reference"),
        ([("keep", "cup")], "the candidate is 'pot', not 'cup'"),
        ([("choose", "other")], "no candidate 'other'"),
        ([("next", ""), ("keep", "pot")], "is finished"),
    ],
)
def test_impossible_steps_are_refused(steps: list[tuple[str, str]], what: str) -> None:
    with pytest.raises(InputError, match=what):
        after(begun(["tea"], ["pot", "cup"]), *steps)


def request(references: list[str], candidates: list[str]) -> Request:
    found = tuple(Reference(text, source=f"retrieved:{i}") for i, text in enumerate(candidates))
    return Request(("tea ?",), tuple(Reference(text) for text in references), found)


REQUESTS = {
    "q1": request(["tea"], ["we so", "milk", "milk cup leaf"]),
    "full": request(["tea", "pot", "sip", "cup"], ["milk"]),
    "q2": request([], ["dog", "walk bone"]),
}


def session(folder: Path, model: MadePredictor | None = None, **options: Any) -> Session:
    return Session(model or MadePredictor(), REQUESTS, folder / "record.jsonl", **{"limit": 4, **options})


def test_an_offer_shows_the_prediction_before_and_after_and_the_best_candidate(tmp_path: Path) -> None:
    model = MadePredictor()
    with session(tmp_path, model) as one:
        offer = one.offer()
        assert offer is not None
        assert (offer.query, offer.candidate.text, offer.references) == ("q1", "we so", ("tea",))
        assert (offer.before.mean, offer.after.mean) == pytest.approx((0.1, 0.05))
        assert (offer.before.low, offer.before.high) == pytest.approx((0.0, 0.2))
        assert (offer.best, offer.waiting[offer.best].text) == (2, "milk cup leaf")
        assert offer.best_after.mean == pytest.approx(0.4)
        assert one.offer() is offer
        assert model.calls == [4]  # without, and with each candidate, in one batch
        one.choose(offer.best)
        chosen = one.offer()
        assert chosen is not None
        assert chosen.candidate.text == "milk cup leaf"


def annotate(one: Session) -> None:
    one.choose(2)
    one.keep()
    one.edit("we drink a sip")
    one.keep()
    one.abandon()
    one.keep()
    one.next()


def test_decisions_change_the_references(tmp_path: Path) -> None:
    with session(tmp_path) as one:
        annotate(one)
        assert one.current is None
        assert one.offer() is None
        found = {id: [(r.text, r.source) for r in some] for id, some in one.added().items()}
        with pytest.raises(InputError, match="all queries are finished"):
            one.keep()
    assert found == {
        "q1": [("milk cup leaf", "retrieved:2"), ("we drink a sip", "human")],
        "full": [],
        "q2": [("dog", "retrieved:0")],
    }
    assert [step.action for step in one.steps] == ["choose", "keep", "edit", "keep", "abandon", "keep", "next"]
    assert one.steps[1].before == pytest.approx(0.1)
    assert one.steps[1].after == pytest.approx(0.4)
    assert one.steps[5].before is None  # no references yet


@pytest.mark.parametrize("cut", [0, 1, 7, 60, 200, 10**6])
def test_a_killed_session_resumes_and_replays_to_the_same_state(tmp_path: Path, cut: int) -> None:
    with session(tmp_path) as whole:
        annotate(whole)
    record = tmp_path / "record.jsonl"
    lines = record.read_bytes().splitlines(keepends=True)
    (header,) = lines[:1]
    left = header + b"".join(lines[1:])[:cut]
    record.write_bytes(left)
    complete = left.count(b"\n") - 1
    with session(tmp_path) as resumed:
        assert resumed.steps == whole.steps[:complete]
        for step in whole.steps[complete:]:
            if step.action == "edit":
                resumed.edit(step.text)
            elif step.action == "choose":
                resumed.choose(2)
            else:
                getattr(resumed, step.action)()
        assert resumed.states == whole.states
    assert record.read_bytes() == b"".join(lines)
    model = MadePredictor()
    with session(tmp_path, model) as replayed:
        assert replayed.states == whole.states
        assert model.calls == []  # nothing is predicted again


def test_a_refused_decision_is_not_recorded(tmp_path: Path) -> None:
    with session(tmp_path) as one:
        before = (tmp_path / "record.jsonl").read_bytes()
        for place in (-1, 3):
            with pytest.raises(InputError, match=f"no candidate {place}; choose one from 0 to 2"):
                one.choose(place)
        with pytest.raises(InputError, match="empty or unchanged"):
            one.edit("")
        assert one.steps == []
    assert (tmp_path / "record.jsonl").read_bytes() == before


def test_the_record_of_something_else_is_refused(tmp_path: Path) -> None:
    with session(tmp_path) as one:
        one.keep()
    with pytest.raises(InputError, match="attempts was 3, is 1"):
        session(tmp_path, attempts=1)
    with pytest.raises(InputError, match="queries was"):
        Session(MadePredictor(), {"q1": REQUESTS["q2"]}, tmp_path / "record.jsonl", limit=4)
    (tmp_path / "record.jsonl").write_text('{"kind":"samples","schema":1}\n')
    with pytest.raises(InputError, match="not a record of annotation"):
        session(tmp_path)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("[]", "not a step"),
        ('{"query":"q1","action":"eat"}', "not a step"),
        ('{"query":"zz","action":"keep"}', "no query 'zz'"),
        ('{"query":"q1","action":"keep","text":"other"}', "the candidate is 'we so'"),
    ],
)
def test_a_damaged_record_names_the_line(tmp_path: Path, line: str, what: str) -> None:
    session(tmp_path).__exit__()
    with (tmp_path / "record.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match=f"record.jsonl:2: .*{what}"):
        session(tmp_path)


def test_bad_options(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="attempts must be at least 0, got -1"):
        session(tmp_path, attempts=-1)
    with pytest.raises(InputError, match="limit must be at least 1, got 0"):
        session(tmp_path, limit=0)


def test_a_candidate_must_raise_the_prediction_if_asked(tmp_path: Path) -> None:
    request = Request(("do you want tea ?",), (Reference("tea"),), (Reference("we so", source="retrieved:1"),))
    with Session(MadePredictor(), {"q": request}, tmp_path / "record", must_rise=True) as session:
        with pytest.raises(InputError, match="does not rise with this candidate; edit or abandon it"):
            session.keep()
        session.edit("we sip")
        session.keep()
        assert [reference.text for reference in session.added()["q"]] == ["we sip"]
    refuse_without_rise({"before": None, "after": -0.5})  # the first reference
    with pytest.raises(InputError, match="does not rise"):
        refuse_without_rise({"before": 0.2, "after": 0.2})


def test_without_predictions_everything_may_be_kept_and_predictions_are_recorded(tmp_path: Path) -> None:
    request = Request(("do you want tea ?",), (Reference("tea"),), (Reference("we so", source="retrieved:1"),))
    options: dict[str, Any] = {"must_rise": True, "unassisted": True}
    with Session(MadePredictor(), {"q": request}, tmp_path / "record", **options) as session:
        session.keep()
        assert (session.steps[0].before, session.steps[0].after) == pytest.approx((0.1, 0.05))
    with pytest.raises(InputError, match="unassisted"):
        Session(MadePredictor(), {"q": request}, tmp_path / "record")
