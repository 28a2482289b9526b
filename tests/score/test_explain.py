"""Explained scores: their parts make up the score."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import InputError, Reference, Sample, create, evaluate, write
from interloq.metrics.metric import TurnScore
from interloq.metrics.overlap.delta_bleu import DeltaBleu
from interloq.score.explain import Explanation, explain, explain_file, is_explained, largest_fall
from interloq.score.score_options import ExplainOptions
from tests.conftest import by_id
from tests.made_explained import SAMPLE

SPECS = [
    "delta_bleu",
    "delta_bleu(order=3,tokenizer='char')",
    "bleu(level='sentence')",
    "bleu(order=2,smoothing='none',brevity='average')",
    "bleu(smoothing='floor',effective_order=True)",
    "bleu(smoothing='add-k',effective_order=True,k=0.3)",
    "bleu(smoothing='method1')",
    "bleu(smoothing='exp',effective_order=True)",
    "bleu(order=3,smoothing='tiny')",
]


def product(explained: Explanation) -> float:
    """The score from its parts, as the page states the formula."""
    used = [order.precision for order in explained.orders if order.used]
    matched = any(order.matches for order in explained.orders)
    if not used or min(used) <= 0 or not (matched or "tiny" in explained.metric):
        return 0.0
    return explained.brevity_penalty * math.exp(sum(map(math.log, used)) / len(used))


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "."]), max_size=9).map(" ".join)
REFERENCES = st.lists(st.builds(Reference, WORDS, st.sampled_from([-1.0, -0.2, 0.0, 0.3, 0.9, 1.0])), min_size=1)


@pytest.mark.parametrize("text", SPECS)
@settings(max_examples=25, deadline=None)
@given(reply=WORDS, references=REFERENCES)
def test_the_parts_make_up_the_score(text: str, reply: str, references: list[Reference]) -> None:
    metric, sample = create(text), Sample("x", (), reply, references)
    assert is_explained(metric)
    if metric.unscorable(sample):
        return
    explained, score = explain(metric, sample), by_id(evaluate(metric, [sample], n_bootstrap=0).by_sample)["x"]
    assert explained.score == score
    assert product(explained) == pytest.approx(score, abs=1e-9)
    for order in explained.orders:
        assert order.credit == pytest.approx(sum(match.credit for match in order.matches))
        assert order.denominator == pytest.approx(order.ngrams * explained.largest_weight)
        for match in order.matches:
            assert match.credit == match.weight * match.counted > 0
            gram = match.ngram
            theirs = explained.references[match.reference]
            assert gram in theirs.shared[order.n - 1]
            # no other reference would have given more
            for other in explained.references:
                weight = other.weight if explained.weighted else 1.0
                tokens = metric.tokenizer.tokens(other.text)
                count = sum(" ".join(tokens[i : i + order.n]) == gram for i in range(len(tokens) - order.n + 1))
                assert weight * min(match.in_reply, count) <= match.credit + 1e-12


def test_a_score_worked_by_hand() -> None:
    explained = explain(DeltaBleu(order=2), SAMPLE)
    first, second = explained.orders
    very = next(match for match in first.matches if match.ngram == "very")
    assert (very.in_reply, very.counted, very.reference, very.weight) == (2, 2, 2, 0.7)
    assert (first.credit, first.denominator) == pytest.approx((6 + 1.4, 8))
    assert [match.ngram for match in second.matches] == ["it was", "was a", "very very", "good film", "film ."]
    assert second.missed == ("a very", "very good")  # only the distrusted reference has the first
    assert (explained.length, explained.reference_length, explained.closest) == (8, 6, (0, 2))
    assert explained.score == pytest.approx(math.sqrt(7.4 / 8 * 4.7 / 7))
    (distrusted,) = explained.distrusted
    assert (distrusted.place, distrusted.shared) == (3, (("a", "very", "."), ("a very",)))


@pytest.fixture
def files(folder: Path) -> Path:
    made = [Sample(f"s{i}", ["how was it"], f"{w} was good", [f"{w} was bad"]) for i, w in enumerate("abcd")]
    write("samples.jsonl", [*made, Sample("s1", ["how was it"], "fine", (), "other")], kind="samples")
    return folder


def test_one_sample_is_explained(files: Path) -> None:
    explained = explain_file("s2", "samples.jsonl", ExplainOptions(metric="bleu(level='sentence')"))
    assert explained.explanation is not None
    assert explained.score == pytest.approx(explained.explanation.score)
    assert explained.facts()["response"] == "c was good"
    assert not explain_file("s2", "samples.jsonl", ExplainOptions(metric="length")).taken_apart


def test_the_sample_that_is_meant_must_be_clear(files: Path) -> None:
    for id, system, says in (("s1", None, "other"), ("s9", None, "did you mean"), ("s2", "x", "its systems")):
        with pytest.raises(InputError, match=says):
            explain_file(id, "samples.jsonl", ExplainOptions(metric="bleu", system=system))
    found = explain_file("s1", "samples.jsonl", ExplainOptions(metric="bleu", system="other"))
    assert (found.score, found.reason) == (None, "no references")
    assert found.explanation is None


def test_id_and_file_in_the_wrong_order_are_named(folder: Path) -> None:
    write("samples.jsonl", [Sample("1", ["hi"], "yes", ["no"])], kind="samples")
    with pytest.raises(InputError, match="give the sample's id first"):
        explain_file("samples.jsonl", "1")


@pytest.mark.parametrize(
    ("scores", "turn", "fall"),
    [
        ((0.9, 0.8, 0.2, 0.7), 5, 0.6),
        ((0.9, None, 0.4), 5, 0.5),  # unscored replies are passed over
        ((0.1, 0.1, 0.5), None, 0),
        ((0.5,), None, 0),
        ((), None, 0),
    ],
)
def test_the_largest_fall_is_between_neighbours(
    scores: tuple[float | None, ...], turn: int | None, fall: float
) -> None:
    found = largest_fall([TurnScore(2 * i + 1, f"reply {i}", score) for i, score in enumerate(scores)])
    assert (found[0].turn if found else None) == turn
    assert (found[1] if found else 0) == pytest.approx(fall)
