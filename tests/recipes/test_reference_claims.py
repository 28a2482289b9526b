from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference_claims
from rated_sets import RatedSet
from scipy.stats import spearmanr

from interloq import Sample


@pytest.fixture(scope="module")
def human() -> Any:
    return np.random.default_rng(0).normal(size=120)


def judged(human: Any, first: Any, second: Any) -> Any:
    found, mean = verdicts({"a": human}, {"a": {"first": first, "second": second}})
    assert (found.set, mean.set) == ("a", "mean")
    np.testing.assert_array_equal([mean.difference, *mean.ci], [found.difference, *found.ci])
    return found


def made_set(human: Any, replies: int = 1) -> RatedSet:
    """A set with some replies to each context."""
    samples = [Sample(str(i), [f"context {i // replies:03}"], "reply") for i in range(len(human))]
    return RatedSet(samples, np.arange(len(human)), human)


def verdicts(human: dict[str, Any], scores: dict[str, Any]) -> Any:
    sets = {name: made_set(values) for name, values in human.items()}
    return reference_claims.verdicts(reference_claims.Claim("first > second", "first", "second"), sets, scores, 200)


def test_a_verdict_follows_the_interval_of_the_difference(human: Any) -> None:
    rng = np.random.default_rng(1)
    near, far = human + rng.normal(size=120) / 3, human + 9 * rng.normal(size=120)
    found = judged(human, near, far)
    assert found.text == "holds"
    assert found.ci[0] < found.difference < found.ci[1]
    assert found.difference == pytest.approx(spearmanr(near, human).statistic - spearmanr(far, human).statistic)
    turned = judged(human, far, near)
    assert turned.text == "does not hold"
    assert turned.ci == pytest.approx((-found.ci[1], -found.ci[0]))


def test_the_mean_of_several_sets_is_surer_than_each() -> None:
    rng = np.random.default_rng(4)
    human = {name: rng.normal(size=60) for name in "abcdefgh"}
    scores = {
        name: {"first": own + rng.normal(size=60), "second": own + 1.5 * rng.normal(size=60)}
        for name, own in human.items()
    }
    *each, mean = verdicts(human, scores)
    assert mean.difference == pytest.approx(np.mean([v.difference for v in each]))
    assert mean.ci[1] - mean.ci[0] < min(v.ci[1] - v.ci[0] for v in each)
    assert mean.text == "holds"
    assert "cannot be told here" in {v.text for v in each}


def test_equal_and_constant_rows_cannot_be_told_apart(human: Any) -> None:
    same = judged(human, human, 3 * human + 1)  # the same resamples: no spread at all
    assert (same.text, same.difference, same.ci) == ("cannot be told here", 0.0, (0.0, 0.0))
    constant = judged(human, human, np.zeros(120))
    assert constant.text == "cannot be told here"
    assert np.isnan([constant.difference, *constant.ci]).all()


def test_only_samples_that_both_rows_scored_are_compared(human: Any) -> None:
    rng = np.random.default_rng(2)
    first, second = human + rng.normal(size=120), human + rng.normal(size=120)
    missing = np.where(np.arange(120) < 30, np.nan, first)
    found = judged(human, missing, second)
    assert found == judged(human[30:], first[30:], second[30:])


def test_replies_to_one_context_are_resampled_together(human: Any) -> None:
    rng = np.random.default_rng(6)
    first, second = human + rng.normal(size=120), human + rng.normal(size=120)
    three = np.repeat(human, 3)
    scores = {"first": np.repeat(first, 3), "second": np.repeat(second, 3)}
    claim = reference_claims.Claim("first > second", "first", "second")
    by_context, _ = reference_claims.verdicts(claim, {"a": made_set(three, replies=3)}, {"a": scores}, 200)
    single = judged(human, first, second)
    assert by_context.contexts == 120
    assert by_context.difference == pytest.approx(single.difference)
    assert by_context.ci == pytest.approx(single.ci, abs=0.02)


def test_a_finding_has_the_verdict_and_the_contexts(human: Any) -> None:
    found = judged(human, human, np.random.default_rng(7).normal(size=120)).finding("000/73", "made", decides=True)
    assert (found.item, found.units, found.unit, found.verdict, found.decides) == (
        "000/73",
        120,
        "contexts",
        "holds",
        True,
    )
    assert found.way == "first > second: first − second"
    constant = judged(human, human, np.zeros(120)).finding("000/73", "made")
    assert (constant.value, constant.ci) == (None, None)


def made_sets(noise: dict[str, dict[Any, float]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sets on which each variant has the given noise."""
    rng = np.random.default_rng(3)
    sets = {name: made_set(rng.normal(size=80)) for name in noise}
    scores = {
        name: {
            f"m, {variant}": own.human + noise[name].get(variant, 5.0) * rng.normal(size=80)
            for variant in reference_claims.VARIANTS
        }
        for name, own in sets.items()
    }
    return sets, scores


def test_a_choice_never_sees_the_tested_set() -> None:
    one, two = reference_claims.Variant(5, False, False), reference_claims.Variant(8, True, False)
    sets, scores = made_sets({"a": {two: 0.1}, "b": {one: 0.5}, "c": {one: 0.5}})
    chosen = {choice.set: choice for choice in reference_claims.choices("m", sets, scores)}
    assert chosen["a"].variant == one
    assert chosen["a"].highest > 0.9 > chosen["a"].value
    other = sets | {"a": replace(sets["a"], human=-sets["a"].human)}
    assert reference_claims.choices("m", other, scores)[0].variant == one


def test_fields_that_every_choice_shares_are_agreed() -> None:
    def choice(*fields: Any) -> Any:
        return reference_claims.Choice("m", "a", reference_claims.Variant(*fields), 0.1, 0.1, 0.1)

    assert reference_claims.agreed([choice(5, True, False), choice(8, True, False)]) == {"weigh": True, "parrot": False}
    assert reference_claims.agreed([choice(5, True, False), choice(None, False, True)]) == {}


def test_labels_tell_all_variants_apart() -> None:
    assert len({str(variant) for variant in reference_claims.VARIANTS}) == len(reference_claims.VARIANTS) == 16
    assert str(reference_claims.PAPER) == "all weighted, parrot"
    assert str(reference_claims.FIVE) == "best 5"
