"""The likelihood of replies by a masked language model."""

from __future__ import annotations

import json
import math

import pytest

from interloq import create, evaluate, spec
from interloq.metrics.likelihood.mlm import Mlm
from interloq.models.mlm import BOUNDS, MaskedLikelihood
from tests.made_lm import tiny_bert
from tests.metrics.made_contracts import REAL, Contract
from tests.metrics.made_usl_h import REPLIES, USUAL, chat, scores

CONTRACTS = {
    "mlm": Contract(REAL, variants=["mlm(model='masked',mode='surprise')"], required="model='masked'"),
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tiny_bert(tmp_path_factory.mktemp("bert"), head="MaskedLM")
    (folder / BOUNDS).write_text(json.dumps(USUAL))
    return str(folder)


def test_both_modes_come_from_the_same_sums(bert: str) -> None:
    sums, counts = MaskedLikelihood.load(bert, device="cpu").scores(REPLIES)
    assert scores(Mlm(bert), chat()) == pytest.approx([s / n for s, n in zip(sums, counts, strict=True)], rel=1e-5)
    assert scores(Mlm(bert, mode="surprise"), chat()) == pytest.approx([-s for s in sums], rel=1e-5)
    assert (Mlm(bert).usual_scores(), Mlm(bert, mode="surprise").usual_scores()) == ((-8, -4), (10, 40))
    assert create(spec(Mlm("x", mode="surprise"))) == Mlm("x", mode="surprise")


def test_replies_that_cannot_be_guessed_have_a_reason(bert: str) -> None:
    for metric in (Mlm(bert), Mlm(bert, mode="surprise")):
        result = evaluate(metric, chat(["", " ", "ξψ", "day"]))
        assert list(result.reasons.values())[:3] == ["empty reply", "empty reply", "no known tokens"]
        assert [math.isnan(value) for value in result.by_sample.values()] == [True, True, True, False]
