"""ΔBLEU: the authors' numbers, the three formulas written out, and plain BLEU for weights of 1."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from interloq import Reference, Sample, create, evaluate
from interloq.metrics.overlap.bleu import Bleu
from interloq.metrics.overlap.delta_bleu import NO_POSITIVE_WEIGHT, DeltaBleu, Mode
from tests.conftest import by_id
from tests.metrics.made_contracts import UNIT, Contract

CONTRACTS = {
    "delta_bleu": Contract(UNIT, variants=["delta_bleu(mode='corpus',order=4)", "delta_bleu(mode='paper',order=1)"]),
}

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "delta_bleu.json").read_text("utf-8"))
WHITESPACE = create("whitespace", kind="tokenizer")
Gram = tuple[str, ...]
Weighted = tuple[list[str], list[tuple[list[str], float]]]  # a reply, and references with weights

TOKENS = st.lists(st.sampled_from("abc"), max_size=8)
WEIGHTS = st.floats(-1, 1, allow_nan=False).map(lambda w: round(w, 3))
SAMPLE = st.tuples(TOKENS, st.lists(st.tuples(TOKENS, WEIGHTS), min_size=1, max_size=4))
SAMPLES = st.lists(SAMPLE, min_size=1, max_size=5)


def golden_samples(system: str, *, weighted: bool) -> list[Sample]:
    return [
        Sample(
            f"{system}-{i}",
            (),
            response,
            [
                Reference(texts[i], weights[i] if weighted else 1.0)
                for texts, weights in zip(GOLDEN["references"], GOLDEN["weights"], strict=True)
            ],
        )
        for i, response in enumerate(GOLDEN["systems"][system])
    ]


def total(metric: Any, samples: list[Sample]) -> Any:
    return metric.stats(samples).sum(axis=0)


@pytest.mark.parametrize("system", ["good", "bad"])
def test_corpus_numbers_of_the_authors(system: str) -> None:
    golden = GOLDEN["corpus"][system]
    metric = DeltaBleu(order=4, mode="corpus")
    row = total(metric, golden_samples(system, weighted=True))
    assert round(100 * float(metric.value(row)), 2) == golden["delta_bleu"]
    matches = np.maximum(row[:4], 0)
    # an order without a match shows its smoothed precision: half a match, a quarter, …
    matches = np.where(matches > 0, matches, 0.5 ** np.cumsum(matches <= 0))
    assert (100 * matches / row[4:8]).round(1).tolist() == golden["precisions"]
    plain = Bleu()
    assert round(100 * float(plain.value(total(plain, golden_samples(system, weighted=False)))), 2) == golden["bleu"]


@pytest.mark.parametrize(("weighted", "key"), [(True, "delta_bleu"), (False, "weights_1")])
@pytest.mark.parametrize("system", ["good", "bad"])
def test_sentence_numbers_of_the_authors(system: str, weighted: bool, key: str) -> None:
    metric = DeltaBleu(tokenizer=WHITESPACE)
    rows = metric.stats(golden_samples(system, weighted=weighted))
    assert metric.value(rows).round(6).tolist() == GOLDEN["sentence"][system][key]


def grams(tokens: list[str], n: int) -> Counter[Gram]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def sentence_gain(g: Gram, count: int, references: list[tuple[Counter[Gram], float]]) -> float:
    return max([0.0, *(w * min(count, table[g]) for table, w in references)])


def corpus_gain(g: Gram, count: int, references: list[tuple[Counter[Gram], float]]) -> float:
    holding = [(table[g], w) for table, w in references if g in table]
    return max(w for _, w in holding) * min(count, max(c for c, _ in holding)) if holding else 0.0


def paper_gain(g: Gram, count: int, references: list[tuple[Counter[Gram], float]]) -> float:
    return max((w * min(count, table[g]) for table, w in references if g in table), default=0.0)


def sums(samples: list[Weighted], n: int, gain: Callable[..., float]) -> tuple[float, float]:
    """Numerator and denominator of p_n over samples."""
    above = below = 0.0
    for response, references in samples:
        tables = [(grams(tokens, n), weight) for tokens, weight in references]
        above += sum(gain(g, count, tables) for g, count in grams(response, n).items())
        below += max(w for _, w in references) * grams(response, n).total()
    return above, below


def closest(response: list[str], references: list[tuple[list[str], float]]) -> int:
    return min((abs(len(r) - len(response)), len(r)) for r, _ in references)[1]


def geometric(precisions: list[float], length: float, reference: float) -> float:
    if not length or min(precisions) <= 0:
        return 0.0
    brevity = 1.0 if length > reference else math.exp(1 - reference / length)
    return brevity * math.prod(precisions) ** (1 / len(precisions))


def literal_sentence(sample: Weighted, order: int) -> float:
    pairs = [sums([sample], n, sentence_gain) for n in range(1, order + 1)]
    precisions = [above / below if below else 0.0 for above, below in pairs]
    return geometric(precisions, len(sample[0]), closest(*sample))


def literal_corpus(samples: list[Weighted], order: int) -> float:
    precisions, smoothing = [], 1.0
    pairs = [sums(samples, n, corpus_gain) for n in range(1, order + 1)]
    if all(above <= 0 for above, _ in pairs):
        return 0.0
    for above, below in pairs:
        if not below:
            return 0.0
        if above <= 0:
            smoothing *= 2
        precisions.append(above / below if above > 0 else 1 / (smoothing * below))
    return geometric(precisions, sum(len(r) for r, _ in samples), sum(closest(*s) for s in samples))


def literal_paper(samples: list[Weighted], order: int) -> float:
    pairs = [sums(samples, n, paper_gain) for n in range(1, order + 1)]
    precisions = [above / below if below else 0.0 for above, below in pairs]
    average = sum(sum(len(r) for r, _ in references) / len(references) for _, references in samples)
    return geometric(precisions, sum(len(r) for r, _ in samples), average)


def records(samples: list[Weighted]) -> list[Sample]:
    return [
        Sample(str(i), (), " ".join(response), [Reference(" ".join(r), w) for r, w in references])
        for i, (response, references) in enumerate(samples)
    ]


def positive(samples: list[Weighted]) -> list[Weighted]:
    kept = [sample for sample in samples if max(w for _, w in sample[1]) > 0]
    assume(kept)
    return kept


@given(SAMPLES, st.integers(1, 4))
def test_sentence_mode_is_its_formula(samples: list[Weighted], order: int) -> None:
    samples, metric = positive(samples), DeltaBleu(order=order, tokenizer=WHITESPACE)
    expected = [literal_sentence(sample, order) for sample in samples]
    rows = metric.stats(records(samples))
    assert metric.value(rows) == pytest.approx(expected, abs=1e-9)
    assert metric.value(rows.sum(axis=0)) == pytest.approx(np.mean(expected), abs=1e-9)


@pytest.mark.parametrize(("mode", "literal"), [("corpus", literal_corpus), ("paper", literal_paper)])
@given(samples=SAMPLES, order=st.integers(1, 4))
def test_corpus_and_paper_modes_are_their_formulas(
    mode: Mode, literal: Callable[..., float], samples: list[Weighted], order: int
) -> None:
    samples, metric = positive(samples), DeltaBleu(order=order, mode=mode, tokenizer=WHITESPACE)
    rows = metric.stats(records(samples))
    assert metric.value(rows) == pytest.approx([literal([sample], order) for sample in samples], abs=1e-9)
    assert metric.value(rows.sum(axis=0)) == pytest.approx(literal(samples, order), abs=1e-9)


@pytest.mark.parametrize(
    ("mode", "plain"),
    [
        ("sentence", {"smoothing": "none", "level": "sentence"}),
        ("corpus", {"smoothing": "exp"}),
        ("paper", {"smoothing": "none", "brevity": "average"}),
    ],
)
@given(samples=SAMPLES, order=st.integers(1, 4))
def test_weights_of_1_give_plain_bleu(mode: Mode, plain: dict[str, Any], samples: list[Weighted], order: int) -> None:
    ones = records([(response, [(r, 1.0) for r, _ in references]) for response, references in samples])
    delta = DeltaBleu(order=order, mode=mode, tokenizer=WHITESPACE)
    bleu = Bleu(order=order, tokenizer=WHITESPACE, **plain)
    assert delta.stats(ones) == pytest.approx(bleu.stats(ones), abs=1e-12)
    assert delta.value(total(delta, ones)) == pytest.approx(bleu.value(total(bleu, ones)), abs=1e-12)


@given(SAMPLE, TOKENS, st.floats(-1, 0))
def test_a_bad_reference_never_subtracts_in_sentence_mode(sample: Weighted, other: list[str], weight: float) -> None:
    """It may change the length rule alone, so it is as long as a reference that is there."""
    response, references = positive([sample])[0]
    same_length = (other * 8 + ["a"] * 8)[: len(references[0][0])]
    metric = DeltaBleu(tokenizer=WHITESPACE)
    before, after = metric.stats(records([(response, references), (response, [*references, (same_length, weight)])]))
    assert after.tolist() == before.tolist()


def test_samples_without_positive_weight_are_unscored() -> None:
    samples = [
        Sample("none", (), "a b", [Reference("a b", 0.0), Reference("a", -1.0)]),
        Sample("some", (), "a b", [Reference("a b", 0.2), Reference("a", -1.0)]),
        Sample("never", (), "a b"),
    ]
    for mode in ("sentence", "corpus", "paper"):
        result = evaluate(DeltaBleu(mode=mode), samples)
        assert (result.n, result.unscored) == (1, 2)
        assert by_id(result.reasons) == {"none": NO_POSITIVE_WEIGHT, "never": "no references"}
        assert result.value == pytest.approx(1.0)
