"""CSV and TSV as they are written."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from interloq import load
from interloq.data.files.table_writer import guard, unguard, write_table
from interloq.records import Rating

HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "''-1"]
HARMLESS = ["", "a=1", "'tis", "3-1", "日本語", "' =1"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
def test_texts_stay_in_their_cells_and_come_back(name: str, tmp_path: Path) -> None:
    texts = [*HOSTILE, *HARMLESS, 'x\r=1,"\t', "a;=1"]
    write_table(tmp_path / name, ("item", "system", "rater", "value"), [(f"{t}x", f"{t}y", t, -0.5) for t in texts])
    ratings = load(tmp_path / name, kind="ratings")
    assert [one for one in ratings if not isinstance(one, Rating) or one.value != -0.5] == []
    assert [(one.item, one.system, one.rater) for one in ratings] == [(f"{t}x", f"{t}y", t) for t in texts]


def test_no_text_cell_begins_like_a_formula(tmp_path: Path) -> None:
    write_table(tmp_path / "a.csv", ("=x", "value"), [(text, 2.0) for text in HOSTILE])
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert [row[0][0] for row in rows] == ["'"] * (len(HOSTILE) + 1)
    assert [len(row) for row in rows] == [2] * (len(HOSTILE) + 1)


@pytest.mark.parametrize("text", [*HOSTILE, *HARMLESS])
def test_the_guard_can_be_removed(text: str) -> None:
    assert unguard(guard(text)) == text


def test_numbers_keep_their_digits(tmp_path: Path) -> None:
    write_table(tmp_path / "a.csv", ("value", "reason"), [(3.0, "x"), (1234.5678, "y"), (None, "z")])
    assert (tmp_path / "a.csv").read_text().splitlines()[1:] == ['3,"x"', '1234.5678,"y"', '"","z"']
