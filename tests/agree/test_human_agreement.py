from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from interloq import Rating, Sample
from interloq.agree import human_agreement as agree
from interloq.agree.human_agreement import agreement, split_half, spread
from interloq.agree.judgments import Judgments, collect
from interloq.agree.levels import Samples
from interloq.statistics.estimate import COEFFICIENTS


def crowd(n: int = 60, raters: int = 4, seed: int = 0, *, named: bool = True, seen: float = 1.0) -> Judgments:
    """Raters who follow one truth with noise; each judges a share of the samples."""
    rng = np.random.default_rng(seed)
    samples = []
    for i in range(n):
        true = rng.integers(1, 6)
        ratings = [
            Rating(float(true + rng.integers(-1, 2)), f"r{j}" if named else "")
            for j in range(raters)
            if rng.random() < seen
        ]
        samples.append(Sample(f"{i:03d}", f"c{i}", "r", ratings=ratings))
    return collect(samples)


def test_pairwise_and_against_the_others_by_scipy() -> None:
    judgments = crowd()
    human = agreement(judgments, Samples(), n_bootstrap=0, seed=0)
    assert human is not None
    rows = np.array([judgments.of(i) for i in range(4)])
    pairs = [stats.kendalltau(rows[i], rows[j]).statistic for i, j in combinations(range(4), 2)]
    found = human.pairwise["kendall"]
    assert (found.max, found.min, found.mean) == pytest.approx((max(pairs), min(pairs), np.mean(pairs)))
    assert found.annotators == 6
    others = [stats.spearmanr(rows[i], np.round(np.delete(rows, i, 0).mean(0), 12)).statistic for i in range(4)]
    found = human.with_others["spearman"]
    assert (found.max, found.min, found.mean) == pytest.approx((max(others), min(others), np.mean(others)))
    assert found.annotators == 4


def test_pairs_use_the_samples_both_judged() -> None:
    judgments = crowd(n=80, seen=0.6, seed=3)
    human = agreement(judgments, Samples(), n_bootstrap=0, seed=0)
    assert human is not None
    expected = []
    for i, j in combinations(range(4), 2):
        a, b = judgments.of(i), judgments.of(j)
        both = ~np.isnan(a + b)
        assert 0 < both.sum() < 80
        expected.append(stats.pearsonr(a[both], b[both]).statistic)
    assert human.pairwise["pearson"].mean == pytest.approx(np.mean(expected))


def test_annotators_with_fewer_than_three_common_samples_are_no_pair() -> None:
    values: dict[str, list[float | None]] = {"a": [1, 2, 3, 4], "b": [2, 3, None, None], "c": [1, 3, 2, 4]}
    samples = [
        Sample(str(i), "c", "r", ratings=[Rating(given[i], rater) for rater, given in values.items()]) for i in range(4)
    ]
    human = agreement(collect(samples), Samples(), n_bootstrap=0, seed=0)
    assert human is not None
    assert human.pairwise["spearman"].annotators == 1
    assert human.pairwise["spearman"].max == pytest.approx(stats.spearmanr([1, 2, 3, 4], [1, 3, 2, 4]).statistic)


def test_unnamed_raters_have_halves_and_alpha_but_no_rows() -> None:
    human = agreement(crowd(named=False), Samples(), n_bootstrap=50, seed=0)
    assert human is not None
    assert (human.pairwise, human.with_others) == ({}, {})
    assert human.split_half["pearson"].value > 0.5
    assert human.alpha.value > 0.5
    assert human.alpha.ci is not None


def test_split_half_of_two_annotators_is_their_correlation() -> None:
    judgments = crowd(raters=2)
    first, second = judgments.of(0), judgments.of(1)
    found = split_half(judgments, Samples(), seed=3)
    assert found["pearson"].value == pytest.approx(stats.pearsonr(first, second).statistic)
    assert found["kendall"].value == pytest.approx(stats.kendalltau(first, second).statistic)
    assert found["spearman"].n == 60
    assert found["pearson"].ci is None
    r = found["pearson"].value
    assert found["pearson"].note == (
        f"mean of 100 random splits of annotators; reliability of all judgments (Spearman–Brown): {2 * r / (1 + r):.3f}"
    )


def test_people_are_split_where_everyone_judged_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agree, "SPLITS", 400)
    judgments = crowd(n=25, raters=4)
    rows = np.array([judgments.of(i) for i in range(4)])
    by_people = [
        stats.pearsonr(rows[list(pair)].mean(0), np.delete(rows, pair, 0).mean(0)).statistic
        for pair in combinations(range(4), 2)
    ]
    # 400 draws of the three ways to halve four people come close to their exact mean
    assert split_half(judgments, Samples(), seed=0)["pearson"].value == pytest.approx(np.mean(by_people), abs=0.01)


def test_halves_are_halves() -> None:
    judgments = crowd(n=30, raters=5, named=False, seen=0.8)
    total = np.bincount(judgments.sample, weights=judgments.value, minlength=30)
    sizes, seen = judgments.sizes(), set()
    for first, second in agree._halves(judgments, 0):
        lone = sizes < 2
        assert (np.isnan(first) | np.isnan(second))[lone].all()
        whole = first * (sizes // 2) + second * (sizes - sizes // 2)
        np.testing.assert_allclose(whole[~lone], total[~lone])
        seen.add(tuple(np.nan_to_num(first).tolist()))
    assert len(seen) == agree.SPLITS


def test_split_half_predicts_what_twice_the_people_would_give_and_follows_its_seed() -> None:
    """Spearman–Brown: from halves of two the agreement of two whole groups of four follows."""
    judgments, twins = crowd(n=400, raters=4, seed=1, named=False), crowd(n=400, raters=8, seed=1, named=False)
    half, whole = (split_half(j, Samples(), seed=0)["pearson"].value for j in (judgments, twins))
    assert 2 * half / (1 + half) == pytest.approx(whole, abs=0.03)
    judgments = crowd(named=False)
    first, again, other = (split_half(judgments, Samples(), seed=s)["kendall"].value for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_constant_halves_have_a_reason() -> None:
    samples = [Sample(str(i), "c", "r", ratings=[Rating(3.0), Rating(3.0)]) for i in range(5)]
    found = split_half(collect(samples), Samples(), seed=0)
    for name in COEFFICIENTS:
        assert math.isnan(found[name].value)
        assert found[name].note == "halves are constant or too small"


def test_spread_leaves_out_what_is_undefined() -> None:
    rows = [dict.fromkeys(COEFFICIENTS, v) for v in (0.2, math.nan, 0.6)]
    found = spread(rows)["pearson"]
    assert (found.max, found.min, found.annotators) == (0.6, 0.2, 2)
    assert found.mean == pytest.approx(0.4)
    assert spread([dict.fromkeys(COEFFICIENTS, math.nan)]) == {}
