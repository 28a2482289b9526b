# SPDX-License-Identifier: Apache-2.0
"""Deleting people, by id or pseudonym, with their conversations in other tasks of the study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select

from interloq.data.pseudonyms import Pseudonyms
from interloq.records import Dialogue, Reference, Sample, Turn
from interloq.servers.replies import Reply
from interloq.web.access import people
from interloq.web.chat.chat_export import send_to_outsiders
from interloq.web.database import Database
from interloq.web.schema import answer, item
from interloq.web.serve_options import ExportOptions, TaskFileOptions
from interloq.web.studies.export import export_task
from interloq.web.studies.forget import (
    DOWNLOAD,
    exports_of,
    find_copied_items,
    forget_rater,
    note_export,
    withdraw_person,
)
from interloq.web.studies.questions import StudyTask
from interloq.web.studies.task_file import prepare_file, read_settings
from interloq.web.studies.tasks import get_task, number_of_items
from tests.web.access.test_access import invite, visit
from tests.web.chat.test_chat_export import rate, talk
from tests.web.chat.test_conversations import start_chat
from tests.web.conftest import NAMES, add_annotators, export, finish_item, likert_task, replies, store_task, take_item


def test_people_are_forgotten_by_id_or_pseudonym(study: Database) -> None:
    stored = store_task(study, likert_task(), replies(1))
    token = invite(study, stored.id, parameter="PID")
    for name in ("ann", "bob"):
        visit(study, token, PID=name)
    add_annotators(study, stored)
    with study.writing() as connection:
        assert forget_rater(connection, "ann", NAMES).people == 1
        assert forget_rater(connection, NAMES("bob"), NAMES).people == 1
        (left,) = people.raters(connection).values()
        assert forget_rater(connection, "carol", NAMES).people == 0
        assert forget_rater(connection, NAMES(left), NAMES).people == 1
        assert people.raters(connection) == {}


@pytest.mark.parametrize("withdraws", [False, True])
def test_conversations_disappear_from_the_tasks_of_outsiders(study: Database, tmp_path: Path, withdraws: bool) -> None:
    stored, leaving, _ = start_chat(study, per_item=9)
    (staying,) = add_annotators(study, stored)
    for person in (leaving, staying):  # both say the same
        rate(study, stored, person, talk(study, stored, person, Reply("one"), Reply("two")))
    with study.writing() as connection:
        outside = get_task(connection, send_to_outsiders(connection, stored, NAMES))
        files = [tmp_path / "talks.jsonl", tmp_path / "replies.jsonl"]
        for path, singly in zip(files, (False, True), strict=True):
            export_task(connection, stored, path, Pseudonyms("another key"), ExportOptions(replies=singly))
            note_export(connection, stored.id, path)
            settings = read_settings(None, kind="rate", name=path.stem)
            prepare_file(path, settings, TaskFileOptions(alone=True)).store(connection)
    (outsider,) = add_annotators(study, outside)
    for _ in range(2):
        finish_item(study, outside, outsider, take_item(study, outside, outsider))
    with study.writing() as connection:
        name = NAMES(people.raters(connection)[leaving])
        if withdraws:
            withdraw_person(connection, leaving)
        else:
            found = forget_rater(connection, name, NAMES)
            assert (found.people, found.items) == (1, {"chat-outsiders": 1, "talks": 1, "replies": 2})
            assert [one.split(" (")[0] for one in found.exports] == [str(path) for path in files]
    with study.reading() as connection:
        assert number_of_items(connection, outside.id) == 1
        shown = connection.execute(select(item.c.hidden)).scalars().all()
        assert sum(len(one["units"]) for one in shown if one["kind"] != "chat") == 1 + 1 + 2
        assert name not in str(shown)
        rated = select(func.count()).select_from(answer).where(answer.c.submission.like("submission-%"))
        assert connection.execute(rated).scalar_one() == 1


def test_conversations_are_found_among_rated_references(study: Database, tmp_path: Path) -> None:
    stored, person, _ = start_chat(study)
    rate(study, stored, person, talk(study, stored, person, Reply("one")))
    (reply, *_) = export(study, stored.id, tmp_path / "replies.jsonl", replies=True)
    references = [Reference("two"), Reference("three", source="retrieved:1")]
    settings = StudyTask("references-rating", "refs")
    store_task(study, settings, [replace(reply, references=references), Sample("x", ["Hi"], "y", ["z"])])
    with study.reading() as connection:
        assert {name: len(items) for name, items in find_copied_items(connection, person).items()} == {"refs": 1}


def test_the_same_id_with_other_texts_is_not_a_copy(study: Database) -> None:
    stored, person, _ = start_chat(study)
    number = talk(study, stored, person, Reply("one"))
    turns = {"same": ["line 0", "one"], "other": ["line 0", "two"], "longer": ["line 0", "one", "more"]}
    for name, texts in turns.items():
        spoken = [Turn(text, ("p", "owl")[i % 2]) for i, text in enumerate(texts)]
        store_task(study, likert_task(name), [Dialogue(f"chat/{number}", spoken, {"owl": "owl"})])
    with study.reading() as connection:
        assert list(find_copied_items(connection, person)) == ["same"]
        assert find_copied_items(connection, person + 1) == {}


def test_exports_are_remembered_once_per_file(study: Database, tmp_path: Path) -> None:
    stored, _, _ = start_chat(study)
    with study.writing() as connection:
        for output in (tmp_path / "a.jsonl", None, tmp_path / "a.jsonl"):
            note_export(connection, stored.id, output)
        found = [one.split(" (")[0] for one in exports_of(connection, ["chat"])]
        assert found == [DOWNLOAD, str(tmp_path / "a.jsonl")]
        assert list(exports_of(connection, ["another"])) == []
