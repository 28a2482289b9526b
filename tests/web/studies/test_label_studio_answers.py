"""Annotations from Label Studio as records."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq import Dialogue, InputError, Rating, Sample
from interloq.data.pseudonyms import Pseudonyms
from interloq.data.records.jsonl import load, write
from interloq.web.studies.label_studio_answers import label_studio_answers
from interloq.web.studies.label_studio_tasks import LabelStudioOptions, label_studio_file

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "label_studio.json").read_text("utf-8"))


def result(type: str, name: str = "overall", **value: Any) -> dict[str, Any]:
    return {"id": "x", "from_name": name, "to_name": "shown_reply", "type": type, "value": value}


def annotation(*results: Any, by: Any = 7, **more: Any) -> dict[str, Any]:
    return {"id": 1, "completed_by": by, "result": list(results), "was_cancelled": False, **more}


def export(tasks: list[Any]) -> str:
    Path("export.json").write_text(json.dumps(tasks))
    return "export.json"


def exported(name: str) -> str:
    """A real export, with its key file."""
    Path("key.json").write_text(json.dumps(GOLDEN[name]["key"]))
    return export(GOLDEN[name]["export"])


def one(*annotations: Any, **data: Any) -> str:
    return export([{"id": 5, "data": {"context": "hi", "response": "yes", **data}, "annotations": list(annotations)}])


@pytest.mark.parametrize("kind", ["samples", "dialogues"])
def test_a_round_trip_keeps_the_records_and_adds_ratings(folder: Path, kind: str) -> None:
    records: list[Any] = [Sample("1", ["hi"], "yes", "gold", name, [2.0]) for name in ("old", "new")]
    if kind == "dialogues":
        records = [Dialogue(name, ["hi", "yes"], {"b": name}) for name in ("old", "new")]
    write("records.jsonl", records, kind=kind)
    label_studio_file("records.jsonl", "tasks.json")
    stored = json.loads(Path("tasks.key.json").read_text())["tasks"]
    tasks = json.loads(Path("tasks.json").read_text())
    tasks[0]["annotations"] = [annotation(result("rating", rating=4), by={"id": 7, "email": "a@example.com"})]
    tasks[1]["annotations"] = []
    name = Pseudonyms("k" * 32)
    facts = label_studio_answers(export(tasks), "rated.jsonl", key="tasks.key.json", names=name)
    assert (facts["kind"], facts["records"], facts["skipped"]) == (kind, 2, {})
    rated = stored[tasks[0]["data"]["interloq_key"]]["units"][0]
    new = Rating(4.0, name("7"), "overall", "outsider")
    chosen = [r for r in records if rated["system"] in (getattr(r, "system", ""), r.id)]
    expected = [replace(r, ratings=(*r.ratings, new)) if r in chosen else r for r in records]
    assert len(chosen) == 1
    assert sorted(load("rated.jsonl", kind=kind), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(
    ("name", "counts", "values"),
    [
        ("rate", {"kind": "samples", "records": 4, "cancelled": 1}, [1, 2, 3, 3, 4, 5]),
        ("talks", {"kind": "dialogues", "records": 2, "cancelled": 0}, [1, 2]),
    ],
)
def test_ratings_entered_in_label_studio_itself(
    folder: Path, name: str, counts: dict[str, Any], values: list[float]
) -> None:
    facts = label_studio_answers(exported(name), "rated.jsonl", key="key.json")
    assert facts == {**counts, "skipped": {}}
    records = load("rated.jsonl", kind=counts["kind"])
    assert sorted(rating.value for one in records for rating in one.ratings) == values
    assert {rating.rater for one in records for rating in one.ratings} == {"1"}


def test_preferences_entered_in_label_studio_itself(folder: Path) -> None:
    label_studio_answers(exported("pairs"), "preferences.jsonl", key="key.json")
    found = [(one.item, one.winner, one.reason) for one in load("preferences.jsonl", kind="preferences")]
    assert found == [("2", "parrot", "longer & <warmer>"), ("1", "", "typed only")]


def test_comparisons_become_preferences_with_ties_and_reasons(folder: Path) -> None:
    samples = [Sample("1", ["hi"], name, system=f"bot-{name}") for name in ("good", "bad")]
    write("samples.jsonl", samples, kind="samples")
    label_studio_file("samples.jsonl", "tasks.json", LabelStudioOptions(compare=True))
    (task,) = json.loads(Path("tasks.json").read_text())
    side = next(side for side in ("left", "right") if task["data"][side] == "good")
    task["annotations"] = [
        annotation(result("choices", choices=[side]), result("textarea", "reason", text=["more", "polite"])),
        annotation(result("pairwise", selected=side), by="ann@example.com"),
        annotation(result("choices", choices=["tie"]), by=None),
    ]
    label_studio_answers(export([task]), "preferences.jsonl", key="tasks.key.json")
    first, second, third = load("preferences.jsonl", kind="preferences")
    assert (first.item, first.winner, first.rater, first.reason) == ("1", "bot-good", "7", "more polite")
    assert (second.winner, second.rater) == ("bot-good", "ann@example.com")
    assert (third.winner, third.rater, set(third.systems)) == ("", "", {"bot-good", "bot-bad"})


def test_data_of_other_projects_is_read_as_samples(folder: Path) -> None:
    results = [result("number", "length", number=3), result("choices", "fit", choices=["2"]), result("labels", "x")]
    one(annotation(*results), annotation(was_cancelled=True))
    facts = label_studio_answers("export.json", "rated.jsonl")
    assert (facts["cancelled"], facts["skipped"]) == (1, {"labels": 1})
    (sample,) = load("rated.jsonl")
    assert (sample.id, sample.response) == ("5", "yes")
    assert [(r.aspect, r.value, r.rater) for r in sample.ratings] == [("length", 3.0, "7"), ("fit", 2.0, "7")]


@pytest.mark.parametrize(
    ("tasks", "what"),
    [
        ({}, "export.json: expected a JSON list"),
        ([3], "task 1: 'data' must be a dict"),
        ([{"data": {}}], "task 1: 'annotations' must be a list"),
        ([{"data": {}, "annotations": [{}]}], "task 1, annotation 1: 'result' must be a list"),
        ([{"data": {}, "annotations": []}], "task 1: the data of the task is not a sample"),
        ([{"data": {"interloq_key": "x"}, "annotations": []}], "task 1: the task was written by Interloq"),
    ],
)
def test_malformed_tasks_are_named(folder: Path, tasks: Any, what: str) -> None:
    with pytest.raises(InputError, match=what):
        label_studio_answers(export(tasks), "rated.jsonl")
    assert not Path("rated.jsonl").exists()


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (result("rating", rating="4"), "a rating must be a number, got '4'"),
        (result("rating"), "needs 'from_name' and 'rating' in its 'value'"),
        ({"type": "rating", "from_name": "a", "value": 3}, "needs 'from_name' and 'rating'"),
        (result("choices", choices=["good"]), "the choice 'good' is not a number"),
        (result("choices", choices=["1", "2"]), "expected one choice"),
        (result("number", number=True), "a number must be a number, got True"),
        ("x", "'type' must be a str"),
    ],
)
def test_malformed_results_are_named(folder: Path, answer: Any, what: str) -> None:
    one(annotation(), annotation(result("rating", rating=1), answer))
    with pytest.raises(InputError, match=rf"export.json: task 1, annotation 2, result 2: .*{what}"):
        label_studio_answers("export.json", "rated.jsonl")


def test_wrong_key_files_and_contradicting_tasks_are_refused(folder: Path) -> None:
    one(annotation(by=[1]))
    with pytest.raises(InputError, match="'completed_by' must be an id"):
        label_studio_answers("export.json", "rated.jsonl")
    one(text="no")
    with pytest.raises(InputError, match="reply"):
        label_studio_answers("export.json", "rated.jsonl", columns={"references": "reply"})
    one(interloq_key="unknown")
    for text, what in (("{}", "not a key file"), ('{"kind": "samples", "tasks": {}}', "task 1: interloq_key")):
        Path("key.json").write_text(text)
        with pytest.raises(InputError, match=what):
            label_studio_answers("export.json", "rated.jsonl", key="key.json")
    task = {"id": 5, "data": {"response": "yes"}, "annotations": []}
    with pytest.raises(InputError, match="task 2: another task has a different sample '5'"):
        label_studio_answers(export([task, {**task, "data": {"response": "no"}}]), "rated.jsonl")


def test_a_key_file_with_the_same_record_twice_is_refused(folder: Path) -> None:
    write("samples.jsonl", [Sample(str(i), ["hi"], "yes") for i in range(2)], kind="samples")
    label_studio_file("samples.jsonl", "tasks.json")
    key = json.loads(Path("tasks.key.json").read_text())
    first, second = key["tasks"]
    key["tasks"][second] = key["tasks"][first]
    Path("tasks.key.json").write_text(json.dumps(key))
    with pytest.raises(InputError, match="are of the same record"):
        label_studio_answers(one(), "rated.jsonl", key="tasks.key.json")
