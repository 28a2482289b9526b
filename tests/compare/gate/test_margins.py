"""Margins of single metrics."""

from __future__ import annotations

import pytest

from interloq import InputError
from interloq.compare.gate.margins import Margins, metric_margins, read_margins

METRICS = ["chrf", "short=bleu(order=2)"]


def test_a_metric_is_named_by_its_label_or_spec_and_the_rest_have_the_plain_number() -> None:
    assert metric_margins(0.1, METRICS) == {"chrf": 0.1, "short=bleu(order=2)": 0.1}
    for name in ("short", "bleu(order=2)", "short=bleu(order=2)"):
        given = read_margins(["0.1", f"{name}=0.02"])
        assert metric_margins(given, METRICS) == {"chrf": 0.1, "short=bleu(order=2)": 0.02}
    assert metric_margins({"": 0.1, "short": 0.02}, METRICS[1:]) == {"short=bleu(order=2)": 0.02}
    assert metric_margins(read_margins(["short=1", "chrf=2"]), METRICS) == {"chrf": 2, "short=bleu(order=2)": 1}


@pytest.mark.parametrize("texts", [["little"], ["bleu(order=2)"], ["1", "2"], ["chrf=1", "chrf=1"], ["chrf="]])
def test_texts_that_are_not_margins(texts: list[str]) -> None:
    with pytest.raises(InputError, match=r"is not a number; write X, or METRIC=X|^two margins for (chrf|all metrics)"):
        read_margins(texts)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"chrf": 0.1}, r"no margin for short.*; add --margin short=bleu\(order=2\)=X, or --margin X for the rest"),
        ({"": 0.1, "chr": 1.0}, "a margin for 'chr', which is not gated; gated: chrf, short="),
        ({"": 0.1, "chrf": -1.0}, "the margin for chrf must be a positive number, got -1.0"),
        ({"": 0.1, "chrf": float("inf")}, "the margin for chrf must be a positive number"),
        ({"short": 1.0, "bleu(order=2)": 2.0, "": 1.0}, "two margins for short=bleu"),
        (0.0, "the margin must be a positive number, got 0.0"),
        (float("nan"), "the margin must be a positive number"),
    ],
)
def test_margins_that_cannot_be_used(given: Margins, why: str) -> None:
    with pytest.raises(InputError, match=why):
        metric_margins(given, METRICS)
