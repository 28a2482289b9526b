"""A sample is its id and its system, in every verb."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq import Rating, Reference, Sample, evaluate, load, write
from interloq.cli.main import main
from interloq.records import Key, SampleKeys

Captured = pytest.CaptureFixture[str]
METRIC = "bleu(level='sentence',order=1)"


@pytest.fixture
def shared(folder: Path) -> list[Sample]:
    """Two systems with the same ids, and one sample of no system."""
    replies = {"one": ("yes it was", "no", "maybe so"), "two": ("it was not", "never", "so it goes")}
    found = [
        Sample(str(i), f"question {i}", reply, ["yes it was so"], system, [Rating(float(len(reply)), "ann")])
        for system, given in replies.items()
        for i, reply in enumerate(given)
    ]
    found.append(Sample("0", "question 0", "yes", ["yes it was so"], ratings=[Rating(3.0, "ann")]))
    write("samples.jsonl", found, kind="samples")
    return found


def run(*arguments: str) -> None:
    assert main([*arguments, "--quiet"]) == 0


def scores(path: str = "scores.jsonl") -> dict[Key, float | None]:
    return {score.key: score.value for score in load(path, kind="scores")}


def test_every_sample_is_scored_and_every_system_has_a_row(shared: list[Sample], capsys: Captured) -> None:
    run("score", "samples.jsonl", "-m", "length", "-o", "scores.jsonl", "--bootstrap", "0", "--json")
    rows = {row["system"]: (row["value"], row["n"]) for row in json.loads(capsys.readouterr().out)["results"]}
    assert rows == {"": (2.0, 7), "one": (2.0, 3), "two": (7 / 3, 3), "(none)": (1.0, 1)}
    assert scores() == {sample.key: len(sample.response.split()) for sample in shared}
    run("score", "samples.jsonl", "-m", "length", "--bootstrap", "0")
    assert "(none)" in capsys.readouterr().out


def test_the_same_id_and_system_twice_is_refused(shared: list[Sample], capsys: Captured) -> None:
    write("twice.jsonl", [*shared, shared[0]], kind="samples")
    assert main(["score", "twice.jsonl", "-m", "length", "--strict"]) == 2
    assert "twice.jsonl:9: duplicate id '0' of 'one', first seen in line 2" in capsys.readouterr().err
    write("named.jsonl", [*shared, replace(shared[0], system="(none)")], kind="samples")
    assert main(["score", "named.jsonl", "-m", "length"]) == 2
    assert "a system is called '(none)'" in capsys.readouterr().err


def test_meta_and_report_see_every_sample(shared: list[Sample], capsys: Captured) -> None:
    run("score", "samples.jsonl", "-m", "length", "-m", METRIC, "-o", "scores.jsonl", "--bootstrap", "0")
    capsys.readouterr()
    run("meta", "scores.jsonl", "--samples", "samples.jsonl", "--json", "--bootstrap", "0")
    table = json.loads(capsys.readouterr().out)
    assert [row["with_mean"]["spearman"]["n"] for row in table["rows"]] == [7, 7]
    assert not any("without a sample" in note for note in table["notes"])
    run("report", "scores.jsonl", "--samples", "samples.jsonl", "-o", "report.html", "--json", "--bootstrap", "0")
    said = json.loads(capsys.readouterr().out)
    assert (said["samples"], said["judgments"]) == (7, 7)
    assert "1 sample without a system, shown as (none)." in said["warnings"]


def test_scores_without_a_system_are_of_the_only_sample_with_their_id(shared: list[Sample], capsys: Captured) -> None:
    lines = [{"id": sample.id, "metric": "mine", "value": float(i)} for i, sample in enumerate(shared[:3])]
    Path("scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write("one.jsonl", shared[:3], kind="samples")
    run("meta", "scores.jsonl", "--samples", "one.jsonl", "--json", "--bootstrap", "0")
    assert json.loads(capsys.readouterr().out)["rows"][0]["with_mean"]["pearson"]["n"] == 3
    run("report", "scores.jsonl", "--samples", "one.jsonl", "-o", "report.html", "--bootstrap", "0")
    for verb in (["meta"], ["report", "-o", "report.html"]):
        assert main([*verb, "scores.jsonl", "--samples", "samples.jsonl"]) == 2
        assert "'1' is a sample of 2 systems: 'one', 'two'; name one of the systems" in capsys.readouterr().err


def test_explain_asks_which_sample_is_meant(shared: list[Sample], capsys: Captured) -> None:
    assert main(["explain", "0", "samples.jsonl"]) == 2
    assert "'0' is a sample of 3 systems: '(none)', 'one', 'two'" in capsys.readouterr().err
    found = evaluate(METRIC, shared).by_sample
    for key in (("1", "one"), ("1", "two"), ("0", "")):
        run("explain", key[0], "samples.jsonl", "--system", key[1], "-m", METRIC, "--json")
        facts: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert (facts["system"], facts["score"]) == (key[1], found[key])


def test_a_rating_with_a_system_is_of_that_system_alone(shared: list[Sample], capsys: Captured) -> None:
    ratings = [Rating(5.0, "ann", item="1/0", system="one"), Rating(1.0, "bob", item="1/0", system="two")]
    write("ratings.jsonl", [*ratings, Rating(3.0, "eve", item="2/0")], kind="ratings")
    human = "human(ratings='ratings.jsonl',gold=False)"
    run("rate", "samples.jsonl", "--rater", human, "-o", "rated.jsonl")
    weights = {sample.key: sample.references[0].weight for sample in load("rated.jsonl")}
    assert (weights["1", "one"], weights["1", "two"], weights["2", "one"], weights["0", "one"]) == (1, -1, 0, 0)
    other = [replace(sample, references=(Reference(sample.system),)) for sample in shared]
    write("other.jsonl", other, kind="samples")
    capsys.readouterr()
    assert main(["rate", "other.jsonl", "--rater", human, "-o", "again.jsonl"]) == 2
    assert "the rating of '2/0' has no system, but systems have different references" in capsys.readouterr().err


def test_the_signature_tells_sets_apart_by_who_said_what(shared: list[Sample]) -> None:
    others = [replace(sample, system={"one": "two", "two": "one"}.get(sample.system, "")) for sample in shared]
    first, second = (evaluate("length", samples) for samples in (shared, others))
    assert first.value == second.value
    assert first.signature != second.signature
    assert evaluate("length", shared[::-1]).signature == first.signature


def test_known_finds_samples() -> None:
    known = SampleKeys([("1", "a"), ("2", "a"), ("2", "b"), ("3", ""), ("3", "a")])
    assert (known.find("1"), known.find("1", "b"), known.find("4")) == (("1", "a"), None, None)
    assert (known.find("2", "b"), known.find("3")) == (("2", "b"), ("3", ""))
