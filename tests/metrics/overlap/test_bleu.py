"""BLEU, against sacrebleu and NLTK."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu, sentence_bleu
from sacrebleu.metrics.bleu import BLEU

from interloq import Sample, SpecError, create, evaluate
from interloq.metrics.overlap.bleu import Bleu, BleuStar, Smoothing
from tests.metrics.made_contracts import UNIT, Contract

CONTRACTS = {
    "bleu": Contract(
        UNIT, variants=["bleu(order=2,level='sentence')", "bleu(smoothing='add-k',k=0.5)", "bleu(smoothing='tiny')"]
    ),
    "bleu_star": Contract(UNIT, variants=["bleu_star(order=2,smoothing='none')"]),
}

TEXT = st.lists(st.sampled_from(["a", "b", "c", "d.", "e,", "1.5", "F!"]), max_size=9).map(" ".join)
PAIRS = st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=3)), min_size=1, max_size=6)
Pairs = list[tuple[str, list[str]]]
close = pytest.approx


def samples_of(pairs: Pairs) -> list[Sample]:
    return [Sample(str(i), (), response, references) for i, (response, references) in enumerate(pairs)]


def scores(metric: Any, pairs: Pairs) -> tuple[list[float], float]:
    rows = metric.stats(samples_of(pairs))
    return metric.value(rows).tolist(), float(metric.value(rows.sum(axis=0)))


def streams(pairs: Pairs) -> Any:
    """Reference sets over all replies, as sacrebleu wants them, None where a reply has fewer references."""
    most = max(len(references) for _, references in pairs)
    return [[references[j] if j < len(references) else None for _, references in pairs] for j in range(most)]


@pytest.mark.parametrize("effective_order", [False, True])
@pytest.mark.parametrize(
    ("smoothing", "k"), [("none", None), ("floor", None), ("floor", 0.3), ("add-k", 2.0), ("exp", None)]
)
@given(pairs=PAIRS, order=st.integers(1, 5))
def test_equals_sacrebleu(
    smoothing: Smoothing, k: float | None, effective_order: bool, pairs: Pairs, order: int
) -> None:
    ours = Bleu(order=order, smoothing=smoothing, k=k, effective_order=effective_order)
    theirs = BLEU(
        smooth_method=smoothing, smooth_value=k, max_ngram_order=order, effective_order=effective_order, force=True
    )
    by_sample, of_set = scores(ours, pairs)
    assert by_sample == close([theirs.sentence_score(*pair).score / 100 for pair in pairs], abs=1e-9)
    assert of_set == close(theirs.corpus_score([r for r, _ in pairs], streams(pairs)).score / 100, abs=1e-9)


@given(pairs=PAIRS)
def test_details_are_those_of_sacrebleu(pairs: Pairs) -> None:
    theirs = BLEU(force=True).corpus_score([r for r, _ in pairs], streams(pairs))
    # not evaluate(): it refuses references that look transposed, as drawn ones may
    ours = Bleu().details(Bleu().stats(samples_of(pairs)).sum(axis=0))
    assert [ours[f"precision_{n}"] for n in range(1, 5)] == close([p / 100 for p in theirs.precisions], abs=1e-9)
    assert (ours["brevity_penalty"], ours["reply_length"], ours["reference_length"]) == close(
        (theirs.bp, theirs.sys_len, theirs.ref_len), abs=1e-9
    )


def test_details_of_sentence_scores_are_means_over_samples() -> None:
    pairs: Pairs = [("a b c d e", ["a b c d e"]), ("a", ["a b c d e"])]
    by_sample = [Bleu().details(row) for row in Bleu().stats(samples_of(pairs))]
    ours = evaluate("bleu(level='sentence')", samples_of(pairs)).details
    assert ours == close({name: (by_sample[0][name] + by_sample[1][name]) / 2 for name in by_sample[0]})


@pytest.mark.filterwarnings("ignore::UserWarning")  # NLTK warns where an order has no match
@pytest.mark.parametrize("smoothing", ["none", "method0", "method1"])
@given(pairs=PAIRS, order=st.integers(1, 5))
def test_equals_nltk(smoothing: Smoothing, pairs: Pairs, order: int) -> None:
    tokenizer = create("13a", kind="tokenizer")
    responses = [tokenizer.tokens(response) for response, _ in pairs]
    references = [[tokenizer.tokens(text) for text in texts] for _, texts in pairs]
    smooth = SmoothingFunction().method1 if smoothing == "method1" else SmoothingFunction().method0
    weights = [1 / order] * order
    by_sample, of_set = scores(Bleu(order=order, smoothing=smoothing), pairs)
    for ours, one, several in zip(by_sample, responses, references, strict=True):
        assert ours == close(sentence_bleu(several, one, weights, smooth), abs=1e-9)
    # NLTK counts one n-gram for every reply too short to have any, so only sets without such replies compare
    if all(len(response) >= order for response in responses):
        assert of_set == close(corpus_bleu(references, responses, weights, smooth), abs=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(pairs=PAIRS)
def test_scores_that_nltk_calls_unsmoothed_are_tiny_rather_than_zero(pairs: Pairs) -> None:
    """NLTK puts the smallest float in place of a precision of 0, so replies without a match of order 4 are ranked."""
    tokens = create("13a", kind="tokenizer").tokens
    by_sample, _ = scores(Bleu(smoothing="method0"), pairs)
    theirs = [sentence_bleu(list(map(tokens, texts)), tokens(response)) for response, texts in pairs]
    assert by_sample == pytest.approx(theirs, rel=1e-6, abs=0)


@given(PAIRS)
def test_tiny_smoothing_is_the_formula_of_the_caption_code(pairs: Pairs) -> None:
    metric = Bleu(order=2, smoothing="tiny", tokenizer=create("whitespace"))
    plain = Bleu(order=2, smoothing="none", tokenizer=create("whitespace")).stats(samples_of(pairs))
    for (m1, m2, t1, t2, length, reference), ours in zip(plain, scores(metric, pairs)[0], strict=True):
        ratio = (length + 1e-15) / (reference + 1e-9)
        expected = math.sqrt((m1 + 1e-15) / (t1 + 1e-9) * (m2 + 1e-15) / (t2 + 1e-9))
        assert ours == close(expected * (math.exp(1 - 1 / ratio) if ratio < 1 else 1), abs=1e-9)


@given(PAIRS)
def test_sentence_level_is_the_mean_of_sentence_scores(pairs: Pairs) -> None:
    corpus, sentence = Bleu(order=2), Bleu(order=2, level="sentence")
    by_sample, _ = scores(corpus, pairs)
    mean_by_sample, of_set = scores(sentence, pairs)
    assert mean_by_sample == close(by_sample)
    assert of_set == close(np.mean(by_sample))


def test_average_brevity_uses_the_mean_reference_length() -> None:
    row = Bleu(order=1, brevity="average").stats(samples_of([("a b", ["a b c", "a b c d e f"])]))[0]
    assert row.tolist() == [2, 2, 2, 4.5]


@pytest.mark.parametrize(
    "fields", [{"order": 0}, {"order": 10}, {"k": 0.1}, {"smoothing": "floor", "k": 0}, {"smoothing": "best"}]
)
def test_wrong_fields_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        Bleu(**fields)


TOKENS = st.lists(st.sampled_from("abcd"), max_size=8)
TOKEN_PAIRS = st.lists(st.tuples(TOKENS, st.lists(TOKENS, min_size=1, max_size=4)), min_size=1, max_size=5)
TokenPairs = list[tuple[list[str], list[list[str]]]]
WHITESPACE = create("whitespace", kind="tokenizer")


def samples_of_tokens(pairs: TokenPairs) -> list[Sample]:
    return [Sample(str(i), (), " ".join(own), [" ".join(r) for r in others]) for i, (own, others) in enumerate(pairs)]


@given(TOKEN_PAIRS, st.integers(1, 4))
def test_equals_the_best_of_nltk(pairs: TokenPairs, order: int) -> None:
    metric = BleuStar(order=order, tokenizer=WHITESPACE)
    smooth = SmoothingFunction().method1
    best = [max(sentence_bleu([r], own, [1 / order] * order, smooth) for r in others) for own, others in pairs]
    rows = metric.stats(samples_of_tokens(pairs))
    assert metric.value(rows) == pytest.approx(best, abs=1e-9)
    assert metric.value(rows.sum(axis=0)) == pytest.approx(sum(best) / len(best), abs=1e-9)


@pytest.mark.parametrize("smoothing", ["none", "exp", "floor", "add-k", "tiny"])
@given(pairs=TOKEN_PAIRS)
def test_is_the_best_single_reference_bleu(smoothing: Smoothing, pairs: TokenPairs) -> None:
    star = BleuStar(smoothing=smoothing, tokenizer=WHITESPACE)
    plain = Bleu(smoothing=smoothing, tokenizer=WHITESPACE)
    for (own, others), value in zip(pairs, star.value(star.stats(samples_of_tokens(pairs))), strict=True):
        singles = samples_of_tokens([(own, [other]) for other in others])
        assert value == pytest.approx(plain.value(plain.stats(singles)).max(), abs=1e-12)


def test_long_texts_are_counted_the_same_way() -> None:
    own, other = list("abcd") * 100, list("abdc") * 100
    value = BleuStar(tokenizer=WHITESPACE).stats(samples_of_tokens([(own, [other, own[:300]])]))[0, 0]
    theirs = [sentence_bleu([r], own, smoothing_function=SmoothingFunction().method1) for r in (other, own[:300])]
    assert value == pytest.approx(max(theirs), abs=1e-9)
