from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from interloq import InputError, Rating, Sample, Score
from interloq.agree.agreement import meta_evaluate
from interloq.agree.table import By
from interloq.reliability.weak_references import metric_name
from interloq.statistics.estimate import COEFFICIENTS
from interloq.statistics.resampling import bootstrap_counts, percentile_interval
from interloq.statistics.significance import williams

Array = NDArray[np.float64]
TESTS: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def rated(contexts: int = 15, systems: int = 4, seed: int = 0) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [
        Sample(
            f"{c:02d}/{s}",
            f"context {c}",
            "reply",
            system=f"s{s}",
            ratings=[
                Rating(float(np.clip(s + 1 + rng.integers(-1, 2) + rng.integers(0, 2), 1, 5)), r)
                for r in ("a", "b", "c")
            ],
        )
        for c in range(contexts)
        for s in range(systems)
    ]


def follow(samples: list[Sample], noise: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.round(people(samples) + noise * rng.normal(size=len(samples)), 2)


def people(samples: list[Sample]) -> Array:
    return np.array([np.mean([r.value for r in s.ratings if r.value is not None]) for s in samples])


def scored(samples: list[Sample], **metrics: Array) -> list[Score]:
    return [
        Score(sample.id, name, None if math.isnan(value) else float(value))
        for name, column in metrics.items()
        for sample, value in zip(samples, column, strict=True)
    ]


def test_a_metric_that_counts_downwards_is_compared_with_its_sign_turned() -> None:
    samples = rated()
    people = {sample.id: np.mean([rating.value for rating in sample.ratings]) for sample in samples}
    names = {"perplexity(model='x')": -1.0, "good": 1.0, "bad": -1.0}
    noise = np.random.default_rng(0).normal(size=len(samples))
    scores = [
        Score(id, name, float(sign * (mean + 0.3 * extra)))
        for name, sign in names.items()
        for (id, mean), extra in zip(people.items(), noise, strict=True)
    ]
    table = meta_evaluate(scores, samples, n_bootstrap=0, n_permutations=200, lower_is_better=False)
    values = {row.metric: row.with_mean["pearson"].value for row in table.rows}
    assert values["perplexity(model='x')"] == pytest.approx(values["bad"]) == pytest.approx(-values["good"])
    found = {(c.first, c.second): c.difference for c in table.comparisons if c.coefficient == "pearson"}
    assert {pair: round(difference, 6) for pair, difference in found.items()} == {
        ("good", "bad"): round(2 * values["good"], 6),
        ("perplexity(model='x')", "bad"): round(2 * values["good"], 6),
        ("good", "perplexity(model='x')"): 0.0,
    }
    assert "perplexity(model='x'): lower is better, so comparisons invert the sign of its coefficients" in table.notes


def test_metrics_of_unknown_direction_are_correlated_but_not_compared() -> None:
    samples = rated()
    scores = scored(
        samples, bleu=follow(samples, 1.0, 1), chrf=follow(samples, 1.0, 2), toxicity=follow(samples, 1.0, 3)
    )
    table = meta_evaluate(scores, samples, n_bootstrap=0, n_permutations=20)
    assert {row.metric for row in table.rows} == {"bleu", "chrf", "toxicity"}
    assert {(c.first, c.second) for c in table.comparisons} <= {("bleu", "chrf"), ("chrf", "bleu")}
    assert any("toxicity" in note and "--lower-is-better" in note for note in table.notes)
    told = meta_evaluate(scores, samples, n_bootstrap=0, n_permutations=20, lower_is_better=True)
    assert [row.direction for row in told.rows] == ["higher", "higher", "lower"]
    assert len(told.comparisons) == 3 * len(table.comparisons)
    assert told.signature != table.signature


def test_many_metrics_can_be_told_apart() -> None:
    """With 1,000 exchanges for each of 66 pairs no adjusted p-value could be below .066."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=150)
    samples = [Sample(f"{i}", ["a"], "b", ratings=[Rating(float(q), "p")]) for i, q in enumerate(quality)]
    noise = {f"m{k}": 3.0 if k else 0.0 for k in range(12)}
    scores = [
        Score(f"{i}", name, float(q + level * rng.normal()))
        for name, level in noise.items()
        for i, q in enumerate(quality)
    ]
    table = meta_evaluate(scores, samples, n_bootstrap=0, lower_is_better=False)
    best = [c for c in table.comparisons if c.first == "m0" and c.coefficient == "pearson"]
    assert len(best) == 11
    assert all(c.permutation_p_adjusted is not None and c.permutation_p_adjusted < 0.05 for c in best)


def test_one_metric_against_the_mean_and_single_annotators() -> None:
    samples = rated()
    x, y = follow(samples, 1.0, 1), np.round(people(samples), 12)
    table = meta_evaluate(scored(samples, m=x), samples, n_bootstrap=300, seed=4)
    (row,) = table.rows
    assert (row.metric, row.unscored, table.comparisons) == ("m", 0, ())
    for name, test in TESTS.items():
        found = row.with_mean[name]
        assert found.value == pytest.approx(test(x, y).statistic)
        assert found.p == found.p_adjusted == pytest.approx(test(x, y).pvalue)
        resampled = [
            test(x[rows], y[rows]).statistic
            for block in bootstrap_counts(60, 300, 4)
            for rows in (np.repeat(np.arange(60), counts) for counts in block)
        ]
        assert found.ci == pytest.approx(percentile_interval(np.array(resampled)))
        single = [test(x, [s.ratings[i].value for s in samples]).statistic for i in range(3)]
        spread = row.with_annotators[name]
        assert (spread.max, spread.min, spread.mean) == pytest.approx((max(single), min(single), np.mean(single)))
        assert spread.annotators == 3
    assert table.human is not None
    assert table.human.pairwise["pearson"].annotators == 3


def test_three_systems_have_a_correlation_of_their_own() -> None:
    samples, x = rated(), follow(rated(), 1.0, 1)
    three = [replace(sample, system=f"bot{i % 3}") for i, sample in enumerate(samples)]
    table = meta_evaluate(scored(three, m=x), three, n_bootstrap=50)
    by_system = meta_evaluate(scored(three, m=x), three, n_bootstrap=50, by="system", system_score="mean")
    for name, estimate in table.rows[0].over_systems.items():
        assert estimate == replace(by_system.rows[0].with_mean[name], p_adjusted=None)
        assert estimate.n == 3
        assert estimate.value != table.rows[0].with_mean[name].value
    assert not by_system.rows[0].over_systems


def test_two_systems_say_nothing_about_order() -> None:
    two = [replace(sample, system=f"bot{i % 2}") for i, sample in enumerate(rated())]
    assert not meta_evaluate(scored(two, m=follow(rated(), 1.0, 1)), two, n_bootstrap=0).rows[0].over_systems


def test_families_are_one_test_a_metric_and_one_a_pair() -> None:
    samples = rated()
    columns = {f"m{i}": follow(samples, 2.0 + i, i) for i in range(3)}
    options: dict[str, Any] = {"n_bootstrap": 0, "lower_is_better": False}
    table = meta_evaluate(scored(samples, **columns), samples, n_permutations=99, **options)
    for name, test in TESTS.items():
        p_values = [test(x, np.round(people(samples), 12)).pvalue for x in columns.values()]
        order = np.argsort(p_values)
        found = [table.rows[i].with_mean[name].p_adjusted for i in order]
        assert found == pytest.approx(
            np.minimum(1, np.maximum.accumulate(np.array(p_values)[order] * [3, 2, 1])), rel=1e-9
        )
        pairs = [c for c in table.comparisons if c.coefficient == name]
        assert len(pairs) == 3
        plain = sorted(c.permutation_p for c in pairs if c.permutation_p is not None)
        better = sorted(c.permutation_p_adjusted for c in pairs if c.permutation_p_adjusted is not None)
        assert better == pytest.approx(np.minimum(1, np.maximum.accumulate(np.array(plain) * [3, 2, 1])))
    by_bh = meta_evaluate(scored(samples, **columns), samples, compare=False, adjust="bh", **options)
    p_values = [row.with_mean["pearson"].p for row in by_bh.rows]
    assert [row.with_mean["pearson"].p_adjusted for row in by_bh.rows] == pytest.approx(
        stats.false_discovery_control(p_values)
    )


def test_comparisons_name_the_higher_first() -> None:
    samples = rated()
    good, bad, y = follow(samples, 0.5, 1), follow(samples, 4.0, 2), people(samples)
    scores = scored(samples, a_bad=bad, z_good=good)
    table = meta_evaluate(scores, samples, n_bootstrap=0, n_permutations=199, lower_is_better=False)
    for comparison in table.comparisons:
        assert (comparison.first, comparison.second, comparison.n) == ("z_good", "a_bad", 60)
        test = TESTS[comparison.coefficient]
        assert comparison.difference == pytest.approx(test(good, y).statistic - test(bad, y).statistic, abs=1e-9)
        assert comparison.permutation_p is not None
        assert comparison.permutation_p <= 0.02
    by_name = {c.coefficient: c.williams_p for c in table.comparisons}
    for name in ("pearson", "spearman"):
        r = [TESTS[name](*pair).statistic for pair in ((good, y), (bad, y), (good, bad))]
        assert by_name[name] == pytest.approx(williams(r[0], r[1], r[2], 60))
    assert by_name["kendall"] is None


def test_comparisons_use_what_both_scored() -> None:
    samples = rated()
    first, second = follow(samples, 1.0, 1), follow(samples, 1.0, 2)
    first[:10], second[50:] = np.nan, np.nan
    scores = scored(samples, a=first, b=second)
    table = meta_evaluate(scores, samples, n_bootstrap=0, n_permutations=50, lower_is_better=False)
    assert [row.unscored for row in table.rows] == [10, 10]
    assert {row.with_mean["pearson"].n for row in table.rows} == {50}
    assert {c.n for c in table.comparisons} == {40}
    y = people(samples)[10:50]
    expected = abs(stats.pearsonr(first[10:50], y).statistic - stats.pearsonr(second[10:50], y).statistic)
    assert table.comparisons[0].difference == pytest.approx(expected)


@pytest.mark.parametrize("by", ["none", "system", "sample"])
def test_order_of_everything_changes_nothing(by: By) -> None:
    rng, samples = random.Random(1), rated(systems=4)
    scores = scored(samples, a=follow(samples, 1.0, 1), b=follow(samples, 2.0, 2))
    first = meta_evaluate(scores, samples, by=by, n_bootstrap=50, n_permutations=50)
    mixed = [replace(s, ratings=tuple(rng.sample(s.ratings, 3))) for s in rng.sample(samples, len(samples))]
    second = meta_evaluate(iter(rng.sample(scores, len(scores))), iter(mixed), by=by, n_bootstrap=50, n_permutations=50)
    assert first == second


@pytest.mark.parametrize("by", ["none", "system", "sample"])
def test_every_level_gives_a_whole_table(by: By) -> None:
    samples = rated()
    table = meta_evaluate(
        scored(samples, a=follow(samples, 1.0, 1), b=follow(samples, 2.0, 2)), samples, by=by, n_bootstrap=100
    )
    n = {"none": 60, "system": 4, "sample": 15}[by]
    for row in table.rows:
        for name in COEFFICIENTS:
            estimate = row.with_mean[name]
            assert estimate.ci is not None
            assert estimate.ci[0] - 1e-9 <= estimate.value <= estimate.ci[1] + 1e-9
            assert (estimate.n, row.with_annotators[name].annotators) == (n, 3)
    assert all(c.permutation_p is not None and c.n == n for c in table.comparisons)
    assert all((c.williams_p is None) == (by != "none") for c in table.comparisons if c.coefficient == "pearson")
    few = [estimate for row in table.rows for estimate in row.with_mean.values() if "4 systems" in estimate.note]
    assert len(few) == (2 * len(COEFFICIENTS) if by == "system" else 0)
    assert all(estimate.p is None and estimate.p_adjusted is None for estimate in few)
    assert table.human is not None
    assert table.human.split_half["spearman"].value > 0.3
    assert (table.by, table.aspect, table.counted.judgments) == (by, "overall", 180)


def test_constant_metric_has_a_reason_and_spoils_nothing() -> None:
    samples = rated()
    flat, good = np.full(60, 0.5), follow(samples, 1.0, 1)
    table = meta_evaluate(scored(samples, flat=flat, good=good), samples, n_bootstrap=50, n_permutations=50)
    row = table.rows[0]
    for estimate in row.with_mean.values():
        assert math.isnan(estimate.value)
        assert (estimate.note, estimate.ci, estimate.p_adjusted) == ("constant scores", None, None)
    assert row.with_annotators == {}
    alone = meta_evaluate(scored(samples, good=good), samples, n_bootstrap=50)
    assert table.rows[1] == alone.rows[0]  # a metric without a p-value is not part of the family
    for comparison in table.comparisons:
        assert math.isnan(comparison.difference)
        assert comparison.williams_p is comparison.permutation_p is comparison.permutation_p_adjusted is None


def test_unscored_unrated_and_stray_are_counted() -> None:
    samples = [*rated(), Sample("zz", "c", "r")]
    column = np.append(follow(samples[:-1], 1.0, 1), 3.0)
    column[0] = np.nan
    scores = [s for s in scored(samples, m=column) if s.id != samples[1].id]  # one has no line at all
    table = meta_evaluate([*scores, Score("ghost", "m", 1.0), Score("gone", "m", 1.0)], samples, n_bootstrap=0)
    assert (table.rows[0].unscored, table.rows[0].with_mean["pearson"].n) == (2, 58)
    assert (table.counted.samples, table.counted.rated, table.counted.unrated) == (61, 60, 1)
    assert "m: scores without a sample, not used: 2, for example 'ghost'" in table.notes


def test_partial_annotators_and_not_applicable() -> None:
    samples = rated()
    ratings = [
        (*s.ratings[:2], replace(s.ratings[2], value=None)) if i < 20 else s.ratings for i, s in enumerate(samples)
    ]
    samples = [replace_ratings(s, r) for s, r in zip(samples, ratings, strict=True)]
    x = follow(samples, 1.0, 1)
    table = meta_evaluate(scored(samples, m=x), samples, n_bootstrap=0)
    assert (table.counted.not_applicable, table.counted.partial_annotators) == (20, 1)
    assert any(note.startswith("1 of 3 annotators judged only some") for note in table.notes)
    single = np.array([[s.ratings[i].value or math.nan for s in samples] for i in range(3)])
    expected = [stats.pearsonr(x, single[0]).statistic, stats.pearsonr(x, single[1]).statistic]
    expected.append(stats.pearsonr(x[20:], single[2][20:]).statistic)
    assert table.rows[0].with_annotators["pearson"].mean == pytest.approx(np.mean(expected))


def replace_ratings(sample: Sample, ratings: tuple[Rating, ...]) -> Sample:
    return Sample(sample.id, sample.context, sample.response, system=sample.system, ratings=ratings)


def test_signature_tells_tables_apart() -> None:
    samples = rated()
    scores = scored(samples, m=follow(samples, 1.0, 1))
    base: dict[str, Any] = {"n_bootstrap": 20, "compare": False}
    changes: list[dict[str, Any]] = [{}, {"n_bootstrap": 21}, {"seed": 1}, {"by": "system"}, {"adjust": "bh"}]
    tables = [meta_evaluate(scores, samples, **base | change) for change in (*changes, {"compare": True})]
    tables += [meta_evaluate(scores[1:], samples, **base), meta_evaluate(scores, samples[1:], **base)]
    assert len({table.signature for table in tables}) == len(tables)
    assert tables[0].signature == meta_evaluate(scores, samples, **base).signature


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n_bootstrap": -1}, "n_bootstrap must not be negative, got -1"),
        ({"n_permutations": -5}, "n_permutations must not be negative"),
        ({"adjust": "bonferroni"}, "cannot adjust p-values by 'bonferroni'"),
        ({"by": "item"}, "cannot correlate by 'item'"),
    ],
)
def test_wrong_options_are_refused(option: dict[str, Any], message: str) -> None:
    samples = rated()
    with pytest.raises(InputError, match=message):
        meta_evaluate(scored(samples, m=follow(samples, 1.0, 1)), samples, **option)


def test_why_there_are_no_figures_of_annotators() -> None:
    unnamed = [replace_ratings(s, tuple(replace(r, rater="") for r in s.ratings)) for s in rated()]
    single = [replace_ratings(s, s.ratings[:1]) for s in rated()]
    for samples, reason in ((unnamed, "no rater id is on two samples"), (single, "no sample has two judgments")):
        table = meta_evaluate(scored(samples, m=follow(samples, 1.0, 1)), samples, n_bootstrap=0)
        assert any(note.startswith(reason) for note in table.notes)
        assert (table.human is None) == (samples is single)
        assert samples is single or (table.rows[0].with_annotators, table.counted.annotators) == ({}, 0)


def test_samples_with_weak_references_are_counted_and_predictions_are_not_correlated() -> None:
    samples = rated()
    scores = scored(samples, good=follow(samples, 0.2, 1))
    weak = [
        Score(s.id, metric_name("bleu_star"), i / 100, "", s.system, {"minimum": 0.1, "needed": 2})
        for i, s in enumerate(samples)
    ]
    plain, table = (meta_evaluate(given, samples, n_bootstrap=0) for given in (scores, [*scores, *weak]))
    assert table.rows == plain.rows
    assert table.signature == plain.signature
    (note,) = [note for note in table.notes if "too weak" in note]
    assert note.startswith(f"references too weak to trust bleu_star: 10 of {len(samples)} samples")
    assert "2 more references each would be enough" in note
