"""The modules of `interloq.data`: batched, progress."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from interloq.data.batched import batched
from interloq.data.progress import count_records, format_duration, lines_ahead, silent


def test_lists_have_the_size_and_are_read_when_wanted() -> None:
    items = iter(range(7))
    lists = batched(items, 3)
    assert next(lists) == [0, 1, 2]
    assert next(items) == 3
    assert list(lists) == [[4, 5, 6]]
    assert list(batched([], 3)) == []
    assert list(batched("abcd", 3)) == [["a", "b", "c"], ["d"]]


def test_each_record_is_counted_as_it_passes() -> None:
    steps: list[int] = []
    records = count_records("abc", steps.append)
    assert next(records) == "a"
    assert steps == [1]
    assert list(records) == ["b", "c"]
    assert sum(steps) == 3


def test_lines_are_counted_only_for_somebody_who_watches(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1\n2\n3\n")
    assert lines_ahead(path, silent) is None
    assert lines_ahead(path, lambda *_: nullcontext(print)) == 3
    assert lines_ahead("-", lambda *_: nullcontext(print)) is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
