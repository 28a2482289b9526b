"""Samples with the references that people added."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import load
from interloq.data.pseudonyms import Pseudonyms
from interloq.data.records.jsonl import header
from interloq.errors import InputError
from interloq.web.access import people
from interloq.web.database import Database
from interloq.web.exchange.export import export_task
from interloq.web.references.reference_steps import ReferenceDecision
from interloq.web.studies.tasks import Stored
from tests.web.conftest import KEY
from tests.web.made_references import SAMPLES, add_references, decide, started

NAMES = Pseudonyms(KEY)
KEEP, NEXT, OWN = ReferenceDecision("keep"), ReferenceDecision("next"), ReferenceDecision("edit", text="a nice sip")


def exported(study: Database, stored: Stored, output: Path) -> list[list[tuple[str, str]]]:
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
    assert exported(study, stored, tmp_path / "out.jsonl") == [[], [], []]
    person, number = started(study, stored)
    decide(study, stored, person, number, KEEP, OWN, KEEP, NEXT)
    both = [("we so", "retrieved:secret-id-p1"), ("a nice sip", "human")]
    assert exported(study, stored, tmp_path / "out.jsonl") == [both, [], both]
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
    found = exported(study, stored, tmp_path / "out.jsonl")
    assert [text for text, _ in found[0]] == ["a nice sip", "milk cup leaf", "hot"]
    assert header(tmp_path / "out.jsonl")["annotated"][0]["counts"]["finished"] == 1
    with study.writing() as connection:
        people.withdraw(connection, one)
    found = exported(study, stored, tmp_path / "out.jsonl")
    assert [text for text, _ in found[0]] == ["hot", "a nice sip"]


def test_there_are_no_ratings_to_export(study: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored, _ = add_references(study, tmp_path, monkeypatch)
    with study.reading() as connection:
        for output, alone in ((tmp_path / "x.csv", False), (tmp_path / "x.jsonl", True)):
            with pytest.raises(InputError, match="references"):
                export_task(connection, stored, output, NAMES, alone=alone)
