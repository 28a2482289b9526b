"""Agreement by system."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from interloq import InputError, Rating, Sample
from interloq.agree.by_system import Systems
from interloq.agree.judgments import collect
from interloq.agree.levels import level
from interloq.statistics.significance import swaps
from tests.made_grid import TESTS, drawn, grid


def test_systems_are_compared_by_their_means() -> None:
    judgments, scores = grid()
    found = level("system", judgments).estimates(scores, judgments.mean())
    means = scores.reshape(12, 5).mean(axis=0), judgments.mean().reshape(12, 5).mean(axis=0)
    for name, test in TESTS.items():
        assert found[name].value == pytest.approx(test(*means).statistic)
        assert found[name].n == 5
        if name != "spearman":  # its p-value is exact for so few points
            assert found[name].p == pytest.approx(test(*means).pvalue)


def test_means_are_over_samples_with_score_and_judgment() -> None:
    judgments, scores = grid()
    scores[3::7] = np.nan
    kept = ~np.isnan(scores)
    means = [
        [column[(np.arange(60) % 5 == s) & kept].mean() for s in range(5)] for column in (scores, judgments.mean())
    ]
    found = level("system", judgments).estimates(scores, judgments.mean())
    assert found["pearson"].value == pytest.approx(stats.pearsonr(*means).statistic)


def test_equal_means_of_systems_tie() -> None:
    """Two systems with the same scores in another order have one mean, whatever rounding says."""
    values = [0.1, 0.7, 0.3, 0.2, 0.6, 0.9]
    assert sum(values) != sum(values[::-1])
    rows = {"a": values, "b": values[::-1], "c": [2 * v for v in values]}
    samples = [
        Sample(f"{s}{i}", f"{i}", "r", system=s, ratings=[Rating(float("abc".index(s)))])
        for s in rows
        for i in range(6)
    ]
    judgments = collect(samples)
    found = level("system", judgments).values(np.array([v for row in rows.values() for v in row]), judgments.mean())
    assert found["kendall"] == pytest.approx(stats.kendalltau([1, 1, 2], [0, 1, 2]).statistic)


def test_resamples_draw_contexts_where_systems_share_them() -> None:
    judgments, scores = grid()
    systems = level("system", judgments)
    assert isinstance(systems, Systems)
    assert systems.shared
    assert "contexts" in systems.notes()[0]
    found = systems.resample(scores, judgments.mean(), 40, 9)
    x, y = scores.reshape(12, 5), judgments.mean().reshape(12, 5)
    for b, counts in enumerate(drawn(12, 40, 9)):
        rows = np.repeat(np.arange(12), counts)
        means = np.round(x[rows].mean(axis=0), 10), np.round(y[rows].mean(axis=0), 10)
        for name, test in TESTS.items():
            assert found[name][b] == pytest.approx(test(*means).statistic, abs=1e-6)


def test_resamples_draw_within_systems_where_they_share_no_context() -> None:
    judgments, scores = grid(shared=False)
    systems = level("system", judgments)
    assert isinstance(systems, Systems)
    assert not systems.shared
    found = systems.resample(scores, judgments.mean(), 30, 4)
    x, y = scores.reshape(12, 5), judgments.mean().reshape(12, 5)
    counts = [drawn(12, 30, 4 + s) for s in range(5)]
    for b in range(30):
        rows = [np.repeat(np.arange(12), counts[s][b]) for s in range(5)]
        means = [[column[rows[s], s].mean() for s in range(5)] for column in (x, y)]
        assert found["pearson"][b] == pytest.approx(stats.pearsonr(*means).statistic)
    assert any((a != b).any() for a, b in pairwise(counts))


def test_a_system_that_no_drawn_context_has_leaves_no_value() -> None:
    samples = [
        Sample(f"{c}{s}", f"{c}", "r", system=s, ratings=[Rating(float(c + "abc".index(s)))])
        for c in range(4)
        for s in ("abc" if c == 0 else "ab")
    ]
    judgments = collect(samples)
    found = level("system", judgments).resample(np.arange(9.0), judgments.mean(), 200, 0)
    absent = drawn(4, 200, 0)[:, 0] == 0
    assert absent.any()
    assert np.isnan(found["kendall"][absent]).all()
    assert not np.isnan(found["kendall"][~absent]).all()


def test_exchanges_by_system_swap_samples_and_average_again() -> None:
    judgments, first = grid()
    second = np.round(np.random.default_rng(1).normal(size=60) + judgments.mean(), 1)
    y, z = judgments.mean(), [(x - x.mean()) / x.std() for x in (first, second)]
    found = level("system", judgments).exchange(first, second, y, 20, 2)
    people = y.reshape(12, 5).mean(axis=0)
    for b, swap in enumerate(np.concatenate(list(swaps(60, 20, 2))).astype(bool)):
        mixed = np.where(swap, z[1], z[0]), np.where(swap, z[0], z[1])
        means = [np.round(m.reshape(12, 5).mean(axis=0), 10) for m in mixed]
        for name, test in TESTS.items():
            expected = test(means[0], people).statistic - test(means[1], people).statistic
            assert found[name][b] == pytest.approx(expected, abs=1e-9)


def test_two_systems_are_named_uninformative() -> None:
    judgments, scores = grid(systems=2)
    found = level("system", judgments).estimates(scores, judgments.mean())["spearman"]
    assert (abs(found.value), found.p, found.note) == (1.0, None, "only two points: uninformative")


def test_one_system_is_too_few() -> None:
    with pytest.raises(InputError, match="at least two systems with rated samples, found only 'system 0'"):
        level("system", grid(systems=1)[0])
    with pytest.raises(InputError, match="found none"):
        level("system", collect([Sample("1", "c", "r", ratings=[1]), Sample("2", "c", "r", ratings=[2])]))


def test_samples_of_no_system_are_left_out_and_counted() -> None:
    judgments, scores = grid(contexts=4)
    stray = Sample("zz", "context 0", "r", ratings=[Rating(1.0)])
    samples = [
        Sample(id, f"{c}", "r", system=system, ratings=[Rating(float(mean))])
        for (id, _), c, system, mean in zip(
            judgments.keys, judgments.contexts, judgments.systems, judgments.mean(), strict=True
        )
    ]
    more = collect([*samples, stray])
    systems = level("system", more)
    assert systems.notes()[-1] == "rated samples without a system, excluded: 1"
    found = systems.values(np.append(scores, 1e6), more.mean())
    assert found == pytest.approx(level("system", judgments).values(scores, judgments.mean()))
