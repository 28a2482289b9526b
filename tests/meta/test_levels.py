from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from interloq import InputError, Rating, Sample
from interloq.meta.contexts import Contexts
from interloq.meta.judgments import Judgments, collect
from interloq.meta.levels import Samples, level
from interloq.meta.significance import swaps
from interloq.meta.systems import Systems
from interloq.meta.table import COEFFICIENTS
from interloq.metrics.evaluate import bootstrap_counts

Array = NDArray[np.float64]
TESTS: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def grid(contexts: int = 12, systems: int = 5, *, shared: bool = True, seed: int = 0) -> tuple[Judgments, Array]:
    """Every system replies once to every context; better systems have higher judgments and scores."""
    rng = np.random.default_rng(seed)
    samples, scores = [], []
    for c in range(contexts):
        for s in range(systems):
            quality = s * 0.5 + rng.normal()
            context = f"context {c}" if shared else f"context {c} of {s}"
            rating = Rating(float(np.clip(round(3 + quality), 1, 5)))
            samples.append(Sample(f"{c:02d}/{s}", context, "r", system=f"system {s}", ratings=[rating]))
            scores.append(round(quality + rng.normal(), 1))
    return collect(samples), np.array(scores)


def drawn(n: int, n_bootstrap: int, seed: int) -> NDArray[np.int64]:
    return np.concatenate(list(bootstrap_counts(n, n_bootstrap, seed)))


# ---- systems ---------------------------------------------------------------------------------------------------------


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
    found = systems.resampled(scores, judgments.mean(), 40, 9)
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
    found = systems.resampled(scores, judgments.mean(), 30, 4)
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
    found = level("system", judgments).resampled(np.arange(9.0), judgments.mean(), 200, 0)
    absent = drawn(4, 200, 0)[:, 0] == 0
    assert absent.any()
    assert np.isnan(found["kendall"][absent]).all()
    assert not np.isnan(found["kendall"][~absent]).all()


def test_exchanges_by_system_swap_samples_and_average_again() -> None:
    judgments, first = grid()
    second = np.round(np.random.default_rng(1).normal(size=60) + judgments.mean(), 1)
    y, z = judgments.mean(), [(x - x.mean()) / x.std() for x in (first, second)]
    found = level("system", judgments).exchanged(first, second, y, 20, 2)
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
    assert (abs(found.value), found.p, found.note) == (1.0, None, "two points only: uninformative")


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
    assert systems.notes()[-1] == "rated samples that name no system, left out: 1"
    found = systems.values(np.append(scores, 1e6), more.mean())
    assert found == pytest.approx(level("system", judgments).values(scores, judgments.mean()))


# ---- contexts --------------------------------------------------------------------------------------------------------


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
    found = level("sample", judgments).resampled(scores, judgments.mean(), 50, 3)
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
    found = level("sample", judgments).exchanged(first, second, y, 25, 2)
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
    whole = contexts.exchanged(first, second, judgments.mean(), 0, 0)
    for name, differences in contexts.exchanged(part[0], part[1], part[2], 0, 0).items():
        np.testing.assert_allclose(whole[name], differences)


def test_too_few_replies_a_context() -> None:
    with pytest.raises(InputError, match="at least 3 rated replies, the most for one context is 2"):
        level("sample", grid(systems=2)[0])
    with pytest.raises(InputError, match="the most for one context is 1"):
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
    assert contexts.notes() == ["contexts with at least 3 rated replies: 2; with fewer, left out: 1"]


def test_nothing_scored_is_nan_at_every_level() -> None:
    judgments, _ = grid()
    for by in ("none", "system", "sample"):
        found = level(by, judgments).estimates(np.full(60, np.nan), judgments.mean())
        assert all(math.isnan(e.value) and e.note for e in found.values())


def test_unknown_level() -> None:
    with pytest.raises(InputError, match="cannot correlate by 'item'"):
        level("item", grid()[0])  # type: ignore[arg-type]
    assert level("none", grid()[0]) == Samples()
