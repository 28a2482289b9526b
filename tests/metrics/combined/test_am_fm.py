"""Deep AM, Deep FM and their blend against literal calculations with transformers, on small models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import create, evaluate, spec
from interloq.errors import InputError
from interloq.metrics.combined.am_fm import AmFm
from interloq.metrics.contextual.deep_am import DeepAm
from interloq.metrics.likelihood.deep_fm import DeepFm
from tests.conftest import by_id
from tests.metrics.made_am_fm import chat
from tests.metrics.made_contracts import POSITIVE, Contract
from tests.metrics.made_given import Given, given_samples, scores

CONTRACTS = {
    "am_fm": Contract(
        POSITIVE,
        variants=["am_fm(am=deep_am(model='bert',mode='referenced'),fm=deep_fm(model='lm',mode='referenced'))"],
        required="am=deep_am(model='bert'),fm=deep_fm(model='lm')",
    ),
}


def quantile(values: Sequence[float], share: float) -> float:
    """Between the two scores around place share · (n − 1), in proportion."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def literal(pairs: Sequence[tuple[float, float]]) -> list[float]:
    columns = []
    for side in zip(*pairs, strict=True):
        c = quantile(side, 0.05)
        columns.append([(max(x, c) - c) / (abs(c) if c else 1) for x in side])
    return [(a + b) / 2 for a, b in zip(*columns, strict=True)]


NUMBERS = st.integers(-800, 800).map(lambda i: i / 8)


@given(pairs=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=45))
def test_the_blend_is_the_formula(pairs: list[tuple[float, float]]) -> None:
    found = scores(AmFm(Given(0), Given(1)), given_samples(*pairs))
    assert found == pytest.approx(literal(pairs), rel=1e-6, abs=1e-9)
    assert min(found) >= 0


def test_a_worked_example() -> None:
    """Of 21 scores the 5 % quantile is the second one, exactly: 2 of 1…21, and −20 of −21…−1."""
    pairs = [(i + 1, i - 21) for i in range(21)]
    found = scores(AmFm(Given(0), Given(1)), given_samples(*pairs))
    assert found[:2] == [0, 0], "the lowest score is lifted to the quantile"
    assert found[2] == pytest.approx((1 / 2 + 1 / 20) / 2)
    assert found[20] == pytest.approx((19 / 2 + 19 / 20) / 2)


def test_equal_scores_and_a_quantile_of_zero_are_defined() -> None:
    assert scores(AmFm(Given(0), Given(1)), given_samples((3, -2), (3, -2))) == [0, 0]
    assert scores(AmFm(Given(0), Given(1)), given_samples((0, 0))) == [0]
    mixed = given_samples(*[(0, -2)] * 10, (0.5, -2))
    assert scores(AmFm(Given(0), Given(1)), mixed) == pytest.approx([0.0] * 10 + [0.25]), "the score itself"


def test_what_one_part_cannot_score_is_left_out_of_the_quantiles() -> None:
    pairs: list[tuple[Any, Any]] = [(1, 5), (2, 6), (3, 7)]
    plain = evaluate(AmFm(Given(0), Given(1)), given_samples(*pairs))
    result = evaluate(AmFm(Given(0), Given(1)), given_samples(*pairs, ("n/a", -99), (-99, "n/a")))
    assert by_id(result.reasons) == {"003": "no score 0", "004": "no score 1"}
    assert result.value == plain.value
    assert result.signature.parts["fitted"] == plain.signature.parts["fitted"]


def test_new_samples_meet_the_old_quantiles() -> None:
    fitted = AmFm(Given(0), Given(1)).fit(given_samples((2, 4), (2, 4)))
    assert fitted.value(fitted.stats(given_samples((1, 8), (6, 0)))).tolist() == [(0 + 1) / 2, (2 + 0) / 2]
    assert fitted.fitted() == "am[2],fm[4]"
    with pytest.raises(InputError, match=r"call fit\(samples\), or use evaluate"):
        AmFm(Given(0), Given(1)).stats(given_samples((1, 2)))
    with pytest.raises(InputError, match="fitted to samples that its parts cannot both score"):
        AmFm(Given(0), Given(1)).fit(given_samples(("n/a", 1))).stats(given_samples((1, 2)))


def test_the_whole_of_am_fm(bert: Path, lm: Path) -> None:
    am, fm = DeepAm(str(bert)), DeepFm(str(lm))
    result = evaluate(spec(AmFm(am, fm)), chat(), n_bootstrap=20)
    pairs = list(zip(scores(am, chat()), scores(fm, chat()), strict=True))
    assert list(result.by_sample.values()) == pytest.approx(literal(pairs), rel=1e-4, abs=1e-4)
    assert result.signature.parts["built-with"].startswith("am[bert-")
    assert ",fm[gpt2-" in result.signature.parts["built-with"]


def test_parts_with_constants_of_their_own_are_fitted(bert: Path) -> None:
    result = evaluate(AmFm(DeepAm(str(bert), mode="referenced"), create("nist")), chat())
    alone = evaluate("nist", chat())
    assert alone.signature.parts["fitted"] in result.signature.parts["fitted"]
