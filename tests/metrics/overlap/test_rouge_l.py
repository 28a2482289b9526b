from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import Reference, Sample, SpecError, create, evaluate
from interloq.metrics.overlap.rouge_l import RougeL
from tests.metrics.made_contracts import UNIT, Contract

CONTRACTS = {
    "rouge_l": Contract(UNIT, variants=["rouge_l(beta=1,multiple='best')"]),
}

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=12)
SOME_REFERENCES = st.lists(WORDS, min_size=1, max_size=4)


def literal_lcs(first: Sequence[object], second: Sequence[object]) -> int:
    """The textbook table: cell (i, j) is the LCS of the first i and the first j tokens."""
    table = np.zeros((len(first) + 1, len(second) + 1), dtype=int)
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            table[i + 1, j + 1] = table[i, j] + 1 if one == other else max(table[i, j + 1], table[i + 1, j])
    return int(table[-1, -1])


def f_measure(precision: float, recall: float, beta: float) -> float:
    """The weighted harmonic mean as its definition has it: 1/F is the mean of 1/P and 1/R with weights 1 and β²."""
    if precision == 0 or recall == 0:
        return 0.0
    return (1 + beta**2) / (1 / precision + beta**2 / recall)


def pairs(response: Sequence[str], references: Sequence[Sequence[str]]) -> list[tuple[float, float]]:
    found = []
    for reference in references:
        common = literal_lcs(response, reference)
        found.append((common / max(len(response), 1), common / max(len(reference), 1)))
    return found


def score(response: str, references: Sequence[str | Reference], metric: str | RougeL = "rouge_l") -> float:
    return evaluate(metric, [Sample("1", "hi", response, references)]).value


@pytest.mark.parametrize(("multiple", "expected"), [("separate", (1.0, 0.75)), ("best", (0.5, 0.75))])
def test_details_are_what_the_score_was_computed_from(multiple: str, expected: tuple[float, float]) -> None:
    sample = Sample("1", "hi", "a b c d e f", ["a b c x", "a b c d e f g h i j k l m n o p q r s t u v w x"])
    details = evaluate(f"rouge_l(beta=100.0,multiple={multiple!r})", [sample]).details
    assert (details["precision"], details["recall"]) == pytest.approx(expected)


def lcs(first: Sequence[int], second: Sequence[int]) -> float:
    """With β = 0 the score is precision, the LCS over the reply's length."""
    response, reference = (" ".join(map(str, text)) for text in (first, second))
    return score(response, [reference], "rouge_l(beta=0,tokenizer='whitespace')") * len(first)


@given(st.lists(st.integers(0, 4), max_size=40), st.lists(st.integers(0, 4), max_size=40))
def test_lcs_is_the_textbook_table(first: list[int], second: list[int]) -> None:
    assert lcs(first, second) == pytest.approx(literal_lcs(first, second))
    assert lcs(second, first) == pytest.approx(literal_lcs(first, second))


def test_lcs_of_texts_longer_than_a_machine_word() -> None:
    draw = random.Random(0)
    first, second = ([draw.randrange(30) for _ in range(n)] for n in (400, 333))
    assert lcs(first, second) == pytest.approx(literal_lcs(first, second))


@given(WORDS, SOME_REFERENCES, st.sampled_from([0.0, 0.5, 1.0, 1.2, 8.0]))
def test_separate_takes_the_largest_precision_and_recall_apart(
    response: list[str], references: list[list[str]], beta: float
) -> None:
    found = pairs(response, references)
    expected = f_measure(max(p for p, _ in found), max(r for _, r in found), beta)
    metric = RougeL(beta=beta, tokenizer=create("whitespace"))
    assert score(" ".join(response), [" ".join(r) for r in references], metric) == pytest.approx(expected, abs=1e-12)


@given(WORDS, SOME_REFERENCES)
def test_best_takes_the_largest_f(response: list[str], references: list[list[str]]) -> None:
    expected = max(f_measure(p, r, 1.2) for p, r in pairs(response, references))
    texts = [" ".join(r) for r in references]
    best = score(" ".join(response), texts, "rouge_l(multiple='best')")
    assert best == pytest.approx(expected, abs=1e-12)
    assert best <= score(" ".join(response), texts) + 1e-12


def test_worked_example() -> None:
    # "the food … good" is common: P = 3/4, R = 3/5, F = 2.44 · .45 / (.6 + 1.44 · .75)
    value = score("the food tasted good", ["the hot food was good"])
    assert value == pytest.approx(2.44 * 0.45 / (0.6 + 1.44 * 0.75))


def test_weights_are_ignored() -> None:
    weighted = [Reference("a b c", -1.0), Reference("x", 0.0)]
    assert score("a b", weighted) == score("a b", ["a b c", "x"]) > 0


def test_spaces_tokenizer_keeps_empty_tokens_as_the_caption_code_does() -> None:
    response, reference = "fine .  And you", "good .  And him"
    expected = f_measure(3 / 5, 3 / 5, 1.2)  # ".", "" and "And"
    assert score(response, [reference], "rouge_l(tokenizer='space')") == pytest.approx(expected)
    assert score(response, [reference], "rouge_l(tokenizer='whitespace')") == pytest.approx(0.5)
    assert score("  ", ["a  b"], "rouge_l(tokenizer='space')") == 0.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beta": -1.0}, "beta must be"),
        ({"beta": math.inf}, "beta must be"),
        ({"beta": math.nan}, "beta must be"),
        ({"multiple": "mean"}, "'separate', 'best'"),
    ],
)
def test_wrong_fields_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        RougeL(**fields)
