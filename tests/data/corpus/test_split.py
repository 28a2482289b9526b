from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq.data.corpus.split import Split, border_at, borders, format_borders
from interloq.data.corpus.times import DAY, SECOND
from interloq.errors import InputError


def counting(starts: Sequence[int]) -> object:
    def histogram(width: int, first: int | None, last: int | None) -> list[tuple[int, int]]:
        inside = [s for s in starts if (first is None or s >= first) and (last is None or s < last)]
        return list(Counter(start // width for start in inside).items())

    return histogram


@given(
    starts=st.lists(
        st.integers(0, 400 * DAY // SECOND).map(lambda s: s * SECOND), min_size=1, max_size=60, unique=True
    ),
    share=st.floats(0, 1),
)
def test_a_border_has_the_share_before_it(starts: list[int], share: float) -> None:
    """As many threads begin before it as the share says, rounded down, because no two begin at once."""
    border = border_at(share, counting(starts))  # type: ignore[arg-type]
    assert sum(start < border for start in starts) == int(share * len(starts))


def test_threads_that_begin_at_once_stay_together() -> None:
    border = border_at(0.5, counting([5 * DAY] * 4 + [6 * DAY]))  # type: ignore[arg-type]
    assert border == 5 * DAY
    assert border_at(0.5, counting([])) == 0  # type: ignore[arg-type]


def test_dates_and_no_split() -> None:
    at = borders(Split((), "2018-01-01", "2019-01-01"), counting([]))  # type: ignore[arg-type]
    assert format_borders(at) == {"dev_from": "2018-01-01T00:00:00Z", "test_from": "2019-01-01T00:00:00Z"}
    assert borders(Split(()), counting([])) == ()  # type: ignore[arg-type]
    assert not Split(()).by_time
    assert Split().by_time


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shares": (0.5, 0.5)}, "shares must be three that add up to 1"),
        ({"shares": (0.5, 0.4, 0.2)}, "shares must be three that add up to 1"),
        ({"shares": (), "dev_from": "2018-01-01"}, "one border is missing"),
        ({"shares": (), "dev_from": "2019-01-01", "test_from": "2018-01-01"}, "after test"),
        ({"shares": (), "dev_from": "soon", "test_from": "2018-01-01"}, "cannot read the time 'soon'"),
    ],
)
def test_impossible_splits_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Split(**options)  # type: ignore[arg-type]
