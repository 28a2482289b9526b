"""Answers as records that every verb reads."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from interloq import load
from interloq.data.pseudonyms import Pseudonyms
from interloq.data.records.jsonl import header
from interloq.errors import InputError
from interloq.records import OUTSIDER, Dialogue, Rating, Sample, Turn
from interloq.web.access import joining, people
from interloq.web.database import Database
from interloq.web.references.reference_steps import ReferenceDecision
from interloq.web.serve_options import ExportOptions
from interloq.web.studies import tasks
from interloq.web.studies.export import export_task
from interloq.web.studies.forget import withdraw_person
from interloq.web.studies.items import rate_items
from interloq.web.studies.questions import Question, StudyTask
from interloq.web.studies.tasks import Stored
from interloq.web.work import answers, assign
from tests.web.conftest import KEY, annotators, choice_task, likert_task, replies, stored_task
from tests.web.made_references import SAMPLES, add_references, decide, started

NAMES = Pseudonyms(KEY)
KEEP, NEXT, OWN = ReferenceDecision("keep"), ReferenceDecision("next"), ReferenceDecision("edit", text="a nice sip")


def answer_all(study: Database, stored: Stored, person: int) -> None:
    """Rate each reply by its number, and prefer the second one, in whatever order they are shown."""
    with study.writing() as connection:
        while (found := assign.next_item(connection, stored, person)) is not None:
            units = [found.shown["units"][place] for place in found.order]
            second = ["text" in one and one["text"].startswith("Reply 1") for one in units]
            if stored.settings.kind == "compare":
                choice = answers.CHOICES[second.index(True)] if any(second) else "tie"
                given: list[dict[str, Any]] = [{"aspect": "overall", "choice": choice, "reason": "nicer"}]
            else:
                given = [{"unit": i, "aspect": "overall", "value": 5 if best else 2} for i, best in enumerate(second)]
            answers.submit(connection, stored.settings, person, found.id, f"submission-{found.id}", given, "page")


def hashed(study: Database, *numbers: int) -> set[str]:
    with study.reading() as connection:
        return {NAMES(people.raters(connection)[number]) for number in numbers}


def exported(study: Database, stored: Stored, path: Path, *, alone: bool = False) -> list[object]:
    with study.reading() as connection:
        facts = export_task(connection, stored, path, NAMES, ExportOptions(alone=alone))
    found = load(path, kind=facts["kind"])
    assert len(found) == facts["records"]
    if "new_ratings" in facts:
        ratings = facts["new_ratings"] + facts["earlier_ratings"]
        assert sum(len(record.ratings) for record in found if isinstance(record, Sample | Dialogue)) == ratings
    return found


def test_ratings_arrive_at_the_rated_replies(study: Database, tmp_path: Path) -> None:
    stored = stored_task(study, likert_task(), replies(2))
    first, second = annotators(study, stored, 2)
    answer_all(study, stored, first)
    answer_all(study, stored, second)
    found = exported(study, stored, tmp_path / "rated.jsonl")
    assert [sample.key for sample in found if isinstance(sample, Sample)] == [one.key for one in replies(2)]
    for sample in found:
        assert isinstance(sample, Sample)
        earlier, *new = sample.ratings
        assert earlier.rater == "earlier"
        assert {rating.value for rating in new} == {5.0 if sample.system == "secret-owl" else 2.0}
        assert {rating.rater for rating in new} == hashed(study, first, second)
        assert {rating.role for rating in new} == {OUTSIDER}


def test_ratings_alone_name_the_reply(study: Database, tmp_path: Path) -> None:
    stored = stored_task(study, likert_task(), replies(1))
    answer_all(study, stored, *annotators(study, stored))
    found = exported(study, stored, tmp_path / "ratings.jsonl", alone=True)
    assert {(one.item, one.system, one.value) for one in found} == {  # type: ignore[attr-defined]
        ("secret-id-0", "secret-parrot", 2.0),
        ("secret-id-0", "secret-owl", 5.0),
    }


def test_a_rating_of_a_dialogue_names_a_system_only_if_there_is_one(study: Database, tmp_path: Path) -> None:
    turns = [Turn("hi", "a"), Turn("hello", "b")]
    dialogues = [Dialogue("both", turns, {"a": "x", "b": "y"}), Dialogue("one", turns, {"b": "y"})]
    stored = stored_task(study, likert_task(), dialogues)
    answer_all(study, stored, *annotators(study, stored, 1))
    found = exported(study, stored, tmp_path / "ratings.jsonl", alone=True)
    assert {(one.item, one.system) for one in found if isinstance(one, Rating)} == {("both", ""), ("one", "y")}


def test_a_long_table_is_read_again_and_contains_no_formula(study: Database, tmp_path: Path) -> None:
    stored = stored_task(study, StudyTask("rate", "r", (Question(reason=True),)), replies(1)[:1])
    (person,) = annotators(study, stored)
    with study.writing() as connection:
        found = assign.next_item(connection, stored, person)
        assert found is not None
        given = [{"aspect": "overall", "value": 4, "reason": 'Good\r=HYPERLINK("http://x")'}]
        answers.submit(connection, stored.settings, person, found.id, "submission", given, "page")
    (one,) = exported(study, stored, tmp_path / "ratings.csv")
    assert (one.item, one.system, one.value) == ("secret-id-0", "secret-parrot", 4.0)  # type: ignore[attr-defined]
    with (tmp_path / "ratings.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert [len(row) for row in rows] == [8, 8]
    assert rows[1][-1] == given[0]["reason"]


def test_preferences_name_the_winner(study: Database, tmp_path: Path) -> None:
    stored = stored_task(study, choice_task(), replies(2))
    (person,) = annotators(study, stored)
    answer_all(study, stored, person)
    for one in exported(study, stored, tmp_path / "preferences.jsonl"):
        assert (one.systems, one.winner) == (("secret-parrot", "secret-owl"), "secret-owl")  # type: ignore[attr-defined]
        assert ({one.rater}, one.reason) == (hashed(study, person), "nicer")  # type: ignore[attr-defined]


def test_ties_between_dialogues_name_the_occasion(study: Database, tmp_path: Path) -> None:
    dialogues = [Dialogue(f"d{name}", ["Hi"], {"x": name}, occasion="tea") for name in "ab"]
    stored = stored_task(study, choice_task(), dialogues)
    answer_all(study, stored, *annotators(study, stored))
    (one,) = exported(study, stored, tmp_path / "preferences.jsonl")
    assert (one.item, one.winner, one.ids) == ("tea", "", ("da", "db"))  # type: ignore[attr-defined]


def test_checks_and_withdrawn_answers_are_not_exported(study: Database, tmp_path: Path) -> None:
    records = replies(2)
    items = rate_items(records)
    checks = [one.__class__(one.answer_key, one.shown, one.hidden, {"overall": [5]}) for one in items[1:]]
    asked = StudyTask("rate", "checked", (Question(),), check_every=1)
    with study.writing() as connection:
        source = {"kind": "samples"}
        stored = tasks.get_task(connection, tasks.add_task(connection, asked, [items[0], *checks], source))
    stays, leaves = annotators(study, stored, 2)
    answer_all(study, stored, stays)
    answer_all(study, stored, leaves)
    with study.writing() as connection:
        withdraw_person(connection, leaves)
    found = exported(study, stored, tmp_path / "rated.jsonl")
    assert [len(one.ratings) for one in found if isinstance(one, Sample)] == [2, 2]
    assert "secret-id-1" not in (tmp_path / "rated.jsonl").read_text()


@pytest.mark.parametrize("settings", [likert_task(), choice_task()])
def test_the_file_names_no_person(study: Database, tmp_path: Path, settings: StudyTask) -> None:
    stored = stored_task(study, settings, replies(1))
    with study.writing() as connection:
        token = people.invite(connection, stored.id, parameter="PID")
        entry = joining.join(connection, token, {"PID": "ann@example.org"})
        found = people.visitor(connection, entry.secret if entry else "")
    assert found is not None
    answer_all(study, stored, found.person)
    exported(study, stored, tmp_path / "out.jsonl")
    assert "ann@example.org" not in (tmp_path / "out.jsonl").read_text()


def added_references(study: Database, stored: Stored, output: Path) -> list[list[tuple[str, str]]]:
    """References that were added to each sample."""
    with study.reading() as connection:
        assert export_task(connection, stored, output, NAMES) == {"kind": "samples", "records": 3}
    found = load(output)
    assert [one.key for one in found] == [one.key for one in SAMPLES]
    assert [one.references[:1] for one in found] == [one.references for one in SAMPLES]
    return [[(one.text, one.source) for one in sample.references[1:]] for sample in found]


def test_samples_are_written_as_in_the_terminal(
    study: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, _ = add_references(study, tmp_path, monkeypatch)
    assert added_references(study, stored, tmp_path / "out.jsonl") == [[], [], []]
    person, number = started(study, stored)
    decide(study, stored, person, number, KEEP, OWN, KEEP, NEXT)
    both = [("we so", "retrieved:secret-id-p1"), ("a nice sip", "human")]
    assert added_references(study, stored, tmp_path / "out.jsonl") == [both, [], both]
    found = header(tmp_path / "out.jsonl")
    assert found["dataset"] == "made"
    (facts,) = found["annotated"]
    assert facts["signature"]["name"] == "annotate"
    assert facts["signature"]["parts"]["model"] == "reliability-made"
    assert facts["counts"] == {"samples": 3, "queries": 2, "finished": 2, "steps": 4, "added": 2, "edited": 1}
    with study.reading() as connection:
        rater = NAMES(people.raters(connection)[person])
    assert facts["annotators"] == {rater: {"secret-id-0": ["we so", "a nice sip"]}}


def test_references_of_several_people_are_merged_and_deleted_with_a_person(
    study: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, _ = add_references(study, tmp_path, monkeypatch, per_item=2)
    one, first = started(study, stored)
    decide(study, stored, one, first, OWN, KEEP, KEEP, NEXT)
    two, second = started(study, stored)
    decide(study, stored, two, second, ReferenceDecision("edit", text="hot"), KEEP, OWN, KEEP)  # not finished yet
    found = added_references(study, stored, tmp_path / "out.jsonl")
    assert [text for text, _ in found[0]] == ["a nice sip", "milk cup leaf", "hot"]
    assert header(tmp_path / "out.jsonl")["annotated"][0]["counts"]["finished"] == 1
    with study.writing() as connection:
        withdraw_person(connection, one)
    found = added_references(study, stored, tmp_path / "out.jsonl")
    assert [text for text, _ in found[0]] == ["hot", "a nice sip"]


def test_there_are_no_ratings_to_export(study: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored, _ = add_references(study, tmp_path, monkeypatch)
    with study.reading() as connection:
        for output, alone in ((tmp_path / "x.csv", False), (tmp_path / "x.jsonl", True)):
            with pytest.raises(InputError, match="references"):
                export_task(connection, stored, output, NAMES, ExportOptions(alone=alone))
