"""valid, mlm and their hierarchy: formulas as literal loops, odd replies, parts that do not fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from interloq import InputError, Sample, create, evaluate
from interloq.errors import SpecError
from interloq.metrics.combined.usl_h import UslH
from interloq.metrics.likelihood.mlm import Mlm
from interloq.metrics.metric import Array, Metric, score_rows
from interloq.metrics.trained.relevance import Relevance, Valid
from tests.conftest import by_id
from tests.made_lm import tiny_bert
from tests.metrics.made_contracts import UNIT, Contract
from tests.metrics.made_given import scores
from tests.metrics.made_usl_h import REPLIES, chat

CONTRACTS = {
    "usl_h": Contract(
        UNIT,
        variants=["usl_h(valid=valid(model='form'),next=nsp(model='bert'),mlm=length,weights=(3,2,1),bounds=(0,20))"],
        required="valid=valid(model='form'),next=relevance(model='judge'),mlm=mlm(model='masked')",
    ),
}


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (3.0, 2.0, 0.5), (0.0, 0.0, 1.0)])
@pytest.mark.parametrize("bounds", [None, (-7.0, -6.0)])
def test_the_formula(
    masked: str, form: str, follows: str, weights: tuple[float, float, float], bounds: tuple[float, float] | None
) -> None:
    parts = Valid(form), Relevance(follows, turns=1), Mlm(masked)
    low, high = bounds or (-8.0, -4.0)
    wanted = []
    for u, s, raw in zip(*(scores(part, chat()) for part in parts), strict=True):
        said = min(1.0, max(0.0, (raw - low) / (high - low)))
        one, two, three = weights
        wanted.append((one * u + two * u * s + three * u * s * said) / (one + two + three))
    metric = UslH(*parts, weights=weights, bounds=bounds)
    assert scores(metric, chat()) == pytest.approx(wanted, abs=1e-6)
    assert evaluate(metric, chat()).value == pytest.approx(float(np.mean(wanted)), abs=1e-6)


def test_with_surprise_the_bounds_are_those_of_surprise(masked: str, form: str, follows: str) -> None:
    metric = UslH(Valid(form), Relevance(follows), Mlm(masked, mode="surprise"))
    signature = evaluate(metric, chat()).signature.parts["built-with"]
    assert "bounds[10.0..40.0]" in signature
    assert "valid[valid-" in signature
    assert "next[relevance-" in signature
    assert "mlm[bert-" in signature


def test_odd_samples(masked: str, form: str, follows: str) -> None:
    samples = [
        Sample("alone", (), "it was"),
        Sample("empty", ["how was it ?"], " "),
        Sample("nothing", (), ""),
        Sample("unknown", ["how was it ?"], "ξψ"),
        Sample("plain", ["how was it ?"], "day"),
    ]
    result = evaluate(UslH(Valid(form), Relevance(follows), Mlm(masked)), samples)
    reasons = {id: reason for id, reason in by_id(result.reasons).items() if reason}
    assert reasons == {"alone": "no context", "nothing": "no context", "unknown": "no known tokens"}
    assert by_id(result.by_sample)["empty"] == 0
    assert 0 < by_id(result.by_sample)["plain"] < 1


@dataclass(frozen=True)
class Always(Metric):
    """One score for every reply."""

    score: float = 1.0

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(np.full(len(samples), float(self.score)))


def test_what_is_not_understood_need_not_make_sense() -> None:
    def score(u: float, s: float, said: float) -> float:
        found: float = evaluate(UslH(Always(u), Always(s), Always(said), bounds=(0.0, 1.0)), chat(["day"])).value
        return found

    assert score(0, 1, 1) == 0
    assert score(1, 0, 1) == pytest.approx(1 / 3)
    assert score(1, 1, 0) == pytest.approx(2 / 3)
    assert score(1, 1, 5) == 1  # above the upper bound
    assert score(0.5, 0.5, 0.5) == pytest.approx((0.5 + 0.25 + 0.125) / 3)


def test_parts_that_do_not_fit() -> None:
    for part in (-0.1, 1.1, math.inf):
        with pytest.raises(InputError, match=r"usl_h multiplies scores from 0 to 1, but Always returned"):
            evaluate(UslH(Always(part), Always(), Always(), bounds=(0.0, 1.0)), chat())
    with pytest.raises(InputError, match=r"has no bounds for Always; give bounds=\(low,high\)"):
        evaluate(UslH(Always(), Always(), Always()), chat())


def test_an_encoder_without_bounds_is_refused(form: str, follows: str, tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path, head="MaskedLM")
    parts = Valid(form), Relevance(follows), Mlm(str(folder))
    with pytest.raises(InputError, match="no bounds for replies"):
        evaluate(UslH(*parts), chat())
    assert evaluate(UslH(*parts, bounds=(-9.0, -1.0)), chat()).n == len(REPLIES)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        *((f"weights={weights}", "three numbers") for weights in ("(1,2)", "(0,0,0)", "(1,1,-1)", "(1,1,'a')", "3")),
        *((f"bounds={bounds}", "two numbers") for bounds in ("(1,)", "(2,1)", "(1,1)", "(0,1e999)", "'a'")),
    ],
)
def test_wrong_fields_are_refused(fields: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        create(f"usl_h(valid=length,next=length,mlm=length,{fields})")
