"""Models behind the pages for references."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq.errors import InputError
from interloq.reliability.model import Reliability
from interloq.web.database import Database, open_database
from interloq.web.references.references_model import Predictors, check_models
from interloq.web.references.references_task import prepare_references
from interloq.web.studies.tasks import add_task
from tests.reliability.made_model import small_model
from tests.reliability.made_predictor import MadePredictor
from tests.web.made_references import SAMPLES, add_references, decide, references_task, started


def test_a_model_is_loaded_once_and_refused_if_it_is_another_one(
    study: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, predictor = add_references(study, tmp_path, monkeypatch)
    loaded: list[str] = []

    def load(folder: str, **_: Any) -> MadePredictor:
        loaded.append(folder)
        return predictor

    monkeypatch.setattr(Reliability, "load", load)
    predictors, work = Predictors(), decide(study, stored, *started(study, stored))
    offer = predictors.offer(stored, work)
    assert (offer.before.mean, offer.after.mean, offer.best) == pytest.approx((0.1, 0.05, 1))
    encoded = [len(texts) for texts in predictors._vectors.values()]
    assert predictors.attempt(stored, work, "milk pot").after.mean == pytest.approx(0.3)
    assert [len(texts) for texts in predictors._vectors.values()] == encoded  # what was typed is not kept
    assert loaded == [str(tmp_path / "model")]
    other = replace(stored, source={**stored.source, "model": "reliability-other"})
    with pytest.raises(InputError, match="was made with reliability-other"):
        predictors.offer(other, work)


def test_a_study_is_not_served_without_its_model(tmp_path: Path) -> None:
    model = small_model(tmp_path, epochs=1)
    task, items, facts = prepare_references(SAMPLES, references_task(tmp_path, options={"model": str(model)}))
    study = open_database(tmp_path / "study.db")
    with study.writing() as connection:
        add_task(connection, task, items, facts)
    check_models(study)
    model.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no model in the folder"):
        check_models(study)
    study.close()
