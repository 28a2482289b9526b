"""The modules of `interloq.data.corpus`: characters, clean shard, split, times."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError
from interloq.data.corpus import clean
from interloq.data.corpus.characters import SCRIPTS, scripts_of
from interloq.data.corpus.clean import NO_TIME, Cleaning
from interloq.data.corpus.clean_shard import clean_shard, cut, read_counts
from interloq.data.corpus.shards import Logs
from interloq.data.corpus.split import Split, border_at, borders, format_borders
from interloq.data.corpus.times import DAY, LATEST_SECONDS, SECOND, iso, microseconds
from tests.data.corpus.made_logs import OWN, lines


@pytest.mark.parametrize(
    ("texts", "normal"),
    [
        (["Hello, World!", "hello world", "HELLO_WORLD …"], "helloworld"),
        (["Straße 5", "STRASSE5"], "strasse5"),
        (["कि क्या?", "कि  क्या"], "किक्या"),  # vowel signs are kept
        (["...", "!?"], ""),
    ],
)
def test_normalised_texts_forget_case_marks_and_spaces(texts: list[str], normal: str) -> None:
    assert {clean.letters_and_digits(text) for text in texts} == {normal}
    assert clean.without_digits("room12a3") == "rooma"


@pytest.mark.parametrize(
    ("text", "lang", "share"),
    [
        ("これは日本語です", "ja", 1.0),
        ("これは ok", "ja", 3 / 5),
        ("abc 123", "en", 3 / 6),
        ("Привет", "ru", 1.0),
        ("123", "en", 0.0),
        ("안녕 hello", "ko", 2 / 7),
    ],
)
def test_script_share(text: str, lang: str, share: float) -> None:
    assert clean.script_share(text, scripts_of(lang)) == share


def test_scripts_do_not_overlap() -> None:
    seen: dict[int, str] = {}
    for name, ranges in SCRIPTS.items():
        for first, last in ranges:
            for code in range(first, last + 1):
                assert code not in seen, f"{code:x} is in {seen.get(code)} and {name}"
                seen[code] = name


duckdb = pytest.importorskip("duckdb")


def clean_posts(folder: Path, *values: object, strict: bool = False) -> Path:
    (shard,) = Logs([lines(folder / "posts.jsonl", *values)], "auto", {}).shards()
    clean_shard(shard, Cleaning(), folder, 2, strict)
    return folder


def test_posts_are_kept_dropped_or_set_aside_and_counted(tmp_path: Path) -> None:
    blank = [OWN | {"id": f"b{i}", "text": " "} for i in range(3)]
    folder = clean_posts(tmp_path, OWN | {"text": "good morning"}, b"{broken\n", *blank)
    counts = read_counts(folder, 0)
    assert counts is not None
    assert (sum(counts["read"].values()), counts["kept"], counts["rejected"]) == (4, 1, 1)
    assert sum(counts["dropped"].values()) == 3
    (examples,) = counts["examples"].values()
    assert [example["id"] for example in examples] == ["b0", "b1"], "as many as asked for"
    (text,) = duckdb.execute("SELECT text FROM read_parquet(?)", [str(folder / "000000.parquet")]).fetchall()
    assert text == ("good morning",)
    (bad,) = map(orjson.loads, (folder / "000000.rejected").read_bytes().splitlines())
    assert (bad["where"].split(":")[-1], bad["line"]) == ("2", "{broken")


def test_the_counts_are_there_only_when_all_is_written(tmp_path: Path) -> None:
    assert read_counts(tmp_path, 0) is None
    with pytest.raises(InputError, match=r"posts\.jsonl:2"):
        clean_posts(tmp_path, OWN, b"{broken\n", strict=True)
    assert read_counts(tmp_path, 0) is None
    assert gc.isenabled()


def test_long_examples_are_cut() -> None:
    assert cut("a" * 200) == "a" * 200
    assert cut("a" * 201) == "a" * 199 + "…"


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
