"""Answers as records that every verb reads."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from interloq.data.records.jsonl import header, write
from interloq.errors import InputError
from interloq.records import INTERLOCUTOR, OUTSIDER, Dialogue, Sample, Turn
from interloq.web.access import people
from interloq.web.database import Database
from interloq.web.references.reference_steps import ReferenceDecision
from interloq.web.studies import tasks
from interloq.web.studies.forget import withdraw_person
from interloq.web.studies.items import rate_items
from interloq.web.studies.questions import Question, StudyTask
from interloq.web.studies.task_file import prepare_file, read_settings
from interloq.web.studies.tasks import Stored
from interloq.web.work import answers, assign
from tests.web.access.test_access import invite, visit
from tests.web.conftest import (
    NAMES,
    AddReferences,
    add_annotators,
    choice_task,
    export,
    likert_task,
    replies,
    store_task,
    submit,
    take_item,
)
from tests.web.made_references import SAMPLES

KEEP, NEXT, OWN = ReferenceDecision("keep"), ReferenceDecision("next"), ReferenceDecision("edit", text="a nice sip")


def answer_all(study: Database, stored: Stored, person: int) -> None:
    """Rate each reply by its number, and prefer the second one, in whatever order they are shown."""
    with study.writing() as connection:
        while (page := assign.next_item(connection, stored, person)) is not None:
            units = [page.shown["units"][place] for place in page.order]
            second = ["text" in unit and unit["text"].startswith("Reply 1") for unit in units]
            if stored.settings.kind == "compare":
                choice = answers.CHOICES[second.index(True)] if any(second) else "tie"
                given: list[dict[str, Any]] = [{"aspect": "overall", "choice": choice, "reason": "nicer"}]
            else:
                given = [{"unit": i, "aspect": "overall", "value": 5 if best else 2} for i, best in enumerate(second)]
            answers.submit(connection, stored.settings, person, page.id, f"submission-{page.id}", given, "page")


def hash_ids(study: Database, *numbers: int) -> set[str]:
    """Return the pseudonyms of people."""
    with study.reading() as connection:
        return {NAMES(people.raters(connection)[number]) for number in numbers}


def test_ratings_arrive_at_the_rated_replies(study: Database, tmp_path: Path) -> None:
    stored = store_task(study, likert_task(), replies(2))
    first, second = add_annotators(study, stored, 2)
    answer_all(study, stored, first)
    answer_all(study, stored, second)
    samples = export(study, stored.id, tmp_path / "rated.jsonl")
    assert [sample.key for sample in samples] == [reply.key for reply in replies(2)]
    counts = {name: header(tmp_path / "rated.jsonl")[name] for name in ("new_ratings", "earlier_ratings")}
    assert counts == {"new_ratings": 8, "earlier_ratings": 4}
    for sample in samples:
        earlier, *new = sample.ratings
        assert earlier.rater == "earlier"
        assert {rating.value for rating in new} == {5.0 if sample.system == "secret-owl" else 2.0}
        assert {rating.rater for rating in new} == hash_ids(study, first, second)
        assert {rating.role for rating in new} == {OUTSIDER}


def test_ratings_alone_name_the_reply(study: Database, tmp_path: Path) -> None:
    stored = store_task(study, likert_task(), replies(1))
    answer_all(study, stored, *add_annotators(study, stored))
    ratings = export(study, stored.id, tmp_path / "ratings.jsonl", alone=True)
    assert {(rating.item, rating.system, rating.value) for rating in ratings} == {
        ("secret-id-0", "secret-parrot", 2.0),
        ("secret-id-0", "secret-owl", 5.0),
    }


def test_a_rating_of_a_dialogue_names_a_system_only_if_there_is_one(study: Database, tmp_path: Path) -> None:
    turns = [Turn("hi", "a"), Turn("hello", "b")]
    dialogues = [Dialogue("both", turns, {"a": "x", "b": "y"}), Dialogue("one", turns, {"b": "y"})]
    stored = store_task(study, likert_task(), dialogues)
    answer_all(study, stored, *add_annotators(study, stored, 1))
    ratings = export(study, stored.id, tmp_path / "ratings.jsonl", alone=True)
    assert {(rating.item, rating.system) for rating in ratings} == {("both", ""), ("one", "y")}


def test_a_long_table_is_read_again_and_contains_no_formula(study: Database, tmp_path: Path) -> None:
    stored = store_task(study, StudyTask("rate", "r", (Question(reason=True),)), replies(1)[:1])
    (person,) = add_annotators(study, stored)
    given = [{"aspect": "overall", "value": 4, "reason": 'Good\r=HYPERLINK("http://x")'}]
    submit(study, stored, person, take_item(study, stored, person).id, given)
    (rating,) = export(study, stored.id, tmp_path / "ratings.csv")
    assert (rating.item, rating.system, rating.value) == ("secret-id-0", "secret-parrot", 4.0)
    with (tmp_path / "ratings.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert [len(row) for row in rows] == [8, 8]
    assert rows[1][-1] == given[0]["reason"]


def test_preferences_name_the_winner(study: Database, tmp_path: Path) -> None:
    stored = store_task(study, choice_task(), replies(2))
    (person,) = add_annotators(study, stored)
    answer_all(study, stored, person)
    for preference in export(study, stored.id, tmp_path / "preferences.jsonl"):
        assert (preference.systems, preference.winner) == (("secret-parrot", "secret-owl"), "secret-owl")
        assert ({preference.rater}, preference.reason) == (hash_ids(study, person), "nicer")


def test_ties_between_dialogues_name_the_occasion(study: Database, tmp_path: Path) -> None:
    dialogues = [Dialogue(f"d{name}", ["Hi"], {"x": name}, occasion="tea") for name in "ab"]
    stored = store_task(study, choice_task(), dialogues)
    answer_all(study, stored, *add_annotators(study, stored))
    (preference,) = export(study, stored.id, tmp_path / "preferences.jsonl")
    assert (preference.item, preference.winner, preference.ids) == ("tea", "", ("da", "db"))


def test_checks_and_withdrawn_answers_are_not_exported(study: Database, tmp_path: Path) -> None:
    item, check = rate_items(replies(2))
    check = replace(check, correct={"overall": [5]})
    with study.writing() as connection:
        number = tasks.add_task(connection, likert_task(check_every=1), [item, check], {"kind": "samples"})
        stored = tasks.get_task(connection, number)
    stays, leaves = add_annotators(study, stored, 2)
    answer_all(study, stored, stays)
    answer_all(study, stored, leaves)
    with study.writing() as connection:
        withdraw_person(connection, leaves)
    assert [len(sample.ratings) for sample in export(study, stored.id, tmp_path / "rated.jsonl")] == [2, 2]
    assert "secret-id-1" not in (tmp_path / "rated.jsonl").read_text()


@pytest.mark.parametrize("settings", [likert_task(), choice_task()])
def test_the_file_names_no_person(study: Database, tmp_path: Path, settings: StudyTask) -> None:
    stored = store_task(study, settings, replies(1))
    ann = visit(study, invite(study, stored.id, parameter="PID"), PID="ann@example.org")
    assert ann is not None
    answer_all(study, stored, ann.person)
    export(study, stored.id, tmp_path / "out.jsonl")
    assert "ann@example.org" not in (tmp_path / "out.jsonl").read_text()


def export_added_references(study: Database, stored: Stored, output: Path) -> list[list[tuple[str, str]]]:
    """Return the references that were added to each sample."""
    samples = export(study, stored.id, output)
    assert [sample.key for sample in samples] == [sample.key for sample in SAMPLES]
    assert [sample.references[:1] for sample in samples] == [sample.references for sample in SAMPLES]
    return [[(reference.text, reference.source) for reference in sample.references[1:]] for sample in samples]


def test_samples_are_written_as_in_the_terminal(study: Database, tmp_path: Path, add_references: AddReferences) -> None:
    task, output = add_references(study), tmp_path / "out.jsonl"
    assert export_added_references(study, task.stored, output) == [[], [], []]
    person, number = task.start()
    task.decide(person, number, KEEP, OWN, KEEP, NEXT)
    both = [("we so", "retrieved:secret-id-p1"), ("a nice sip", "human")]
    assert export_added_references(study, task.stored, output) == [both, [], both]
    assert header(output)["dataset"] == "made"
    (facts,) = header(output)["annotated"]
    assert facts["signature"]["name"] == "annotate"
    assert facts["signature"]["parts"]["model"] == "reliability-made"
    assert facts["counts"] == {"samples": 3, "queries": 2, "finished": 2, "steps": 4, "added": 2, "edited": 1}
    (rater,) = hash_ids(study, person)
    assert facts["annotators"] == {rater: {"secret-id-0": ["we so", "a nice sip"]}}


def test_references_of_several_people_are_merged_and_deleted_with_a_person(
    study: Database, tmp_path: Path, add_references: AddReferences
) -> None:
    task, output = add_references(study, per_item=2), tmp_path / "out.jsonl"
    one, first = task.start()
    task.decide(one, first, OWN, KEEP, KEEP, NEXT)
    two, second = task.start()
    task.decide(two, second, ReferenceDecision("edit", text="hot"), KEEP, OWN, KEEP)  # not finished yet
    added = export_added_references(study, task.stored, output)
    assert [text for text, _ in added[0]] == ["a nice sip", "milk cup leaf", "hot"]
    assert header(output)["annotated"][0]["counts"]["finished"] == 1
    with study.writing() as connection:
        withdraw_person(connection, one)
    added = export_added_references(study, task.stored, output)
    assert [text for text, _ in added[0]] == ["hot", "a nice sip"]


def test_there_are_no_ratings_to_export(study: Database, tmp_path: Path, add_references: AddReferences) -> None:
    task = add_references(study).stored.id
    for output, alone in ((tmp_path / "x.csv", False), (tmp_path / "x.jsonl", True)):
        with pytest.raises(InputError, match="references"):
            export(study, task, output, alone=alone)


def test_interlocutors_rate_replies_to_their_own_turns_and_no_others(study: Database, tmp_path: Path) -> None:
    records = [
        Sample(f"s-{name}", [Turn("Hi", name)], f"Hello from {system}", system=system)
        for name, system in product(("ann", "b&n"), "ab")
    ]
    write(tmp_path / "own.jsonl", records, kind="samples")
    options = {"interlocutor": True}
    prepared = prepare_file(tmp_path / "own.jsonl", read_settings(None, kind="rate", name="own", options=options))
    assert prepared.counts()["needs"] == {"people": 2, "pages": 1, "answers": 4}
    with study.writing() as connection:
        stored = tasks.get_task(connection, prepared.store(connection)["number"])
        links = people.invite_to_task(connection, stored.id, number=9, label="", parameter="", most_people=9)
    assert [link.partition("?")[2] for link in links] == ["user=ann", "user=b%26n"]
    (stranger,) = add_annotators(study, stored)
    visitor = visit(study, links[0].removeprefix("/join/").partition("?")[0], user="ann")
    assert visitor is not None
    for person, pages in ((stranger, 0), (visitor.person, 1)):
        with study.reading() as connection:
            assert tasks.number_of_pages(connection, stored.id, person) == pages
        answer_all(study, stored, person)
    rated = export(study, stored.id, tmp_path / "rated.jsonl")
    assert [len(sample.ratings) for sample in rated] == [1, 1, 0, 0]
    assert [(one.role, one.rater) for sample in rated for one in sample.ratings] == [(INTERLOCUTOR, "ann")] * 2
    for_all = export(study, stored.id, tmp_path / "ratings.jsonl", alone=True)
    table = export(study, stored.id, tmp_path / "ratings.csv")
    assert {(one.role, one.rater) for one in (*for_all, *table)} == {(INTERLOCUTOR, "ann")}
