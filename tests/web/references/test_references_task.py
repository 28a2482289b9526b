"""Options and items of tasks of kind references."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interloq import Sample
from interloq.errors import InputError
from interloq.records import Pair
from interloq.web.references.references_task import make_stored_request, prepare_references, references_options
from interloq.web.studies.questions import Question, StudyTask
from tests.reliability.made_predictor import use
from tests.web.conftest import SECRETS
from tests.web.made_references import SAMPLES, WALK, references_task


def test_each_query_with_a_decision_to_make_is_an_item(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    task, items, facts = prepare_references([*SAMPLES, WALK], references_task(folder, options={"model": "model"}))
    assert task.options["model"] == str(folder / "model")
    assert references_options(task) == references_options(task).absolute()
    assert (facts["model"], facts["queries"], facts["warning"]) == ("reliability-made", 3, "made up")
    tea, walk = items
    assert (tea.hidden["query"], walk.hidden["query"]) == ("secret-id-0", "secret-id-1")
    assert [unit["place"] for unit in tea.hidden["units"]] == [0, 2]  # of both systems
    assert [unit["place"] for unit in tea.hidden["unchanged"]] == [1]
    assert walk.hidden["unchanged"] == []
    request = make_stored_request(tea.hidden)
    assert request.turns == ("do you want tea ?",)
    assert [one.source for one in request.candidates][:2] == ["retrieved:secret-id-p1", "retrieved:secret-id-p2"]
    assert tea.answer_key != walk.answer_key
    assert not [secret for secret in SECRETS if secret in str(tea.shown)]


def test_samples_without_a_decision_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch)
    with pytest.raises(InputError, match="nothing to decide"):
        prepare_references([Sample("s", [" "], "x")], references_task(tmp_path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modle": "x"}, "did you mean 'model'"),
        ({"model": ""}, "needs a model"),
        ({"model": 7}, "model must be the name of a file or folder"),
        ({"log": [1]}, "log must be the name"),
        ({"attempts": -1}, "attempts must be a whole number from 0"),
        ({"limit": 0}, "limit must be a whole number from 1"),
        ({"k": True}, "k must be a whole number"),
        ({"near_duplicates": 2}, "near_duplicates must be from 0 to 1"),
        ({"drop_own_replies": "yes"}, "true or false"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
        ({"predictions": "group"}, "unknown predictions 'group'; did you mean 'groups'"),
        ({"must_rise": 1}, "must_rise must be true or false"),
        ({"llm": 3}, "llm must be"),
    ],
)
def test_unsuitable_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        references_options(StudyTask("references", "x", (), options={"model": "m", "log": "pairs.jsonl", **options}))


def test_candidates_come_from_the_same_query_or_a_bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    same = [Pair("p", "Do you want tea?", "leaf"), Pair("q", "do you want some tea", "milk")]
    task, (item,), _ = prepare_references(SAMPLES, references_task(tmp_path, same, options={"from": "query"}))
    assert [one["text"] for one in item.hidden["candidates"]] == ["leaf"]
    assert references_options(task).origin == "query"
    written = references_task(tmp_path, options={"log": [], "llm": "eliza", "replies": 2, "model": "ready"})
    task, (item,), _ = prepare_references(SAMPLES, written)
    assert {one["source"] for one in item.hidden["candidates"]} == {"retrieved:llm/0"}  # it repeats itself
    assert task.options["model"] == "ready"  # not a folder


def test_questions_are_refused() -> None:
    with pytest.raises(InputError, match="asks no questions"):
        references_options(StudyTask("references", "x", (Question(),), options={"model": "m"}))


@pytest.mark.parametrize(
    ("options", "effect"),
    [
        ({"index": "qdrant://127.0.0.1:9/x"}, "sends contexts to qdrant://127.0.0.1:9/x"),
        ({"encoder": "hub:org/name@main"}, "downloads hub:org/name@main"),
        ({"llm": "endpoint(url='http://127.0.0.1:9/v1',model='m')"}, "sends dialogues to http://127.0.0.1:9/v1"),
    ],
)
def test_settings_that_reach_outside_need_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], effect: str
) -> None:
    use(monkeypatch)
    task = references_task(tmp_path, options={"log": [], **options})
    with pytest.raises(InputError, match=f"its specs reach outside the program: 'references' {effect}"):
        prepare_references(SAMPLES, task)


def test_missing_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = references_task(tmp_path)
    with pytest.raises(InputError, match="no such folder") as error:
        prepare_references(SAMPLES, task)
    assert str(tmp_path / "model") in str(error.value)
    use(monkeypatch)
    missing = references_task(tmp_path, options={"log": "nowhere.jsonl"})
    with pytest.raises(InputError, match=r"nowhere\.jsonl"):
        prepare_references(SAMPLES, missing)
