from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq.data.corpus.clean import NO_TIME
from interloq.data.corpus.times import LATEST_SECONDS, SECOND, iso, microseconds
from interloq.errors import InputError

MOMENT = datetime(2018, 10, 10, 20, 19, 24, tzinfo=UTC)
SECONDS = int(MOMENT.timestamp())


@pytest.mark.parametrize(
    "written",
    [
        SECONDS,
        float(SECONDS),
        SECONDS * 1_000,
        SECONDS * 1_000_000,
        SECONDS * 1_000_000_000,
        str(SECONDS),
        f"{SECONDS}.0",
        "2018-10-10T20:19:24Z",
        "2018-10-10T20:19:24.000+00:00",
        "2018-10-10 20:19:24",
        "2018-10-11T05:19:24+09:00",
        "Wed Oct 10 20:19:24 +0000 2018",
        "Thu Oct 11 01:49:24 +0530 2018",
        "Wed Oct 10 16:49:24 -0330 2018",
    ],
)
def test_one_moment_written_in_many_ways(written: object) -> None:
    assert microseconds(written) == SECONDS * SECOND
    assert iso(microseconds(written)) == "2018-10-10T20:19:24Z"


@pytest.mark.parametrize("written", [None, "", "nan", "NaN", "null", "None", float("nan"), float("inf")])
def test_missing_times(written: object) -> None:
    assert microseconds(written) == NO_TIME
    assert iso(NO_TIME) == ""


@pytest.mark.parametrize(
    "written",
    ["yesterday", -5, "99999-01-01", True, [1], {"t": 1}, 10**30, "Wed Foo 10 20:19:24 +0000 2018", "1895-01-01"],
)
def test_what_cannot_be_read_is_said(written: object) -> None:
    with pytest.raises(InputError, match="cannot read the time"):
        microseconds(written)


def test_dates_are_no_numbers() -> None:
    assert iso(microseconds("20181010")) == iso(microseconds("2018-10-10")) == "2018-10-10T00:00:00Z"
    assert microseconds("0") == 0


@given(st.integers(0, LATEST_SECONDS * SECOND))
def test_iso_says_the_time_and_sorts_like_it(time: int) -> None:
    assert microseconds(iso(time)) == time
    assert datetime.fromisoformat(iso(time)).timestamp() == pytest.approx(time / SECOND)
