"""The likelihood of replies by a masked language model."""

from __future__ import annotations

import math

import pytest

from interloq import evaluate
from interloq.metrics.likelihood.mlm import Mlm
from interloq.models.mlm import MaskedLikelihood
from tests.metrics.made_contracts import REAL, Contract
from tests.metrics.made_given import scores
from tests.metrics.made_usl_h import REPLIES, chat

CONTRACTS = {
    "mlm": Contract(REAL, variants=["mlm(model='masked',mode='surprise')"], required="model='masked'"),
}


def test_both_modes_come_from_the_same_sums(masked: str) -> None:
    sums, counts = MaskedLikelihood.load(masked, device="cpu").scores(REPLIES)
    assert scores(Mlm(masked), chat()) == pytest.approx([s / n for s, n in zip(sums, counts, strict=True)], rel=1e-5)
    assert scores(Mlm(masked, mode="surprise"), chat()) == pytest.approx([-s for s in sums], rel=1e-5)
    assert (Mlm(masked).usual_scores(), Mlm(masked, mode="surprise").usual_scores()) == ((-8, -4), (10, 40))


def test_replies_that_cannot_be_guessed_have_a_reason(masked: str) -> None:
    for metric in (Mlm(masked), Mlm(masked, mode="surprise")):
        result = evaluate(metric, chat(["", " ", "ξψ", "day"]))
        assert list(result.reasons.values())[:3] == ["empty reply", "empty reply", "no known tokens"]
        assert [math.isnan(value) for value in result.by_sample.values()] == [True, True, True, False]
