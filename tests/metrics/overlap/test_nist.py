"""NIST, against NLTK where there is one reference and against the official formula written out."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.nist_score import corpus_nist

from interloq import InputError, Sample, create, evaluate, spec
from interloq.metrics.overlap.nist import NO_INFORMATION, Nist
from tests.metrics.made_contracts import POSITIVE, Contract

CONTRACTS = {
    "nist": Contract(POSITIVE, variants=["nist(order=2)"]),
}

WHITESPACE = create("whitespace", kind="tokenizer")
TOKENS = st.lists(st.sampled_from("abcd"), max_size=9)
PAIRS = st.lists(st.tuples(TOKENS, st.lists(TOKENS, min_size=1, max_size=3)), min_size=1, max_size=5)
Pairs = list[tuple[list[str], list[list[str]]]]
Gram = tuple[str, ...]


def samples_of(pairs: Pairs) -> list[Sample]:
    return [Sample(str(i), (), " ".join(own), [" ".join(r) for r in others]) for i, (own, others) in enumerate(pairs)]


def grams(tokens: list[str], n: int) -> Counter[Gram]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def information(pairs: Pairs, order: int) -> dict[Gram, float]:
    references = [reference for _, several in pairs for reference in several]
    counts: Counter[Gram] = Counter({(): sum(map(len, references))})
    for reference in references:
        for n in range(1, order + 1):
            counts.update(grams(reference, n))
    return {gram: math.log2(counts[gram[:-1]] / counts[gram]) for gram in counts if gram}


def length_penalty(ratio: float) -> float:
    if ratio >= 1:
        return 1.0
    beta = -math.log(0.5) / math.log(1.5) ** 2
    return math.exp(-beta * math.log(ratio) ** 2) if ratio > 0 else 0.0


def official(pairs: Pairs, weights: dict[Gram, float], order: int) -> float:
    """Counts clipped at the largest in any reference; the mean reference length."""
    score = 0.0
    for n in range(1, order + 1):
        gained = possible = 0.0
        for own, others in pairs:
            tables = [grams(other, n) for other in others]
            possible += grams(own, n).total()
            for gram, count in grams(own, n).items():
                gained += min(count, max(table[gram] for table in tables)) * weights.get(gram, 0.0)
        score += gained / max(possible, 1)
    length = sum(len(own) for own, _ in pairs)
    reference = sum(sum(map(len, others)) / len(others) for _, others in pairs)
    return score * (length_penalty(length / reference) if reference else 1.0)


@given(PAIRS, st.integers(1, 6))
def test_is_the_official_formula(pairs: Pairs, order: int) -> None:
    metric = Nist(order=order, tokenizer=WHITESPACE).fit(samples_of(pairs))
    rows, weights = metric.stats(samples_of(pairs)), information(pairs, order)
    assert metric.value(rows.sum(axis=0)) == pytest.approx(official(pairs, weights, order), abs=1e-9)
    assert metric.value(rows) == pytest.approx([official([pair], weights, order) for pair in pairs], abs=1e-9)


LONG = st.lists(st.sampled_from("abcde"), min_size=5, max_size=12)


@given(st.lists(st.tuples(LONG, LONG), min_size=1, max_size=6))
def test_equals_nltk_with_one_reference(pairs: list[tuple[list[str], list[str]]]) -> None:
    """NLTK divides by zero where an order has no n-grams, so replies here have five tokens or more."""
    samples = samples_of([(own, [other]) for own, other in pairs])
    metric = Nist(tokenizer=WHITESPACE).fit(samples)
    theirs = corpus_nist([[other] for _, other in pairs], [own for own, _ in pairs])
    assert metric.value(metric.stats(samples).sum(axis=0)) == pytest.approx(theirs, abs=1e-9)


def test_fitting_keeps_the_spec_and_signs_the_references() -> None:
    pairs: Pairs = [(["a", "b"], [["a", "b"], ["a"]]), (["b"], [["b", "c"]])]
    plain = Nist(order=2)
    fitted = plain.fit(samples_of(pairs))
    assert fitted == plain == create(spec(fitted))
    assert plain.fitted() == ""
    assert fitted.fitted().startswith("3-references-")
    assert fitted.fitted() == plain.fit(samples_of(pairs[::-1])).fitted()
    assert fitted.fitted() != plain.fit(samples_of(pairs[:1])).fitted()
    assert evaluate(plain, samples_of(pairs)).signature.parts["fitted"] == fitted.fitted()


def test_unfitted_is_refused() -> None:
    with pytest.raises(InputError, match="fit"):
        Nist().stats(samples_of([(["a"], [["a"]])]))


def test_references_of_a_single_word_have_no_information() -> None:
    result = evaluate("nist", [Sample("1", (), "yes", ["yes"]), Sample("2", (), "no", ["yes"])])
    assert result.n == 0
    assert set(result.reasons.values()) == {NO_INFORMATION}
