"""Agreement within contexts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from interloq import InputError, Rating, Sample
from interloq.agree.by_context import Contexts
from interloq.agree.judgments import collect
from interloq.agree.levels import level
from interloq.statistics.estimate import COEFFICIENTS
from interloq.statistics.significance import swaps
from tests.made_grid import TESTS, drawn, grid

Array = NDArray[np.float64]


def per_context(x: Array, y: Array, name: str) -> Array:
    found = []
    for a, b in zip(x, y, strict=True):
        both = ~np.isnan(a + b)
        if both.sum() < 3 or len(set(a[both])) < 2 or len(set(b[both])) < 2:
            found.append(math.nan)
        else:
            found.append(TESTS[name](a[both], b[both]).statistic)
    return np.array(found)


def test_contexts_are_averaged_with_a_t_test() -> None:
    judgments, scores = grid()
    scores[2] = np.nan  # four replies in the first context
    scores[[5, 6, 7]] = np.nan  # two in the second
    scores[10:15] = 0.3  # no order in the third
    found = level("sample", judgments).estimates(scores, judgments.mean())
    for name in COEFFICIENTS:
        expected = per_context(scores.reshape(12, 5), judgments.mean().reshape(12, 5), name)
        known = expected[~np.isnan(expected)]
        assert found[name].n == len(known) < 11
        assert found[name].value == pytest.approx(known.mean())
        assert found[name].p == pytest.approx(stats.ttest_1samp(known, 0).pvalue)
        assert "constant" in found[name].note


def test_resamples_draw_contexts() -> None:
    judgments, scores = grid()
    found = level("sample", judgments).resample(scores, judgments.mean(), 50, 3)
    for name in COEFFICIENTS:
        values = per_context(scores.reshape(12, 5), judgments.mean().reshape(12, 5), name)
        assert not np.isnan(values).any()
        expected = [np.repeat(values, counts).mean() for counts in drawn(12, 50, 3)]
        np.testing.assert_allclose(found[name], expected)


def test_exchanges_stay_within_the_context() -> None:
    judgments, first = grid(contexts=4)
    second = np.random.default_rng(5).permutation(first)
    first[0] = np.nan
    y = judgments.mean()
    found = level("sample", judgments).exchange(first, second, y, 25, 2)
    masks = np.concatenate(list(swaps(20, 25, 2))).astype(bool)
    for b, mask in enumerate(masks):
        differences: dict[str, list[float]] = {name: [] for name in COEFFICIENTS}
        for c in range(4):
            rows = [i for i in range(c * 5, c * 5 + 5) if not math.isnan(first[i])]
            swap, target = mask[rows], y[rows]
            scaled = [(x[rows] - x[rows].mean()) / x[rows].std() for x in (first, second)]
            ranks = [stats.rankdata(x[rows]) for x in (first, second)]
            for name in COEFFICIENTS:
                pair = scaled if name == "pearson" else ranks
                test: Any = stats.kendalltau if name == "kendall" else stats.pearsonr
                people = stats.rankdata(target) if name == "spearman" else target
                mixed = np.where(swap, pair[1], pair[0]), np.where(swap, pair[0], pair[1])
                differences[name].append(test(mixed[0], people).statistic - test(mixed[1], people).statistic)
        for name in COEFFICIENTS:
            assert found[name][b] == pytest.approx(np.mean(differences[name]), abs=1e-12)


def test_a_context_in_which_one_metric_is_constant_is_not_compared() -> None:
    judgments, first = grid(contexts=4)
    second = np.random.default_rng(5).permutation(first)
    second[:5] = 1.0
    contexts = level("sample", judgments)
    assert contexts.size(first, second, judgments.mean()) == 3
    assert contexts.points(first, second) is None
    rest = np.arange(20) >= 5
    part = [np.where(rest, x, np.nan) for x in (first, second, judgments.mean())]
    whole = contexts.exchange(first, second, judgments.mean(), 0, 0)
    for name, differences in contexts.exchange(part[0], part[1], part[2], 0, 0).items():
        np.testing.assert_allclose(whole[name], differences)


def test_too_few_replies_a_context() -> None:
    with pytest.raises(InputError, match="at least 3 rated replies, but no context has more than 2"):
        level("sample", grid(systems=2)[0])
    with pytest.raises(InputError, match="but no context has more than 1"):
        level("sample", collect([Sample(str(i), [], "r", ratings=[i]) for i in range(5)]))


def test_small_contexts_are_counted() -> None:
    judgments, _ = grid(contexts=2, systems=3)
    more = [Sample(f"x{i}", "another", "r", ratings=[Rating(1.0)]) for i in range(2)]
    samples = [
        Sample(id, f"{c}", "r", ratings=[Rating(float(m))])
        for (id, _), c, m in zip(judgments.keys, judgments.contexts, judgments.mean(), strict=True)
    ]
    contexts = level("sample", collect([*samples, *more]))
    assert isinstance(contexts, Contexts)
    assert contexts.notes() == ["contexts with at least 3 rated replies: 2; skipped, with fewer: 1"]
