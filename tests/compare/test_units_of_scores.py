"""Scores in other units give the same p-values, ties, ranks and verdicts; `rank` is tested with its module."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from interloq.agree.agreement import meta_evaluate
from interloq.choose.choose import Column, choose
from interloq.compare.compare import compare
from interloq.compare.comparison import Comparison
from interloq.compare.gate.gate import gate
from tests.agree.test_agreement import follow, rated, scored
from tests.choose.test_choose import columns, judgments
from tests.made_versions import version

FACTORS = [1e-14, 1e-11, 1e9]


def compared(factor: float, *, paired: bool, shift: float = 0.3) -> Comparison:
    rng = np.random.default_rng(0)
    old = np.round(rng.normal(size=40), 1)  # with ties
    new = old + shift + np.round(rng.normal(scale=0.5, size=40), 1)
    topics = ["food", "music"]
    first = version("old", old * factor, topics=topics)
    second = version("new", new * factor, topics=topics, prefix="" if paired else "n")
    return compare(first, second, slice_by=["topic"])


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("paired", [True, False])
def test_compare_and_gate_do_not_depend_on_units(factor: float, paired: bool) -> None:
    for shift in (-0.5, 0.0, 0.3):
        usual, scaled = (compared(f, paired=paired, shift=shift) for f in (1.0, factor))
        for one, other in zip(usual.changes, scaled.changes, strict=True):
            assert (one.slice, one.verdict, one.clusters) == (other.slice, other.verdict, other.clusters)
            assert (one.p, one.p_adjusted) == pytest.approx((other.p, other.p_adjusted), rel=1e-9)
            assert one.ci
            assert other.ci == pytest.approx(tuple(end * factor for end in one.ci), rel=1e-9)
        for margin in (0.1, 0.25, 1.0):
            assert gate(usual, margin).outcome == gate(scaled, margin * factor).outcome


@pytest.mark.parametrize("factor", FACTORS)
def test_a_difference_by_rounding_errors_is_none_in_any_unit(factor: float) -> None:
    old, new = np.full(30, 0.1 + 0.2) * factor, np.full(30, 0.3) * factor
    for change in compare(version("old", old), version("new", new)).changes:
        assert (change.p, change.verdict) == (1, "not shown")


@pytest.mark.parametrize("factor", [*FACTORS, 1e307, 1e-307])
@pytest.mark.parametrize("by", ["none", "system", "sample"])
def test_meta_does_not_depend_on_units(factor: float, by: str) -> None:
    samples = rated(systems=5)
    made = {"a": follow(samples, 1.0, 1), "b": follow(samples, 2.0, 2)}
    usual, scaled = (
        meta_evaluate(
            scored(samples, **{name: column * f for name, column in made.items()}),
            samples,
            by=by,  # type: ignore[arg-type]
            n_bootstrap=50,
            n_permutations=200,
        )
        for f in (1.0, factor)
    )
    for one, other in zip(usual.rows, scaled.rows, strict=True):
        for name, estimate in one.with_mean.items():
            assert other.with_mean[name].value == pytest.approx(estimate.value, abs=1e-9)
            assert other.with_mean[name].ci == pytest.approx(estimate.ci, abs=1e-9)
            assert other.with_mean[name].p == (estimate.p and pytest.approx(estimate.p, rel=1e-6))
    for first, second in zip(usual.comparisons, scaled.comparisons, strict=True):
        assert (first.first, first.second) == (second.first, second.second)
        assert second.permutation_p == pytest.approx(first.permutation_p)


@pytest.mark.parametrize("factor", FACTORS)
def test_choose_does_not_depend_on_units(factor: float) -> None:
    made: dict[str, Column] = columns()
    other = {name: replace(column, scores=column.scores * factor) for name, column in made.items()}
    usual, scaled = (choose(found, judgments(), n_bootstrap=50, n_permutations=200) for found in (made, other))
    assert usual.chosen == scaled.chosen
    for one, two in zip(usual.rows, scaled.rows, strict=True):
        assert one.name == two.name
        assert one.agreement.value == pytest.approx(two.agreement.value, abs=1e-9)
