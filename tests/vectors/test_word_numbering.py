"""Numbers of words in texts."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from interloq import create
from interloq.vectors.word_numbering import WordNumbering


@given(st.lists(st.text(alphabet="ab-.,'\n 1", max_size=20), max_size=8), st.sampled_from(["13a", "space", "char"]))
@settings(deadline=None)
def test_numbered_tokens_are_the_tokenizers(texts: list[str], name: str) -> None:
    tokenizer = create(name, kind="tokenizer")
    numbers: dict[str, int] = {}
    numbered = WordNumbering(tokenizer, lambda token: numbers.setdefault(token, len(numbers))).texts(texts)
    names = list(numbers)
    found = [[names[t] for t in numbered.tokens[a:b]] for a, b in pairwise(numbered.ends)]
    assert found == [[token for token in tokenizer.tokens(text) if token] for text in texts]
