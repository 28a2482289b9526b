from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from interloq import InputError, Rating, Reference, RejectedWarning, Turn, load

TABLE = """id,context,response,reference,reference_2,system,rating:overall:ann,rating:fluent:ann,rating
1,hi ||| how are you?,"fine, thanks",good,very well,bot,4,,5
2,"line one
line two",ok,yes,,bot,3,2,
"""


def test_columns_become_fields(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(TABLE)
    first, second = load(path)
    assert first.context == (Turn("hi"), Turn("how are you?"))
    assert first.response == "fine, thanks"
    assert first.references == (Reference("good"), Reference("very well"))
    assert first.ratings == (Rating(4.0, "ann"), Rating(None, "ann", "fluent"), Rating(5.0))
    assert second.context == (Turn("line one\nline two"),)
    assert second.references == (Reference("yes"),)


def test_tsv_and_compression(tmp_path: Path) -> None:
    path = tmp_path / "samples.tsv.gz"
    path.write_bytes(gzip.compress(b"response\treferences\r\nhello\ta ||| b\r\n"))
    (sample,) = load(path)
    assert (sample.id, sample.references) == ("2", (Reference("a"), Reference("b")))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("3,c,r", "3 cells for 9 columns"),
        ("3,c,r,g,,bot,four,,", "rating:overall:ann must be a number, got 'four'"),
        ("3,c,r,g,,bot,nan,,", "must be finite"),
        ("1,c,r,g,,bot,4,,", "duplicate id '1'"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, row: str, said: str) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(TABLE + row + "\n4,c,r,g,,bot,4,,\n")
    with pytest.warns(RejectedWarning, match="1 of 4") as caught:
        assert [sample.id for sample in load(path)] == ["1", "2", "4"]
    assert said in str(caught[0].message)
    assert f"{path}:5: " in str(caught[0].message), "lines inside quoted cells count"


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("id,respons\n1,x\n", "unknown column 'respons'; did you mean 'response'?"),
        ("id,system\n1,x\n", "no column 'response'"),
    ],
)
def test_bad_columns_stop_at_once(tmp_path: Path, head: str, said: str) -> None:
    path = tmp_path / "samples.csv"
    path.write_text(head)
    with pytest.raises(InputError) as caught:
        load(path)
    assert said in str(caught.value)


def test_an_open_quote_and_bad_bytes_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_bytes(b'id,response\n1,fine\n2,\xff\n3,fine\n4,"open')
    with pytest.warns(RejectedWarning) as caught:
        assert [sample.id for sample in load(path)] == ["1", "3"]
    assert "2 of 4 lines" in str(caught[0].message)
    with pytest.raises(InputError, match="cannot be read from a table"):
        load(path, kind="scores")
