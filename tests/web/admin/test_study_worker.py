"""Figures and looks at rankings are computed in another process if a task is large."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from interloq.web.admin import study_worker
from interloq.web.admin.admin_routes import compute_figures
from interloq.web.admin.study_worker import StudyWorker
from interloq.web.chat.chat_task import NO_LIMIT
from interloq.web.database import Database
from interloq.web.studies.tasks import Stored, get_task
from tests.web.conftest import KEY, add_annotators, finish_item, likert_task, replies, store_task, take_item


def find_process(database: Database, number: int) -> tuple[int, int]:
    """Return the process that computes, and the task that it reads."""
    with database.reading() as connection:
        return os.getpid(), get_task(connection, number).id


@pytest.fixture
def rated(study: Database) -> Stored:
    stored = store_task(study, likert_task(per_item=1), replies(3))
    (person,) = add_annotators(study, stored)
    for _ in range(3):
        finish_item(study, stored, person, take_item(study, stored, person))
    return stored


@pytest.fixture
def worker(study: Database) -> Iterator[StudyWorker]:
    with closing(StudyWorker(study)) as made:
        yield made


def test_a_large_task_is_computed_elsewhere(
    worker: StudyWorker, rated: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert worker.compute(find_process, rated.id) == (os.getpid(), rated.id)
    here = worker.compute(compute_figures, rated.id, KEY, NO_LIMIT)
    monkeypatch.setattr(study_worker, "LARGE", 3)
    process, number = worker.compute(find_process, rated.id)
    assert (process != os.getpid(), number) == (True, rated.id)
    assert worker.compute(compute_figures, rated.id, KEY, NO_LIMIT) == here
    os.kill(process, signal.SIGKILL)
    again, number = worker.compute(find_process, rated.id)
    assert (again not in (process, os.getpid()), number) == (True, rated.id)


def test_items_completed_during_a_look_are_looked_at_once(
    worker: StudyWorker, rated: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def look(_: Any, number: int) -> None:
        looks.append(number)
        if len(looks) == 1:
            for _ in range(5):
                worker.stop_when_settled(number, 1)

    monkeypatch.setattr(study_worker, "close_if_settled", look)
    worker.stop_when_settled(rated.id, 1)
    assert looks == [rated.id] * 2
    worker.stop_when_settled(rated.id, 1)
    assert looks == [rated.id] * 3
    monkeypatch.setattr(study_worker, "close_if_settled", lambda *_: 1 / 0)
    for _ in range(2):  # a failure does not keep the next look from being made
        with pytest.raises(ZeroDivisionError):
            worker.stop_when_settled(rated.id, 1)
