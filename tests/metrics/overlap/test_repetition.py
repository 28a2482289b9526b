"""Repetition: n-grams of the reply that were said before."""

from __future__ import annotations

import pytest

from interloq import Sample, SpecError, create, evaluate
from tests.conftest import by_id
from tests.metrics.made_contracts import UNIT, Contract

CONTRACTS = {"repetition": Contract(UNIT, variants=["repetition(n=1,scope='reply')"])}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # bigrams of the reply: i like / like dogs / dogs and / and i / i like / like dogs / dogs .
        ("repetition", 4 / 7),  # "i like" is in the context and again in the reply, "like dogs" and "dogs ." once
        ("repetition(scope='reply')", 2 / 7),
        ("repetition(n=1)", 7 / 8),  # all but "and"
        ("repetition(n=3)", 1 / 6),  # i like dogs
        ("repetition(n=1,tokenizer='13a')", 5 / 8),  # nor the first "i" and "dogs": the context has "I" and "Dogs"
    ],
)
def test_counts_what_was_said_before(spec: str, expected: float) -> None:
    sample = Sample("1", ["I like it.", "Dogs."], "i like dogs and i like dogs.")
    assert evaluate(spec, [sample]).value == pytest.approx(expected)


def test_a_copied_turn_scores_1_and_new_words_0() -> None:
    samples = [
        Sample("parrot", ["Did you sleep well?"], "Did you sleep well?"),
        Sample("new", ["Hello there"], "no idea"),
    ]
    result = evaluate("repetition", samples)
    assert by_id(result.by_sample) == {"parrot": 1, "new": 0}
    assert result.value == 0.5


def test_a_reply_without_n_grams_is_unscored() -> None:
    result = evaluate("repetition", [Sample("1", ["Well?"], "Well"), Sample("2", ["Well?"], "Well , yes")])
    assert result.unscored == 1
    assert "2-grams" in next(iter(result.reasons.values()))


def test_orders_outside_1_to_9_are_refused() -> None:
    with pytest.raises(SpecError, match="1 to 9"):
        create("repetition(n=0)")
