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
from interloq.web.studies.tasks import add_task, get_task
from tests.reliability.made_predictor import use
from tests.web.conftest import add_annotators, take_item

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
    """Return settings with candidates from a log in the folder."""
    write(folder / "pairs.jsonl", pairs, kind="pairs")
    options = {"model": str(folder / "model"), "log": [str(folder / "pairs.jsonl")], **settings.pop("options", {})}
    return StudyTask("references", "references", (), per_item=settings.pop("per_item", 1), options=options, **settings)


class ReferencesStudy:
    """A study with a task of kind references and its predictor."""

    def __init__(
        self, study: Database, folder: Path, monkeypatch: pytest.MonkeyPatch, samples: list[Sample], **settings: Any
    ) -> None:
        self.study, self.predictor = study, use(monkeypatch)
        task, items, facts = prepare_references(samples, references_task(folder, **settings))
        source = {"name": "test", "kind": "samples", "header": {"kind": "samples", "dataset": "made"}, **facts}
        with study.writing() as connection:
            self.stored = get_task(connection, add_task(connection, task, items, source))

    def start(self) -> tuple[int, int]:
        """Return a person, and their first item."""
        (person,) = add_annotators(self.study, self.stored)
        return person, take_item(self.study, self.stored, person).id

    def decide(self, person: int, number: int, *decisions: ReferenceDecision, **predicted: float) -> Work:
        """Take steps one after another."""
        with self.study.writing() as connection:
            own = (connection, self.stored.settings, person, number)
            work = get_work(*own)
            for decision in decisions:
                work = take_step(*own, len(work.steps), decision, predicted)
        return work
