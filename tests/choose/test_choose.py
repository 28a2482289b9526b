"""Choosing a metric by its agreement with people."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from interloq import InputError, Rating, Sample, create
from interloq.agree.judgments import Judgments, collect
from interloq.choose.choice import Choice, paper
from interloq.choose.choose import Column, choose

N = 60
QUALITY = np.random.default_rng(0).normal(size=N)


def judgments(*, raters: int = 3, systems: int = 4) -> Judgments:
    rng = np.random.default_rng(1)
    samples = [
        Sample(
            f"{i:03d}",
            f"context {i // 2}",
            "reply",
            system=f"s{i % systems}",
            ratings=[Rating(float(quality + rng.normal(scale=0.5)), f"r{j}") for j in range(raters)],
        )
        for i, quality in enumerate(QUALITY)
    ]
    return collect(samples)


def columns() -> dict[str, Column]:
    rng = np.random.default_rng(2)
    good, other = (QUALITY + rng.normal(scale=scale, size=N) for scale in (0.4, 1.0))
    return {
        "chrf": Column(good, create("chrf")),
        "perplexity": Column(-other, create("length(tokenizer='char')"), sign=-1.0),
        "rouge_l": Column(rng.normal(size=N), create("rouge_l")),
        "length": Column(rng.normal(size=N), create("length"), is_baseline=True),
    }


@pytest.fixture(scope="module")
def choice() -> Choice:
    return choose(columns(), judgments(), n_bootstrap=200)


def test_candidates_are_sorted_by_agreement_and_the_best_is_chosen(choice: Choice) -> None:
    values = [row.agreement.value for row in choice.rows]
    assert values == sorted(values, reverse=True)
    assert choice.rows[0].name == choice.chosen
    assert {row.name: row.kind for row in choice.rows}["length"] == "baseline"
    assert len(choice.rows) == 6
    assert choice.best.by_system is not None


def test_lower_is_better_counts_the_right_way_round(choice: Choice) -> None:
    assert next(row for row in choice.rows if row.name == "perplexity").agreement.value > 0.2


def test_noise_is_told_from_the_best_and_similar_ones_are_not(choice: Choice) -> None:
    found = {row.name: row for row in choice.rows}
    assert not found["rouge_l"].as_good
    assert not found["length"].as_good
    assert found["rouge_l"].needed is None
    group = [row for row in choice.rows if row.as_good and row.p is not None]
    assert group
    assert all(row.needed is None or row.needed > 0 for row in group)


def test_margins_are_over_the_baseline_with_its_better_sign(choice: Choice) -> None:
    baseline = next(row for row in choice.rows if row.kind == "baseline")
    assert baseline.agreement.value >= 0
    assert baseline.over == {}
    margin = choice.best.over["length"]
    assert margin.value == pytest.approx(choice.best.agreement.value - baseline.agreement.value)
    assert margin.ci is not None
    assert margin.ci[0] < margin.value < margin.ci[1]


def test_the_ceiling_needs_two_judgments_of_a_sample(choice: Choice) -> None:
    assert choice.ceiling is not None
    assert choice.best.agreement.value < choice.ceiling.value < 1
    assert choose(columns(), judgments(raters=1), n_bootstrap=0, n_permutations=20).ceiling is None


def test_the_spec_of_a_blend_gives_its_scores() -> None:
    found = columns()
    rng = np.random.default_rng(5)
    for name in ("chrf", "rouge_l"):
        found[name] = replace(found[name], scores=QUALITY + rng.normal(size=N))
    choice = choose(found, judgments(), n_bootstrap=0, n_permutations=20)
    assert choice.best.kind == "blend"
    blend = create(choice.spec)
    assert [len(part) for part in (blend.weights, blend.means, blend.scales)] == [3, 3, 3]
    assert blend.weights[1] < 0 < blend.weights[0]  # lower is better for the second
    assert blend.means[0] == pytest.approx(found["chrf"].scores.mean(), rel=1e-5)
    assert blend.scales[0] == pytest.approx(found["chrf"].scores.std(), rel=1e-5)


def test_single_metrics_only_and_one_system_only() -> None:
    choice = choose(columns(), judgments(systems=1), blend=False, n_bootstrap=0, n_permutations=20)
    assert choice.spec == "chrf"
    assert [row.kind for row in choice.rows].count("blend") == 0
    assert choice.best.by_system is None


def test_metrics_that_cannot_be_compared_are_named() -> None:
    found = columns()
    found["rouge_l"] = replace(found["rouge_l"], scores=np.ones(N))
    found["chrf"] = replace(found["chrf"], scores=np.where(np.arange(N) % 2, np.nan, 1.0))
    some = found["perplexity"].scores.copy()
    some[:3] = np.nan
    found["perplexity"] = replace(found["perplexity"], scores=some)
    choice = choose(found, judgments(), n_bootstrap=0, n_permutations=20)
    assert choice.excluded == {"chrf": "it scored only 30 of 60", "rouge_l": "all its scores are equal"}
    assert choice.samples == N - 3
    assert "3 rated samples not used: not scored by all metrics" in choice.notes


def test_too_little_to_choose_by_and_wrong_options_are_refused() -> None:
    few = judgments()
    unscored = np.where(np.arange(N) < 50, np.nan, QUALITY)
    with pytest.raises(InputError, match="no metric to choose from: chrf: it scored only 10 of 60"):
        choose({"chrf": Column(unscored, create("chrf"))}, few)
    ten = collect([Sample(str(i), f"c{i}", "r", ratings=[float(i)]) for i in range(10)])
    with pytest.raises(InputError, match=r"10 rated items in 10 contexts .* at least 20"):
        choose({"chrf": Column(np.arange(10.0), create("chrf"))}, ten)
    with pytest.raises(InputError, match="n_bootstrap must not be negative, got -1"):
        choose(columns(), few, n_bootstrap=-1)


def test_it_is_the_same_in_any_order_of_columns(choice: Choice) -> None:
    turned = dict(reversed(columns().items()))
    again = choose(turned, judgments(), n_bootstrap=0, n_permutations=20)
    assert again.chosen == choice.chosen
    assert again.expected.value == pytest.approx(choice.expected.value)


def test_the_file_and_the_text_for_a_paper(choice: Choice) -> None:
    file = json.loads(json.dumps(choice.to_file()))
    assert file["kind"] == "metrics"
    assert file["metrics"] == [f"chosen={choice.spec}"]
    for part in (f"{N} samples in 30 contexts", choice.chosen, "nested cross-validation", "length", "reliability"):
        assert part in paper(choice)
