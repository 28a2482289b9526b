"""Figures of references for administrators."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.data.pseudonyms import Pseudonyms
from interloq.web.admin.task_figures import Collected, figures
from interloq.web.database import Database
from interloq.web.messages import render
from interloq.web.references.reference_steps import ReferenceDecision
from interloq.web.references.references_figures import Outcome, outcomes, references_figures
from interloq.web.work import collected
from tests.web.conftest import KEY
from tests.web.made_references import SAMPLES, WALK, add_references, decide, started


def test_means_are_over_queries_with_predictions() -> None:
    found = [Outcome(2, 1, 0.1, 0.4), Outcome(0, 0, 0.2, 0.2), Outcome(1, 0, None, 0.3)]
    shown, section = render(references_figures(found, "made up"), "en")
    assert (shown["value"], shown["note"]) == ("0.300", "0.150 before")
    assert section["rows"] == [["3", "3", "1", "0.150", "0.300", "0.150"]]
    assert section["text"][0].startswith("Means over 2 finished queries with predictions.")
    assert section["text"][1] == "About the model: made up."
    assert references_figures([])[0]["value"] == "–"


def test_figures_follow_the_steps(study: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored, _ = add_references(study, tmp_path, monkeypatch, [*SAMPLES, WALK])
    person, number = started(study, stored)
    decide(study, stored, person, number, ReferenceDecision("edit", text="a sip"), before=0.1, after=0.2)
    decide(study, stored, person, number, ReferenceDecision("keep"), before=0.1, after=0.3)
    with study.reading() as connection:
        assert outcomes(connection, stored) == []
    decide(study, stored, person, number, ReferenceDecision("next"), before=0.3, after=0.9)
    with study.reading() as connection:
        found = outcomes(connection, stored)
        assert found == [Outcome(1, 1, 0.1, 0.3)]
        pages, clusters = collected.pages(connection, stored.id), collected.clusters(connection, stored.id)
        people = collected.people(connection, stored.id)
    shown = figures(Collected(stored, pages, clusters, people, 1, found), Pseudonyms(KEY))
    assert [one["value"] for one in shown["headlines"]] == ["1", "1", "0.300"]
    assert [one["id"] for one in shown["sections"]] == ["reliability", "people"]
