"""Figures beside a judge's scores, from sums of rows."""

from __future__ import annotations

import numpy as np
import pytest

from interloq import Rating, Sample
from interloq.metrics.llm_judge.judge_moments import COLUMNS, figures, format_figures, moments, rating_of
from interloq.metrics.metric import Array

RNG = np.random.default_rng(0)
RUNS = RNG.integers(1, 6, (30, 4)).astype(float)
SAMPLES = [
    Sample(str(i), (), "x" * int(RNG.integers(1, 90)), ratings=[Rating(float(RNG.integers(1, 6)))] * (i % 2))
    for i in range(30)
]


def total(some: slice = slice(None), runs: int = 4) -> Array:
    rows = [
        moments(np.log2(1 + len(s.response)), list(r[:runs]), rating_of(s, "overall"), 0.5)
        for s, r in zip(SAMPLES[some], RUNS[some], strict=True)
    ]
    return np.asarray(np.array(rows).reshape(-1, COLUMNS).sum(axis=0))


def test_figures_are_those_of_plain_formulas() -> None:
    found, means = figures(total()), RUNS.mean(axis=1)
    sizes = np.log2([1 + len(s.response) for s in SAMPLES])
    assert found["length_slope"] == pytest.approx(np.polyfit(sizes, means, 1)[0])
    noise = RUNS.var(axis=1, ddof=1).mean() / 4
    assert found["run_reliability"] == pytest.approx(1 - noise / means.var(ddof=1))
    rated = [i for i, s in enumerate(SAMPLES) if s.ratings]
    given = [s.ratings[0].value for s in SAMPLES if s.ratings]
    assert found["agreement"] == pytest.approx(np.corrcoef(means[rated], np.array(given, dtype=float))[0, 1])
    assert (found["rated"], found["choice_probability"]) == (15, 0.5)
    text = format_figures(found)
    assert f"{found['length_slope']:+.2f} points per doubling" in text
    assert "with the ratings of 15 replies" in text
    assert "possible answers have 0.50 of the probability" in text


def test_what_cannot_be_computed_is_missing() -> None:
    assert figures(np.zeros(COLUMNS)) == {}
    assert figures(total(slice(0, 2))).keys() == {"choice_probability"}
    assert "run_reliability" not in figures(total(runs=1))
    same = moments(2.0, [2.0, 2.0], 3.0)
    constant = figures(np.array(same) * 5)
    assert constant == {"choice_probability": 1.0}
    assert format_figures(constant) == (
        "slope on length unknown; run-to-run reliability unknown, it needs n above 1 and scores that differ; "
        "agreement with people unknown, it needs 3 replies whose ratings and scores differ"
    )
    assert "run-to-run" not in format_figures(constant, deterministic=True)


def test_ratings_of_other_aspects_do_not_count() -> None:
    sample = Sample("1", (), "abc", ratings=[Rating(3, aspect="natural"), Rating(None), Rating(4), Rating(5)])
    assert (rating_of(sample, "overall"), rating_of(sample, "natural"), rating_of(sample, "kind")) == (4.5, 3, None)
    assert moments(2.0, [2.0], None)[8:14] == [0] * 6
