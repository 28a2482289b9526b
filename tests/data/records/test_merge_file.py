"""Ratings merged into the records that they rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import load
from interloq.cli.main import main
from interloq.data.records.convert_file import convert_file
from interloq.data.records.jsonl import write
from interloq.data.records.merge_file import merge_file
from interloq.errors import InputError
from interloq.play.samples import system_ratings
from interloq.records import Dialogue, Rating, Sample, Turn


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    records = [Sample("1", ["Hi"], "a", system="x"), Sample("1", ["Hi"], "b", system="y"), Sample("2", ["Ho"], "c")]
    write(tmp_path / "samples.jsonl", records, kind="samples", source="test")
    return tmp_path / "samples.jsonl"


def test_ratings_are_added_once(samples: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,system,rater,value\n1,x,ann,5\n2,,ann,3\n2,,bob,\n")
    write(tmp_path / "b.jsonl", [Rating(4, "bob", "fluency", item="1", system="y")], kind="ratings")
    files = [tmp_path / "a.csv", tmp_path / "b.jsonl"]
    facts = merge_file(samples, files, tmp_path / "out.jsonl")
    assert (facts["added"], facts["repeated"], facts["unknown"]) == (4, 0, 0)
    x, y, two = load(tmp_path / "out.jsonl")
    assert x.ratings == (Rating(5.0, "ann"),)
    assert y.ratings == (Rating(4.0, "bob", "fluency"),)
    assert two.ratings == (Rating(3.0, "ann"), Rating(None, "bob"))
    again = merge_file(tmp_path / "out.jsonl", files, tmp_path / "again.jsonl")
    assert (again["added"], again["repeated"]) == (0, 4)
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes()


def test_a_rating_of_a_dialogue_keeps_its_system(tmp_path: Path) -> None:
    turns = [Turn("Hi", "A"), Turn("Ho", "P")]
    write(tmp_path / "d.jsonl", [Dialogue("d", turns, {"A": "bot", "P": "partner"})], kind="dialogues")
    (tmp_path / "r.csv").write_text("item,system,value\nd,bot,5\nd,partner,1\n")
    merge_file(tmp_path / "d.jsonl", [tmp_path / "r.csv"], tmp_path / "o.jsonl")
    (rated,) = load(tmp_path / "o.jsonl", kind="dialogues")
    assert rated.ratings == (Rating(5.0, system="bot"), Rating(1.0, system="partner"))
    assert system_ratings(rated, "bot") == [Rating(5.0, system="bot")]


def test_a_rating_of_an_unknown_system_is_not_attached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "d.jsonl", [Dialogue("d", ["Hi"], {"a": "x"})], kind="dialogues")
    (tmp_path / "r.csv").write_text("item,system,value\nd,y,5\n")
    out = tmp_path / "o.jsonl"
    assert main(["data", "merge", str(tmp_path / "d.jsonl"), str(tmp_path / "r.csv"), "-o", str(out)]) == 1
    assert "'d' of 'y'" in capsys.readouterr().err
    assert load(out, kind="dialogues")[0].ratings == ()


def test_equal_ratings_without_a_rater_are_all_kept_but_a_file_is_merged_once(samples: Path, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("item,value\n2,5\n2,5\n2,1\n")
    merge_file(samples, [tmp_path / "r.csv"], tmp_path / "o.jsonl")
    values = [rating.value for rating in load(tmp_path / "o.jsonl")[2].ratings]
    assert values == [5, 5, 1]
    again = merge_file(tmp_path / "o.jsonl", [tmp_path / "r.csv", tmp_path / "r.csv"], tmp_path / "again.jsonl")
    assert (again["added"], again["repeated"]) == (0, 6)
    (tmp_path / "more.csv").write_text("item,value\n2,5\n")  # another person gave the same rating
    assert merge_file(tmp_path / "o.jsonl", [tmp_path / "more.csv"], tmp_path / "more.jsonl")["added"] == 1


def test_unknown_and_ambiguous_items_are_reported(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.csv").write_text("item,rater,value\n2,ann,3\nelsewhere,ann,3\n")
    assert main(["data", "merge", str(samples), str(tmp_path / "r.csv"), "-o", str(tmp_path / "o.jsonl")]) == 1
    printed = capsys.readouterr()
    assert "3 samples, 1 rating added, 0 there already" in printed.out
    assert "1 rating of unknown items or systems not added, such as 'elsewhere'" in printed.err
    (tmp_path / "r.csv").write_text("item,rater,value\n1,ann,3\n")
    with pytest.raises(InputError, match="a sample of 2 systems"):
        merge_file(samples, [tmp_path / "r.csv"], tmp_path / "o.jsonl")
    with pytest.raises(InputError, match="also an input"):
        merge_file(samples, [tmp_path / "r.csv"], samples)


@pytest.mark.parametrize("kind", ["samples", "dialogues"])
def test_further_fields_survive(tmp_path: Path, kind: str) -> None:
    text = {"samples": '"response": "x"', "dialogues": '"turns": ["x"]'}[kind]
    (tmp_path / "a.jsonl").write_text(f'{{"kind": "{kind}", "schema": 1}}\n{{"id": "1", {text}, "topic": "food"}}\n')
    (tmp_path / "r.csv").write_text("item,rater,value\n1,ann,4\n")
    merge_file(tmp_path / "a.jsonl", [tmp_path / "r.csv"], tmp_path / "b.jsonl")
    convert_file(tmp_path / "b.jsonl", tmp_path / "c.jsonl")
    (record,) = load(tmp_path / "c.jsonl", kind=kind)
    assert record.fields == {"topic": "food"}
    assert [rating.value for rating in record.ratings] == [4]
