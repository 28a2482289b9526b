"""What the pooled model does for its callers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import InputError, Reference
from interloq.registry import create
from interloq.reliability import pooled as module
from interloq.reliability.augment import Request
from interloq.reliability.labels import NONE, RatedQuery
from interloq.reliability.pooled import Pooled
from interloq.reliability.pooled_fit import POOLED
from tests.reliability.made_pooled import METRIC, SETTINGS, WordReader, made_queries


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PairReader", WordReader)


@pytest.fixture
def queries() -> list[RatedQuery]:
    return made_queries()


def train(queries: Sequence[RatedQuery]) -> Pooled:
    return Pooled.train(queries, create(METRIC, kind="metric"), SETTINGS)


def test_training_reports_held_out_queries_and_what_is_used(queries: list[RatedQuery]) -> None:
    model = train(queries)
    facts = model.facts
    for name, ways in (("validation", 6), ("validation_with_replies", 7)):
        assert facts[name]["queries"] == len(queries)
        assert len(facts[name]["error"]) == ways
        assert set(facts[name]["against_all"]) == {"1", "3", "5"}
    replaced = [name for name, way in facts["uses"].items() if way != POOLED and not name.endswith("replies")]
    assert bool(model.warning()) == bool(replaced)
    assert facts["labels"]["queries"] == len(queries)
    model.facts["network"] = {"reason": "the network lost"}
    assert model.warning().startswith("the network lost")


def test_a_saved_model_predicts_the_same(queries: list[RatedQuery], tmp_path: Path) -> None:
    model = train(queries)
    assert not Pooled.is_saved(tmp_path / "model")
    model.facts["job"] = "kept"
    model.save(tmp_path / "model")
    loaded = Pooled.load(tmp_path / "model", metric=METRIC)
    assert Pooled.is_saved(tmp_path / "model")
    assert loaded.facts == model.facts
    assert loaded.signature() == model.signature()
    turns, references = [query.turns for query in queries[:3]], [query.references for query in queries[:3]]
    assert np.array_equal(loaded.predict(turns, references).mean, model.predict(turns, references).mean)
    with pytest.raises(InputError, match="predicts the reliability of bleu_star"):
        loaded.check_metric("bleu")
    (tmp_path / "model" / "pooled.json").write_text("{}")
    with pytest.raises(InputError, match="damaged"):
        Pooled.load(tmp_path / "model")


def test_predictions_do_not_depend_on_how_they_are_asked_for(queries: list[RatedQuery]) -> None:
    model, query = train(queries), queries[0]
    prediction = model.predict([query.turns, query.turns, (" ",)], [query.references, (), query.references])
    assert np.isnan(prediction.mean).tolist() == [False, True, True]
    assert prediction.low[0] <= prediction.mean[0] <= prediction.high[0]
    (effects,) = model.leave_one_out([query.turns], [query.references])
    assert effects.whole.mean == prediction.mean[0]
    without = model.predict([query.turns], [effects.references[1:]]).mean[0]
    assert effects.effect.mean[0] == pytest.approx(effects.whole.mean - without)
    vectors = model.project(model.encode([(query.turns, text) for text in query.references]))
    sets = np.array([[*range(len(query.references))], [NONE] * len(query.references)])
    assert model.make_projected().predict_sets(vectors, sets).mean == pytest.approx(
        [prediction.mean[0], np.nan], nan_ok=True
    )
    known = model.predict([query.turns], [query.references], replies=[query.replies])
    assert known.mean[0] != prediction.mean[0] or model.facts["uses"]["predict"] != POOLED


@pytest.mark.parametrize("with_replies", [False, True])
def test_references_are_chosen_up_to_a_limit_or_all_added(queries: list[RatedQuery], with_replies: bool) -> None:
    model, query = train(queries), queries[0]
    own, candidates = query.references[:1], query.references[1:]
    request = Request(query.turns, tuple(map(Reference, own)), tuple(map(Reference, candidates)))
    blank = Request((), (), tuple(map(Reference, candidates)))
    more: dict[str, Any] = {"replies": [query.replies, ()]} if with_replies else {}
    some, nothing = model.choose([request, blank], limit=3, **more)
    every, _ = model.choose([request, blank], **more)
    assert len(some.kept) == 2
    assert {reference.text for reference in every.kept} == set(candidates)
    assert some.trials[0].after == some.trials[1].before
    assert some.after == some.trials[-1].after
    assert nothing.kept == ()
    assert np.isnan(nothing.before)
    (alone,) = model.choose([request], limit=1)
    assert alone.kept == ()
    assert alone.before == alone.after


def test_too_few_queries_are_refused(queries: list[RatedQuery]) -> None:
    with pytest.raises(InputError, match="needs 10 labelled queries, got 5"):
        train(queries[:5])
