"""Texts that were not seen before, over many batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interloq.data.text.unseen_texts import UnseenTexts


@given(st.lists(st.lists(st.text(max_size=3), max_size=10), max_size=20))
def test_distinct_texts_over_many_batches(batches: list[list[str]]) -> None:
    distinct, seen, expected, found = UnseenTexts(), set[str](), list[str](), list[str]()
    for batch in batches:
        found += distinct.new(batch) if batch else []
        expected += [text for text in dict.fromkeys(batch) if text not in seen]
        seen.update(batch)
    assert found == expected
