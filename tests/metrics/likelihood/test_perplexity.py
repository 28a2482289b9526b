"""Perplexity by hand and against transformers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from interloq import Sample, evaluate
from interloq.metrics.likelihood.perplexity import Perplexity
from tests.conftest import by_id
from tests.metrics.made_contracts import Contract
from tests.metrics.made_fed import OneByOne, chat
from tests.metrics.made_given import scores

CONTRACTS = {
    "perplexity": Contract(
        (1.0, math.inf),
        variants=["perplexity(model='lm',context=False,layout='lines',log=True)"],
        required="model='lm'",
    ),
}


def test_perplexity_by_hand(words: str) -> None:
    samples = [Sample("a", ["hi", "you"], "one two"), Sample("b", [], "one")]
    result = evaluate(Perplexity("x"), samples)
    assert dict(result.by_sample) == pytest.approx({("a", ""): math.exp(3), ("b", ""): math.exp(1)})
    assert result.value == pytest.approx(math.exp((2 * 3 + 1) / 3)), "over tokens, not over replies"
    assert scores(Perplexity("x", context=False), samples) == pytest.approx([math.e, math.e])
    in_nats = evaluate(Perplexity("x", log=True), samples)
    assert by_id(in_nats.by_sample) == {"a": 3, "b": 1}
    assert in_nats.value == pytest.approx(7 / 3)


def test_perplexity_is_that_of_transformers(lm: Path) -> None:
    literal = OneByOne(lm)
    turns = [[turn.text for turn in s.context if turn.text.strip()] for s in chat()]
    expected = [math.exp(literal.conditional(t, s.response)) for t, s in zip(turns, chat(), strict=True)]
    assert scores(Perplexity(str(lm)), chat()) == pytest.approx(expected, rel=1e-5)
    alone = [math.exp(literal.conditional([], s.response)) for s in chat()]
    assert scores(Perplexity(str(lm), context=False), chat()) == pytest.approx(alone, rel=1e-5)
