"""Tasks from files of records and settings."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from interloq.data.records.jsonl import write
from interloq.errors import InputError
from interloq.records import Dialogue, Score
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from interloq.web.database import open_database
from interloq.web.schema import item
from interloq.web.serve_options import TaskFileOptions
from interloq.web.studies.task_file import add_to_study, default_name, read_settings
from interloq.web.studies.tasks import find_task
from tests.reliability.made_predictor import use
from tests.web.conftest import replies
from tests.web.made_references import SAMPLES, references_task

CHECK = {"context": ["Say five."], "response": "five", "correct": {"overall": [4, 5]}}
PAIR = {"context": ["Hi"], "responses": ["Hello!", "xx"], "correct": {"overall": "first"}}


def settings_file(path: Path, **value: Any) -> Path:
    (path / "task.json").write_text(json.dumps(value))
    return path / "task.json"


def test_a_file_and_settings_become_a_task(tmp_path: Path) -> None:
    path = settings_file(
        tmp_path, title="Replies", per_item=2, checks=[CHECK, {"turns": ["Hi"], "correct": {"overall": 1}}]
    )
    settings = read_settings(path, default_name="samples", kind="rate", per_item=4)
    assert (settings.task.name, settings.task.title, settings.task.per_item) == ("samples", "Replies", 4)
    write(tmp_path / "samples.jsonl", replies(3), kind="samples")
    facts = add_to_study(tmp_path / "study.db", tmp_path / "samples.jsonl", settings)
    needs = {"people": 4, "pages": 3, "answers": 6}
    assert facts == {"task": "samples", "number": 1, "items": 3, "checks": 2, "records": 6, "needs": needs}
    with closing(open_database(tmp_path / "study.db")) as database, database.reading() as connection:
        assert find_task(connection, "samples").source["kind"] == "samples"
        correct = connection.execute(select(item.c.correct).order_by(item.c.place)).scalars().all()
    assert correct == [None, None, None, {"overall": [4.0, 5.0]}, {"overall": [1.0]}]


@pytest.mark.parametrize("names", [("toxicity", "error_rate"), ("bleu", "toxicity"), ("bleu", "chrf")])
def test_scores_whose_direction_is_unknown_are_named_and_end_no_task(tmp_path: Path, names: tuple[str, str]) -> None:
    write(tmp_path / "samples.jsonl", replies(3), kind="samples")
    found = [Score(one.id, name, 0.5, system=one.system) for one in replies(3) for name in names]
    write(tmp_path / "scores.jsonl", found, kind="scores")
    study, samples = tmp_path / "study.db", tmp_path / "samples.jsonl"
    options = TaskFileOptions(scores=tmp_path / "scores.jsonl")
    facts = add_to_study(study, samples, read_settings(None, kind="rate", name="watched"), options)
    assert ("toxicity" in facts.get("warning", "")) == ("toxicity" in names)
    path = settings_file(tmp_path, stop_when_settled=True, settled_by="metrics")
    settings = read_settings(path, kind="rate", name="ending")
    if "toxicity" not in names:
        assert add_to_study(study, samples, settings, options)["items"] == 3
        return
    with pytest.raises(InputError, match="settled_by 'metrics' needs scores of two metrics"):
        add_to_study(study, samples, settings, options)


@pytest.mark.parametrize(
    ("kind", "language", "text", "labels"),
    [
        ("rate", "en", "How good is it?", ("bad", "good")),
        ("compare", "ja", "どちらが良いですか？", ()),
        ("references", "en", None, None),
    ],
)
def test_without_settings_people_are_asked_a_question_and_not_an_aspect(
    kind: str, language: str, text: str | None, labels: tuple[str, ...] | None
) -> None:
    task = read_settings(None, default_name="x", kind=kind, language=language).task
    assert [(one.aspect, one.text, one.labels) for one in task.questions] == [("overall", text, labels)] * bool(text)


def test_a_missing_kind_names_the_option() -> None:
    with pytest.raises(InputError, match="choose one with --task: rate, compare, references, references-rating, chat"):
        read_settings(None, default_name="x", kind=None)


def test_checks_of_comparisons_name_the_place_of_the_reply() -> None:
    settings = read_settings(None, default_name="x", kind="compare", checks=[PAIR])
    assert [question.control for question in settings.task.questions] == ["choice"]
    assert settings.checks[0].correct == {"overall": ["a"]}


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ({**CHECK, "correct": {}}, "no correct answers"),
        ({**CHECK, "correct": {"overall": []}}, "no correct answer for"),
        ({**CHECK, "correct": {"overall": [6]}}, "not on the scale"),
        ({**CHECK, "correct": {"fluency": [1]}}, "no question has the aspect"),
        ({**CHECK, "respnse": "x"}, "did you mean 'response'"),
        ({"context": ["Hi"], "correct": {"overall": 1}}, "response is missing"),
        ([], "list of objects"),
    ],
)
def test_bad_checks_are_refused(tmp_path: Path, check: object, message: str) -> None:
    path = settings_file(tmp_path, kind="rate", name="x", checks=[check])
    with pytest.raises(InputError, match=message) as raised:
        read_settings(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000, '{"kind": "rate", "titel": ""}'])
def test_bad_settings_name_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "task.json").write_text(text)
    with pytest.raises(InputError, match=r"task\.json"):
        read_settings(tmp_path / "task.json", default_name="x", kind="rate")


def test_a_refused_file_adds_nothing(tmp_path: Path) -> None:
    settings = read_settings(None, default_name="x", kind="compare")
    write(tmp_path / "samples.jsonl", replies(3, ["one"]), kind="samples")
    for path, message in ((tmp_path / "samples.jsonl", "nothing to compare"), (Path("-"), "not a pipe")):
        with pytest.raises(InputError, match=message):
            add_to_study(tmp_path / "study.db", path, settings)
    write(tmp_path / "scores.jsonl", [Score("1", "bleu", 0.5)], kind="scores")
    with pytest.raises(InputError, match="contains scores"):
        add_to_study(tmp_path / "study.db", tmp_path / "scores.jsonl", settings)


def test_scores_of_other_samples_with_the_same_ids_are_refused(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("scored.jsonl", "samples.jsonl", "scores.jsonl")]
    write(paths[1], replies(3, ["one"]), kind="samples")
    write(paths[0], [replace(sample, response="something else") for sample in replies(3, ["one"])], kind="samples")
    score_file(paths[0], ["length"], paths[2], ScoreOptions(n_bootstrap=0))
    settings = read_settings(None, default_name="x", kind="rate")
    with pytest.raises(InputError, match="its scores are of other samples"):
        add_to_study(tmp_path / "study.db", paths[1], settings, TaskFileOptions(scores=paths[2]))


def test_names_of_tasks_come_from_files() -> None:
    assert default_name("data/my samples (2).jsonl.gz") == "my-samples-2"
    assert default_name("...") == "task"


def test_a_chat_has_settings_and_no_file(tmp_path: Path) -> None:
    options = {"bots": {"a": "echo", "b": "eliza"}, "topics": ["Travel", "Food"]}
    settings = read_settings(None, default_name=default_name(None), kind="chat", options=options)
    facts = add_to_study(tmp_path / "study.db", None, settings)
    assert (facts["task"], facts["items"]) == ("chat", 4)
    with pytest.raises(InputError, match="has no file"):
        add_to_study(tmp_path / "study.db", tmp_path / "samples.jsonl", settings)
    with pytest.raises(InputError, match="needs a file"):
        add_to_study(tmp_path / "study.db", None, read_settings(None, default_name="x", kind="rate"))


def test_references_are_written_for_samples_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    settings = read_settings(None, name="better", kind="references", options=dict(references_task(folder).options))
    assert (settings.task.per_item, settings.task.questions) == (1, ())
    write("samples.jsonl", SAMPLES, kind="samples", dataset="made")
    facts = add_to_study("study.db", "samples.jsonl", settings)
    assert (facts["items"], facts["records"], facts["warning"]) == (1, 3, "made up")
    with closing(open_database("study.db")) as database, database.reading() as connection:
        assert find_task(connection, "better").source["header"]["dataset"] == "made"
    with pytest.raises(InputError, match="has no scores"):
        add_to_study("study.db", "samples.jsonl", settings, TaskFileOptions(scores="scores.jsonl"))
    write("dialogues.jsonl", [Dialogue("d", ["Hi"])], kind="dialogues")
    with pytest.raises(InputError, match="has no dialogues"):
        add_to_study("study.db", "dialogues.jsonl", settings)
