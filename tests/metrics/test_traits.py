"""What metrics do with their input."""

from __future__ import annotations

import pytest

from interloq import create
from interloq import metric as function_metric
from interloq.metrics.traits import Traits, reads_references, traits


def of(spec: str) -> tuple[Traits, ...]:
    return traits(create(spec, kind="metric"))


def test_a_plain_metric_is_one_part() -> None:
    (bleu,) = of("bleu(order=3)")
    assert (bleu.name, bleu.reads_references, bleu.reads_weights, bleu.tokens_needed) == ("bleu", True, False, 3)
    (delta,) = of("delta_bleu")
    assert delta.reads_weights
    assert [trait.reads_references for trait in of("length")] == [False]


def test_whether_references_are_read_may_be_unknown() -> None:
    assert reads_references("label=bleu(order=2)") is True
    assert reads_references(create("length", kind="metric")) is False
    assert reads_references("ruber(referenced=chrf,unreferenced=length)") is True
    judge = "llm_judge(endpoint='http://127.0.0.1:1/v1',model='m')"  # a file may name it, so nothing is called
    for unknown in ("toxicity", "mine.py:words", judge, function_metric(len, name="mine")):
        assert reads_references(unknown) is None


def test_a_metric_made_of_others_is_its_parts() -> None:
    found = of("ruber(referenced=delta_bleu(order=2),unreferenced=length)")
    assert [trait.name for trait in found] == ["delta_bleu", "length"]


@pytest.mark.parametrize(
    ("spec", "sensitive"),
    [("bleu", True), ("bleu(tokenizer='13a(lowercase=True)')", False), ("length", True)],
)
def test_case_matters_unless_texts_are_lowercased(spec: str, sensitive: bool) -> None:
    assert of(spec)[0].case_sensitive == sensitive
