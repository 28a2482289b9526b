"""Padded rows, and the same rows packed end to end."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from interloq.models.token_rows import SPARE, rounded
from tests.models.made_rows import made_rows


@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.integers(0, 2))
def test_rows_are_packed_end_to_end(lengths: list[int], start: int) -> None:
    rows = made_rows(tuple(lengths))
    packed = rows.packed(start)
    tokens, ends = sum(lengths), packed.ends.tolist()
    assert packed.ids.shape == packed.positions.shape == packed.kinds.shape == (1, rounded(tokens))
    for i, length in enumerate(lengths):
        own = slice(ends[i], ends[i + 1])
        assert packed.ids[0, own].tolist() == rows.ids[i, :length].tolist()
        assert packed.kinds[0, own].tolist() == rows.kinds[i, :length].tolist()
        assert packed.positions[0, own].tolist() == list(range(start, start + length))
    assert (packed.first.tolist(), packed.last.tolist()) == (
        ends[: len(lengths)],
        [end - 1 for end in ends[1:]][: len(lengths)],
    )
    assert ends == sorted(ends)
    assert ends[-1] == rounded(tokens), "every token is in a row"
    assert max(b - a for a, b in pairwise(ends)) <= packed.longest
    assert set(packed.positions[0, tokens:].tolist()) <= {start}


def test_few_shapes_occur() -> None:
    sizes = {rounded(count) for count in range(4096, 32769)}
    assert len(sizes) <= 50
    assert all(count <= rounded(count) <= max(count + SPARE, 1.0626 * count) for count in range(1, 32769, 11))
