"""Coefficients of one's own: any function of two vectors, at every level, with intervals and permutation tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from scipy import stats

from interloq import InputError, Rating
from interloq.agree.agreement import meta_evaluate
from interloq.agree.table import By
from interloq.metrics.metric import Array
from interloq.records import INTERLOCUTOR
from interloq.statistics.coefficients import BUILT_IN, chosen
from tests.agree.test_agreement import follow, rated, scored


def plain_pearson(x: Array, y: Array) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def table(**options: Any) -> Any:
    users = [Rating(1.0, f"user {i % 4}", "another", INTERLOCUTOR) for i in range(len(rated()))]
    samples = [replace(s, ratings=(*s.ratings, user)) for s, user in zip(rated(), users, strict=True)]
    scores = scored(samples, a=follow(samples, 1.0, 1), b=follow(samples, 2.0, 2))
    return meta_evaluate(scores, samples, n_bootstrap=60, n_permutations=60, lower_is_better=False, **options)


@pytest.mark.parametrize("by", get_args(By))
def test_a_function_gives_what_the_built_in_coefficient_gives(by: By) -> None:
    found = table(by=by, coefficients={"pearson": "pearson", "mine": plain_pearson})
    for row in found.rows:
        built_in, own = row.with_mean["pearson"], row.with_mean["mine"]
        assert (own.value, own.n, *own.ci) == pytest.approx((built_in.value, built_in.n, *built_in.ci), abs=1e-9)
        assert row.with_annotators["mine"].mean == pytest.approx(row.with_annotators["pearson"].mean)
    for split in found.users:
        for part in (split.overall, split.between, split.within, split.averaged):
            assert part["mine"].value == pytest.approx(part["pearson"].value)
            assert part["mine"].ci == pytest.approx(part["pearson"].ci)
    tests = {c.coefficient: c for c in found.comparisons}
    assert tests["mine"].difference == pytest.approx(tests["pearson"].difference)
    assert tests["mine"].permutation_p == tests["pearson"].permutation_p
    assert found.human.split_half["mine"].value == pytest.approx(found.human.split_half["pearson"].value)


def test_results_of_scipy_will_do_and_only_what_was_asked_for_is_there() -> None:
    found = table(coefficients=["spearman", stats.somersd])
    for row in found.rows:
        assert list(row.with_mean) == ["spearman", "somersd"]
        assert -1 <= row.with_mean["somersd"].value <= 1
    assert {c.coefficient for c in found.comparisons} == {"spearman", "somersd"}
    assert found.signature.parts["coefficients"].startswith("spearman,somersd=scipy.stats")


def test_the_built_in_ones_leave_no_trace_in_the_signature() -> None:
    assert chosen(["pearson", "spearman", "kendall"]) == BUILT_IN
    assert "coefficients" not in table().signature.parts
    assert table(coefficients=BUILT_IN) == table()


def test_constant_scores_are_undefined_whatever_the_function() -> None:
    samples = rated()
    flat = meta_evaluate(scored(samples, m=np.ones(len(samples))), samples, coefficients={"mine": plain_pearson})
    assert np.isnan(flat.rows[0].with_mean["mine"].value)
    assert flat.rows[0].with_mean["mine"].note == "constant scores"


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [
        (["pearsn"], "unknown coefficient 'pearsn'; did you mean 'pearson'"),
        ([], "no coefficient is given"),
        ([plain_pearson, plain_pearson], "two coefficients are called 'plain_pearson'"),
        ({"mine": lambda _x, _y: "high"}, "must return a number, got 'high'"),
    ],
)
def test_what_is_not_a_coefficient_is_refused(coefficients: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        table(coefficients=coefficients)
