"""Files of any layout become JSONL."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Sample, Score
from interloq.data.records.convert_file import convert_file, kind_held
from interloq.data.records.jsonl import header, load, write


def test_a_table_becomes_jsonl_and_is_counted(folder: Path) -> None:
    (folder / "a.csv").write_text("id,context,response,system\n1,hi,hello,s\n2,hi,no,t\n")
    facts = convert_file("a.csv", "a.jsonl.gz")
    assert (facts["kind"], facts["records"], facts["systems"]) == ("samples", 2, {"s": 1, "t": 1})
    assert load("a.jsonl.gz")[0] == Sample("1", ["hi"], "hello", (), "s")


def test_the_header_and_the_kind_are_kept(folder: Path) -> None:
    write("scores.jsonl", [Score("1", "bleu", 0.5)], kind="scores", results=[], note="x")
    assert kind_held("scores.jsonl") == "scores"
    assert convert_file("scores.jsonl", "again.jsonl")["kind"] == "scores"
    assert header("again.jsonl") == header("scores.jsonl")


def test_tables_are_not_written_and_inputs_not_replaced(folder: Path) -> None:
    write("a.jsonl", [Sample("1", ["hi"], "hello")], kind="samples")
    for output, what in (("b.csv", "JSONL"), ("b.tsv.gz", "JSONL"), ("a.jsonl", "also an input")):
        with pytest.raises(InputError, match=what):
            convert_file("a.jsonl", output)
    assert sorted(path.name for path in folder.iterdir()) == ["a.jsonl"]
