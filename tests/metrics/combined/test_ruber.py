"""RUBER's blend against a literal calculation, and its unreferenced half as a metric."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import Sample, create, evaluate
from interloq.errors import InputError, SpecError
from interloq.metrics.combined.ruber import Ruber
from interloq.metrics.metric import Array
from tests.conftest import by_id
from tests.metrics.made_contracts import UNIT, Contract
from tests.metrics.made_given import Given, given_samples

CONTRACTS = {
    "ruber": Contract(
        UNIT,
        variants=[
            "ruber(referenced=nist,unreferenced=length(tokenizer='char'),blend='min')",
            "ruber(referenced=bleu,unreferenced=length,blend='max')",
        ],
        required="referenced=chrf,unreferenced=length",
        referenced=True,
    ),
}


def literal(scores: Sequence[tuple[float, float]], blend: str) -> list[float]:
    """The formula, one reply at a time."""
    sides = list(zip(*scores, strict=True))
    blended = []
    for pair in scores:
        normalised = []
        for score, side in zip(pair, sides, strict=True):
            low, high = min(side), max(side)
            normalised.append(0.5 if low == high else (score - low) / (high - low))
        a, b = normalised
        blended.append(
            {"min": min(a, b), "max": max(a, b), "arithmetic": (a + b) / 2, "geometric": (a * b) ** 0.5}[blend]
        )
    return blended


SCORES = st.lists(st.tuples(*[st.floats(-1e6, 1e6).map(lambda x: round(x, 3))] * 2), min_size=1, max_size=12)
BLENDS = st.sampled_from(["arithmetic", "geometric", "min", "max"])


@given(scores=SCORES, blend=BLENDS)
def test_the_blend_is_the_formula(scores: list[tuple[float, float]], blend: Any) -> None:
    result = evaluate(Ruber(Given(0), Given(1), blend), given_samples(*scores))
    assert list(result.by_sample.values()) == pytest.approx(literal(scores, blend), abs=1e-9)
    assert result.value == pytest.approx(np.mean(literal(scores, blend)), abs=1e-9)


def test_a_worked_example() -> None:
    """Normalised by hand: 0, .25, 1 and 1, .5, 0. The 2023 paper's formula would give 1, .75, 0 and 0, .5, 1."""
    samples = given_samples((2, 0.9), (3, 0.5), (6, 0.1))
    expected = {
        "arithmetic": [0.5, 0.375, 0.5],
        "geometric": [0, 0.125**0.5, 0],
        "min": [0, 0.25, 0],
        "max": [1, 0.5, 1],
    }
    for blend, values in expected.items():
        found = evaluate(Ruber(Given(0), Given(1), blend), samples)  # type: ignore[arg-type]
        assert list(found.by_sample.values()) == pytest.approx(values, abs=1e-12)


def test_what_a_part_cannot_score_is_unscored_and_moves_no_range() -> None:
    samples = given_samples((1, 1), (2, 3), ("n/a", 99), (-99, "n/a"), ("n/a", "n/a"))
    result = evaluate(Ruber(Given(0), Given(1)), samples)
    assert by_id(result.reasons) == {"002": "no score 0", "003": "no score 1", "004": "no score 0"}
    assert [by_id(result.by_sample)[id] for id in ("000", "001")] == [0, 1]
    assert result.unscored == 3
    assert all(math.isnan(result.by_sample[id]) for id in result.reasons)


def test_nothing_to_score() -> None:
    metric = Ruber(Given(0), Given(1))
    nothing = given_samples(("n/a", 1))
    assert evaluate(metric, nothing).n == 0
    with pytest.raises(InputError, match="fitted to samples that its parts cannot both score"):
        metric.fit(nothing).stats(given_samples((1, 1)))
    with pytest.raises(InputError, match="call fit"):
        metric.stats(given_samples((1, 1)))


def test_scores_outside_the_fitted_range_are_cut() -> None:
    fitted = Ruber(Given(0), Given(1)).fit(given_samples((0, 0), (10, 10)))
    rows = fitted.stats(given_samples((20, 5), (-5, 5), (4, 4)))
    assert rows.tolist() == [[0.75, 1, 1, 0.5], [0.25, 1, 0, 0.5], [0.4, 1, 0.4, 0.4]]  # score, 1, both parts


def test_no_sample_is_scored_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    stats = Given.stats

    def counted(self: Given, samples: Sequence[Sample]) -> Array:
        asked.extend(f"{self.place}:{sample.id}" for sample in samples)
        return stats(self, samples)

    monkeypatch.setattr(Given, "stats", counted)
    evaluate(Ruber(Given(0), Given(1)), given_samples((1, 2), (3, 4), (5, 6)))
    assert sorted(asked) == sorted(f"{place}:{i:03}" for place in (0, 1) for i in range(3))


def test_nested_metrics_are_fitted_and_signed(samples: list[Sample]) -> None:
    metric = create("ruber(referenced=nist(order=2),unreferenced=length)")
    result = evaluate(metric, samples)
    parts = [evaluate(part, samples) for part in ("nist(order=2)", "length")]
    scores = list(zip(*(part.by_sample.values() for part in parts), strict=True))
    assert list(result.by_sample.values()) == pytest.approx(literal(scores, "arithmetic"), abs=1e-12)
    signed = result.signature.parts
    assert parts[0].signature.parts["fitted"] in signed["fitted"]
    assert create("nist").tokenizer.signature() in signed["built-with"]
    for place in (0, 1):
        for bound in (min(s[place] for s in scores), max(s[place] for s in scores)):
            assert repr(bound) in signed["fitted"]
    other = [dataclasses.replace(samples[0], response="something else"), *samples[1:]]
    assert evaluate(metric, other).signature.parts["fitted"] != signed["fitted"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ruber", "referenced"),
        ("ruber(referenced=bleu)", "unreferenced"),
        ("ruber(referenced='13a',unreferenced=length)", "unknown metric '13a'"),
        ("ruber(referenced=0.5,unreferenced=length)", "must be a metric"),
        ("ruber(referenced=bleu,unreferenced=length,blend='mean')", "must be one of 'arithmetic'"),
    ],
)
def test_bad_specs_say_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        create(text)
