from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from interloq import InputError, Rating, Reference, RejectedWarning, Sample, Turn, evaluate, load, read
from interloq.data.records.jsonl import Rejected
from interloq.data.records.tables import write_table
from interloq.errors import ReadWarning
from tests.made_files import put

TABLE = """id,context,response,reference,reference_2,system,rating:overall:ann,rating:fluent:ann,rating
1,hi ||| how are you?,"fine, thanks",good,very well,bot,4,,5
2,"line one
line two",ok,yes,,bot,3,2,
"""


def test_columns_become_fields(tmp_path: Path) -> None:
    path = put(tmp_path / "samples.csv", TABLE)
    first, second = load(path)
    assert first.context == (Turn("hi"), Turn("how are you?"))
    assert first.response == "fine, thanks"
    assert first.references == (Reference("good"), Reference("very well"))
    assert first.ratings == (Rating(4.0, "ann"), Rating(None, "ann", "fluent"), Rating(5.0))
    assert second.context == (Turn("line one\nline two"),)
    assert second.references == (Reference("yes"),)


def test_tsv_and_compression(tmp_path: Path) -> None:
    path = put(tmp_path / "samples.tsv.gz", gzip.compress(b"response\treferences\r\nhello\ta ||| b\r\n"))
    (sample,) = load(path)
    assert (sample.id, sample.references) == ("2", (Reference("a"), Reference("b")))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("3,c,r", "3 cells for 9 columns"),
        ("3,c,r,g,,bot,four,,", "rating:overall:ann must be a number, got 'four'"),
        ("3,c,r,g,,bot,inf,,", "must be finite"),
        ("1,c,r,g,,bot,4,,", "duplicate id '1'"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, row: str, message: str) -> None:
    path = put(tmp_path / "samples.csv", TABLE + row + "\n4,c,r,g,,bot,4,,\n")
    with pytest.warns(RejectedWarning, match="1 of 4") as caught:
        assert [sample.id for sample in load(path)] == ["1", "2", "4"]
    assert message in str(caught[0].message)
    assert f"{path}:5: " in str(caught[0].message), "lines inside quoted cells count"


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("id,respons\n1,x\n", "name it in the first row or map it: --map response=respons"),
        ("id,system\n1,x\n", "no column 'response'"),
        ("response,rater,rating\na,ann,1\na,bob,2\n", "a column 'rater' but no column 'id'"),
    ],
)
def test_bad_columns_stop_at_once(tmp_path: Path, head: str, message: str) -> None:
    path = put(tmp_path / "samples.csv", head)
    with pytest.raises(InputError) as caught:
        load(path)
    assert message in str(caught.value)


def test_an_open_quote_and_bad_bytes_are_set_aside(tmp_path: Path) -> None:
    path = put(tmp_path / "samples.csv", b'id,response\n1,fine\n2,\xff\n3,fine\n4,"open')
    with pytest.warns(RejectedWarning) as caught:
        assert [sample.id for sample in load(path)] == ["1", "3"]
    assert "2 of 4 lines" in str(caught[0].message)
    with pytest.raises(InputError, match="cannot be read from a table"):
        load(path, kind="scores")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'id;response;reference\r\n1;"fine; thanks";good, really\r\n'),
        ("a.csv", "id\tresponse\treference\n1\tfine; thanks\tgood, really\n"),
        ("a.tsv", 'id,response,reference\n1,fine; thanks,"good, really"\n'),
    ],
)
def test_the_separator_is_seen_from_the_first_row(tmp_path: Path, name: str, text: str) -> None:
    path = put(tmp_path / name, text)
    assert load(path) == [Sample("1", (), "fine; thanks", ["good, really"])]


@pytest.mark.parametrize("content", [b"id,response\r1,x\r", b"id,res\0ponse\n1,x\n", b'id,"response\n1,x\n'])
def test_a_first_row_that_is_none_is_named(tmp_path: Path, content: bytes) -> None:
    path = put(tmp_path / "a.csv", content)
    with pytest.raises(InputError, match=r"a\.csv:1: (not a row of column names|no column)"):
        load(path)


