"""Weighted sums of standardised metrics."""

from __future__ import annotations

import pytest

from interloq import Sample, SpecError, create, evaluate, spec
from interloq.metrics.combined.blend import Blend
from interloq.metrics.traits import traits
from tests.metrics.made_contracts import REAL, Contract

CONTRACTS = {
    "blend": Contract(
        REAL,
        variants=[
            "blend(metrics=(bleu(order=2),rouge_l(tokenizer='char')),weights=(1.5,0.5),means=(0.1,0.2),scales=(0.2,0.9))",
            "blend(metrics=(nist,chrf))",
        ],
        required="metrics=(chrf,rouge_l)",
        referenced=True,
    ),
}

SAMPLES = [
    Sample("1", "hi", "hello you there", ["hello there"]),
    Sample("2", "hi", "no", ["hello there"]),
    Sample("3", "hi", "no references"),
]


def test_the_score_is_a_weighted_sum_of_standardised_scores() -> None:
    blend = "blend(metrics=(chrf,length),weights=(2.0,-0.5),means=(0.1,3.0),scales=(0.2,4.0))"
    found, chrf, length = (evaluate(m, SAMPLES, n_bootstrap=0).by_sample for m in (blend, "chrf", "length"))
    for key in (("1", ""), ("2", "")):
        assert found[key] == pytest.approx(2 * (chrf[key] - 0.1) / 0.2 - 0.5 * (length[key] - 3) / 4)


def test_without_numbers_it_is_the_mean_of_the_scores() -> None:
    result = evaluate("blend(metrics=(chrf,rouge_l))", SAMPLES[:2], n_bootstrap=0)
    parts = [evaluate(metric, SAMPLES[:2], n_bootstrap=0).by_sample for metric in ("chrf", "rouge_l")]
    assert result.value == pytest.approx(sum(sum(part.values()) for part in parts) / 4)
    assert result.value == pytest.approx(sum(result.details.values()))
    assert set(result.details) == {"chrf", "rouge_l"}


def test_a_sample_that_one_metric_cannot_score_is_unscored() -> None:
    result = evaluate("blend(metrics=(length,chrf))", SAMPLES, n_bootstrap=0)
    assert (result.n, result.unscored) == (2, 1)
    assert result.reasons == {("3", ""): "no references"}


def test_metrics_with_constants_of_their_own_are_fitted_to_the_samples() -> None:
    result = evaluate("blend(metrics=(nist,))", SAMPLES[:2], n_bootstrap=0)
    alone = evaluate("nist", SAMPLES[:2], n_bootstrap=0)
    assert dict(result.by_sample) == dict(alone.by_sample)
    assert alone.signature.parts["fitted"] in result.signature.parts["fitted"]


def test_metrics_may_be_specs_or_metrics_and_come_twice() -> None:
    blend = create("blend(metrics=(bleu(order=1),bleu(order=2)))")
    assert set(evaluate(blend, SAMPLES[:2], n_bootstrap=0).details) == {"bleu_1", "bleu_2"}
    blend = Blend(("chrf", create("length")))  # type: ignore[arg-type]
    assert blend == create("blend(metrics=('chrf',length))")
    assert spec(blend) == "blend(metrics=(chrf,length))"
    assert [part.name for part in traits(blend)] == ["chrf", "length"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blend", "write blend"),
        ("blend(metrics=())", "must be a tuple of metrics"),
        ("blend(metrics=chrf)", "must be a tuple of metrics"),
        ("blend(metrics=(distinct,))", "distinct scores sets"),
        ("blend(metrics=(chrf,),weights=(1,2))", "weights must be 1 numbers"),
        ("blend(metrics=(chrf,),means=('a',))", "means must be"),
        ("blend(metrics=(chrf,),scales=(0,))", "scales must be positive"),
        ("ruber(referenced=(chrf,),unreferenced=length)", "referenced must be a metric"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        create(text, kind="metric")
