from __future__ import annotations

from interloq.data.batched import batched


def test_lists_have_the_size_and_are_read_when_wanted() -> None:
    items = iter(range(7))
    lists = batched(items, 3)
    assert next(lists) == [0, 1, 2]
    assert next(items) == 3
    assert list(lists) == [[4, 5, 6]]
    assert list(batched([], 3)) == []
    assert list(batched("abcd", 3)) == [["a", "b", "c"], ["d"]]
