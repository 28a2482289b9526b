"""Tasks of kind references, with a predictor that is made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interloq import Sample, write
from interloq.records import Pair
from interloq.web.database import Database
from interloq.web.references.reference_steps import ReferenceDecision, Work, get_work, take_step
from interloq.web.references.references_task import prepare_references
from interloq.web.studies.questions import StudyTask
from interloq.web.studies.tasks import Stored, add_task, get_task
from interloq.web.work import assign
from tests.reliability.made_predictor import MadePredictor, use
from tests.web.conftest import annotators

SAMPLES = [  # one query with something to decide
    Sample("secret-id-0", ["do you want tea ?"], "yes", ["tea"], "secret-owl"),
    Sample("secret-id-9", [" "], "no", ["pot"], "secret-owl"),
    Sample("secret-id-0", ["do you want tea ?"], "no", ["tea"], "secret-parrot"),
]
WALK = Sample("secret-id-1", ["do you like a walk ?"], "no", ["dog"], "secret-owl")
PAIRS = [
    Pair("secret-id-p1", "do you want some tea", "we so"),
    Pair("secret-id-p2", "you want tea", "milk cup leaf"),
    Pair("secret-id-p3", "do you like a walk", "bone"),
]


def references_task(folder: Path, pairs: list[Pair] = PAIRS, **settings: Any) -> StudyTask:
    """Settings with candidates from a log in the folder."""
    write(folder / "pairs.jsonl", pairs, kind="pairs")
    options = {"model": str(folder / "model"), "log": [str(folder / "pairs.jsonl")], **settings.pop("options", {})}
    return StudyTask("references", "references", (), per_item=settings.pop("per_item", 1), options=options, **settings)


def add_references(
    study: Database,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    samples: list[Sample] = SAMPLES,
    **settings: Any,
) -> tuple[Stored, MadePredictor]:
    """A task of kind references, and its predictor."""
    predictor = use(monkeypatch)
    task, items, facts = prepare_references(samples, references_task(folder, **settings))
    source = {"name": "test", "kind": "samples", "header": {"kind": "samples", "dataset": "made"}, **facts}
    with study.writing() as connection:
        return get_task(connection, add_task(connection, task, items, source)), predictor


def started(study: Database, stored: Stored) -> tuple[int, int]:
    """A person, and their first item."""
    (person,) = annotators(study, stored)
    with study.writing() as connection:
        found = assign.next_item(connection, stored, person)
    assert found is not None
    return person, found.id


def decide(
    study: Database, stored: Stored, person: int, number: int, *decisions: ReferenceDecision, **predicted: float
) -> Work:
    """Take steps one after another."""
    with study.writing() as connection:
        work = get_work(connection, stored.settings, person, number)
        for decision in decisions:
            own = (connection, stored.settings, person, number)
            work = take_step(*own, len(work.steps), decision, predicted)
    return work
