"""Decisions on candidates as they are stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.data.records.jsonl import header
from interloq.errors import InputError
from interloq.reliability.reliability_options import draw_group
from interloq.web.database import Database
from interloq.web.references.reference_steps import ELSEWHERE, ReferenceDecision, get_work, number_person, take_step
from interloq.web.studies.export import export_references
from interloq.web.work import answers, assign
from tests.web.conftest import NAMES, SECRETS, AddReferences, take_item
from tests.web.made_references import SAMPLES, WALK

KEEP, NEXT = ReferenceDecision("keep"), ReferenceDecision("next")
BEST = ReferenceDecision("choose", candidate=1)


def test_steps_change_the_state_and_are_stored_once(study: Database, add_references: AddReferences) -> None:
    task = add_references(study)
    person, number = task.start()
    work = task.decide(person, number)
    assert work.show()["references"] == [{"text": "tea", "added": False, "edited": False}]
    assert [one["text"] for one in work.show()["candidates"]][:2] == ["we so", "milk cup leaf"]
    task.decide(person, number, BEST, KEEP, before=0.1, after=0.4)
    with study.writing() as connection:
        own = (connection, task.stored.settings, person, number)
        edited = take_step(*own, 2, ReferenceDecision("edit", text=" a\0 nice sip "), {"before": 0.4, "after": 0.5})
        assert take_step(*own, 2, ReferenceDecision("edit", text="a nice sip"), {"before": 9}) == edited  # sent again
        assert take_step(*own, 0, BEST, {}) == edited
        for place, decision in ((2, KEEP), (0, ReferenceDecision("choose", candidate=0)), (9, KEEP)):
            with pytest.raises(InputError, match=ELSEWHERE):
                take_step(*own, place, decision, {})
        with pytest.raises(InputError, match="unchanged"):
            take_step(*own, 3, ReferenceDecision("edit", text="a nice sip"), {})
        with pytest.raises(InputError, match="at most 2,000 characters"):
            take_step(*own, 3, ReferenceDecision("edit", text="x" * 2_001), {})
    done = task.decide(person, number, KEEP)
    assert task.decide(person, number).steps == done.steps  # as after a restart
    shown = done.show()
    assert [one["text"] for one in shown["references"]][1:] == ["milk cup leaf", "a nice sip"]
    assert [(one["added"], one["edited"]) for one in shown["references"]] == [
        (False, False), (True, False), (True, True),
    ]  # fmt: skip
    assert (shown["place"], shown["attempts"], shown["room"], shown["finished"]) == (4, 3, 7, False)
    assert [(step.action, step.before) for step in done.steps] == [
        ("choose", 0.1), ("keep", 0.1), ("edit", 0.4), ("keep", None),
    ]  # fmt: skip
    assert not [secret for secret in SECRETS if secret in str(shown)]


def test_a_finished_query_is_finished_for_good(study: Database, add_references: AddReferences) -> None:
    task = add_references(study, [*SAMPLES, WALK], options={"limit": 2})
    stored = task.stored
    person, number = task.start()
    with study.writing() as connection:
        answers.save_draft(connection, person, number, 1, {"text": "half"})
    assert task.decide(person, number, KEEP).state.finished  # enough references
    with study.writing() as connection:
        assert answers.get_draft(connection, number) == (0, None)
        assert assign.count_finished(connection, stored.id, person) == 1
        with pytest.raises(InputError, match="this item is finished"):  # without its id
            take_step(connection, stored.settings, person, number, 1, NEXT, {})
    second = take_item(study, stored, person).id
    assert second != number
    assert task.decide(person, second, NEXT).state.finished
    with study.writing() as connection:
        assert assign.next_item(connection, stored, person) is None


def test_of_each_two_people_one_works_without_predictions(
    study: Database, add_references: AddReferences, tmp_path: Path
) -> None:
    task = add_references(study, [*SAMPLES, WALK], per_item=4, options={"predictions": "groups", "seed": 3})
    stored, shown = task.stored, []
    for place in range(4):
        person, number = task.start()
        with study.writing() as connection:
            number_person(connection, stored.settings, stored.id, person)
            number_person(connection, stored.settings, stored.id, person)  # as on every page
        work = task.decide(person, number, KEEP if place else NEXT)
        assert work.group == draw_group(place + 1, 3)
        shown.append(work.show()["assisted"])
    assert shown[0] != shown[1]
    assert shown[2] != shown[3]
    with study.reading() as connection:
        export_references(connection, stored, tmp_path / "out.jsonl", NAMES)
    groups = header(tmp_path / "out.jsonl")["annotated"][-1]["groups"]
    assert {group: len(people) for group, people in groups.items()} == {"assisted": 2, "unassisted": 2}
    queries = [queries for people in groups.values() for queries in people.values()]
    assert [len(own) for own in queries] == [1] * 4  # also of the person who added nothing
    assert {query for own in queries for query in own} <= {"secret-id-0", "secret-id-1"}


def test_an_item_that_was_left_goes_to_somebody_else(study: Database, add_references: AddReferences) -> None:
    task = add_references(study, minutes=0.01)
    stored = task.stored
    person, number = task.start()
    with study.writing() as connection:
        assign.return_abandoned(connection, stored, now=2e9)
    other, _ = task.start()
    task.decide(person, number, NEXT)  # too late to be alone, but it counts
    with study.writing() as connection:
        with pytest.raises(InputError, match="belongs to somebody else"):
            get_work(connection, stored.settings, other, number)
        assert assign.count_finished(connection, stored.id, person) == 1