def test_a_lone_carriage_return_in_a_row_is_set_aside(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", b"id,response\n1,fi\rne\n\n2,fine\n")
    with pytest.warns(RejectedWarning, match=r"a\.csv:2: not a valid row"):
        assert [sample.id for sample in load(path)] == ["2"]


def test_lines_are_counted_past_bad_bytes(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", b"id,response\n1,\xff\n2,fine\n3,a,b\n")
    rejected: list[Rejected] = []
    list(read(path, on_reject=rejected.append))
    assert [bad.where for bad in rejected] == [f"{path}:2", f"{path}:4"]


def test_columns_under_other_names(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",ID,Reply,model,annotator,rating\n0,7,fine,bot,ann,4\n")  # as pandas writes its index
    with pytest.warns(ReadWarning, match=r"a\.csv: 'reply' is read as 'response'; 'model' is read as 'system'; 'annot"):
        (sample,) = load(path)
    assert sample == Sample("7", (), "fine", (), "bot", [Rating(4.0, "ann")])


def test_columns_are_mapped_and_must_differ(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "Utterance,Bot A\nfine,bot\n")
    assert load(path, columns={"response": "Utterance", "system": "bot a"}) == [Sample("2", (), "fine", (), "bot")]
    path = put(tmp_path / "a.csv", "response,Response\na,b\n")
    with pytest.raises(InputError, match="two columns are named 'response'"):
        load(path)


def test_ratings_come_as_a_table_too(tmp_path: Path) -> None:
    path = put(tmp_path / "ratings.csv", "item;annotator;aspect;rating\n7;ann;fluent;4\n8;;;\n")
    with pytest.warns(ReadWarning):
        assert load(path, kind="ratings") == [Rating(4.0, "ann", "fluent", item="7"), Rating(None, item="8")]


def test_one_row_per_sample_and_rater(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,system,response,rater,rating\n1,x,a,ann,4\n1,y,b,ann,3\n1,x,a,bob,\n1,x,other,cem,1\n")
    with pytest.warns(RejectedWarning, match=r"1 of 3 lines .*a\.csv:5: duplicate id '1' of 'x'"):
        first, second = load(path)
    assert first == Sample("1", (), "a", (), "x", [Rating(4.0, "ann"), Rating(None, "bob")])
    assert second.ratings == (Rating(3.0, "ann"),)


@pytest.mark.parametrize("cell", ["N/A", "na", "-", "nan", "", " "])
def test_a_rating_that_is_not_applicable_does_not_cost_the_sample(tmp_path: Path, cell: str) -> None:
    (tmp_path / "a.csv").write_text(f"id,response,rating\n1,fine,{cell}\n2,good,4\n")
    assert [sample.ratings[0].value for sample in load(tmp_path / "a.csv")] == [None, 4]
    (tmp_path / "r.csv").write_text(f"item,rater,value\n1,ann,{cell}\n")
    assert load(tmp_path / "r.csv", kind="ratings") == [Rating(None, "ann", item="1")]


def test_further_columns_are_noted_and_misspelt_ones_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "id,response,topic,timestamp\n1,fine,food,5\n")
    with pytest.warns(ReadWarning, match=r"not fields of samples.*'topic', 'timestamp'"):
        assert load(path) == [Sample("1", (), "fine", fields={"topic": "food", "timestamp": "5"})]
    path.write_text("id,response,refrences\n1,fine,good\n")
    with pytest.raises(InputError, match=r"unknown column 'refrences'; did you mean.*--map references=refrences"):
        load(path)


def test_an_error_of_a_file_is_not_reworded_by_the_metric_that_reads_it(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "id,text,references\n1,fine,good\n")
    with pytest.raises(InputError, match="--map response=text"):
        evaluate("bleu", read(path))


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


def test_numbers_keep_their_digits(tmp_path: Path) -> None:
    write_table(tmp_path / "a.csv", ("value", "reason"), [(3.0, "x"), (1234.5678, "y"), (None, "z")])
    assert (tmp_path / "a.csv").read_text().splitlines()[1:] == ['3,"x"', '1234.5678,"y"', '"","z"']
