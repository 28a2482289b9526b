"""BLEU*: the best single reference, against NLTK and against plain BLEU."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from interloq import Sample, create
from interloq.metrics.overlap.bleu import Bleu, Smoothing
from interloq.metrics.overlap.bleu_star import BleuStar

TOKENS = st.lists(st.sampled_from("abcd"), max_size=8)
PAIRS = st.lists(st.tuples(TOKENS, st.lists(TOKENS, min_size=1, max_size=4)), min_size=1, max_size=5)
Pairs = list[tuple[list[str], list[list[str]]]]
WHITESPACE = create("whitespace", kind="tokenizer")


def samples_of(pairs: Pairs) -> list[Sample]:
    return [Sample(str(i), (), " ".join(own), [" ".join(r) for r in others]) for i, (own, others) in enumerate(pairs)]


@given(PAIRS, st.integers(1, 4))
def test_equals_the_best_of_nltk(pairs: Pairs, order: int) -> None:
    metric = BleuStar(order=order, tokenizer=WHITESPACE)
    smooth = SmoothingFunction().method1
    best = [max(sentence_bleu([r], own, [1 / order] * order, smooth) for r in others) for own, others in pairs]
    rows = metric.stats(samples_of(pairs))
    assert metric.value(rows) == pytest.approx(best, abs=1e-9)
    assert metric.value(rows.sum(axis=0)) == pytest.approx(sum(best) / len(best), abs=1e-9)


@pytest.mark.parametrize("smoothing", ["none", "exp", "floor", "add-k", "tiny"])
@given(pairs=PAIRS)
def test_is_the_best_single_reference_bleu(smoothing: Smoothing, pairs: Pairs) -> None:
    star = BleuStar(smoothing=smoothing, tokenizer=WHITESPACE)
    plain = Bleu(smoothing=smoothing, tokenizer=WHITESPACE)
    for (own, others), value in zip(pairs, star.value(star.stats(samples_of(pairs))), strict=True):
        singles = samples_of([(own, [other]) for other in others])
        assert value == pytest.approx(plain.value(plain.stats(singles)).max(), abs=1e-12)


def test_long_texts_are_counted_the_same_way() -> None:
    own, other = list("abcd") * 100, list("abdc") * 100
    value = BleuStar(tokenizer=WHITESPACE).stats(samples_of([(own, [other, own[:300]])]))[0, 0]
    theirs = [sentence_bleu([r], own, smoothing_function=SmoothingFunction().method1) for r in (other, own[:300])]
    assert value == pytest.approx(max(theirs), abs=1e-9)
