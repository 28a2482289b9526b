"""Length in tokens of any tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import Sample, create, evaluate
from interloq.unicode_form import normalise
from tests.metrics.made_contracts import POSITIVE, Contract

CONTRACTS = {
    "length": Contract(POSITIVE),
}


@pytest.mark.parametrize("name", ["13a", "whitespace", "char", "intl", "zh"])
@given(texts=st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_is_the_mean_number_of_tokens(name: str, texts: list[str]) -> None:
    tokenizer = create(name, kind="tokenizer")
    result = evaluate(f"length(tokenizer={name!r})", [Sample(str(i), (), text) for i, text in enumerate(texts)])
    lengths = [len(tokenizer.tokens(normalise(text))) for text in texts]
    assert list(result.by_sample.values()) == lengths
    assert result.value == pytest.approx(sum(lengths) / len(texts))
    assert result.unscored == 0
