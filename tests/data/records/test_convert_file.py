"""Files of any layout become JSONL."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Dialogue, InputError, Rating, Sample, Score, Turn
from interloq.data.records.convert_file import RecordSummary, convert_file, kind_held
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


def test_samples_and_their_ratings_are_counted(samples: list[Sample]) -> None:
    summary = RecordSummary()
    rated = [*samples, Sample("7", (), "x", (), "", [Rating(None), Rating(2, "rater-0", "fluency")])]
    assert list(summary.watch(rated)) == rated
    facts = summary.facts()
    assert (facts["records"], facts["systems"]) == (7, {"bad": 3, "good": 3})
    assert facts["references"] == {"0": 1, "2": 6}
    assert (facts["raters"], facts["ratings"], facts["ratings_without_rater"]) == (3, 20, 1)
    assert facts["aspects"] == {
        "fluency": {"ratings": 1, "not_applicable": 0},
        "overall": {"ratings": 19, "not_applicable": 1},
    }
    assert "metrics" not in facts


def test_scores_and_dialogues_are_counted() -> None:
    summary = RecordSummary()
    for record in (Score("1", "bleu", 0.5, system="a"), Score("2", "bleu", None, "no references")):
        summary.add(record)
    facts = summary.facts()
    assert (facts["metrics"], facts["unscored"], facts["systems"]) == ({"bleu": 2}, 1, {"a": 1})
    other = RecordSummary()
    other.add(Dialogue("1", [Turn("hi", "x"), Turn("hello", "y")], {"x": "a", "y": "b"}))
    assert other.facts()["systems"] == {"a": 1, "b": 1}
