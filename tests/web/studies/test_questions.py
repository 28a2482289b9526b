"""Settings of tasks: what is accepted, what is refused and how."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from interloq import Sample
from interloq.errors import InputError
from interloq.records import Dialogue, Turn
from interloq.web.studies.questions import (
    Guesses,
    Question,
    StudyTask,
    check_records,
    from_json,
    guesses,
    is_number,
    with_guesses,
)
from interloq.web.studies.task_file import read_settings
from tests.web.conftest import likert_task

NAMES = {"owl": "The wise one", "parrot": "The chatty one"}


def test_settings_survive_json() -> None:
    asked = Question("fluency", "Fluent?", low=0, high=100, step=0.5, control="slider", labels=("low", "high"))
    task = StudyTask("rate", "study-1", (asked, Question()), language="ja", per_item=5, options={"a": [1]})
    assert from_json(json.loads(json.dumps(asdict(task)))) == task


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "rate"}, "has no name"),
        ({"per_itme": 3}, "did you mean 'per_item'"),
        ({"questions": [{"aspct": "x"}]}, "did you mean 'aspect'"),
        ({"questions": "overall"}, "must be a list"),
        ({"questions": [7]}, "must be an object"),
        ({"questions": []}, "asks nothing"),
        ({"questions": [{}, {}]}, "two questions have the aspect 'overall'"),
        ({"questions": [{"control": "choice"}]}, "must be a likert scale"),
        ({"questions": [{"control": ["x"]}]}, "unknown control"),
        ({"questions": [{"aspect": "a" * 81}]}, "at most 80"),
        ({"questions": [{"aspect": " "}]}, "no aspect"),
        ({"questions": [{"labels": 5}]}, "labels must be a list"),
        ({"questions": [{"labels": [1, 5]}]}, "a label must be text"),
        ({"questions": [{"labels": ["a", "b", "c"]}]}, "3 labels for 5 values"),
        ({"questions": [{"low": 5, "high": 1}]}, "must rise"),
        ({"questions": [{"high": 100}]}, "use a slider"),
        ({"questions": [{"high": 10**400, "control": "slider"}]}, "must be numbers"),
        ({"questions": [{"step": 1e-300, "control": "slider"}]}, "more than 10,000 values"),
        ({"questions": [{"low": True}]}, "must be numbers"),
        ({"questions": [{"optional": "no"}]}, "true or false"),
        ({"kind": ["rate"], "name": "x"}, "unknown kind"),
        ({"name": 5}, "not a name"),
        ({"name": "../study"}, "not a name"),
        ({"language": ["en"]}, "no pages in"),
        ({"per_item": 2.5}, "whole number of at least 1"),
        ({"per_item": True}, "whole number"),
        ({"minutes": float("nan")}, "minutes must be"),
        ({"title": 5}, "title must be text"),
        ({"consent": "x" * 2001}, "at most 2,000"),
        ({"options": "bots"}, "must be an object"),
    ],
)
def test_bad_settings_are_refused_with_a_reason(settings: dict[str, Any], message: str) -> None:
    given = settings if "kind" in settings else {"kind": "rate", "name": "x", **settings}
    with pytest.raises(InputError, match=message):
        from_json(given)


def test_a_scale_accepts_its_steps_only() -> None:
    tenths = Question(control="slider", low=0, high=1, step=0.1)
    assert tenths.steps() == 11
    assert [tenths.value_on_scale(value) for value in (0, 0.1, 0.1 + 0.2, 0.7, 1)] == [0, 0.1, 0.3, 0.7, 1]
    off_scale = (-0.1, 0.25, 0.29999999, 1.1, 10**400, float("inf"))
    assert [value for value in off_scale if tenths.value_on_scale(value) is not None] == []
    assert [value for value in (0, 1.5, 4.9999, 4.9999999, 6) if Question().value_on_scale(value) is not None] == []
    thirds = Question(control="slider", low=0, high=1, step=1 / 3)
    assert [thirds.value_on_scale(i / 3) is not None for i in range(3)] == [True] * 3


def test_truth_values_and_infinities_are_not_numbers() -> None:
    given = [True, False, "1", None, float("nan"), float("inf"), [1], 1, 0.5, 10**400]
    assert [value for value in given if is_number(value)] == [1, 0.5, 10**400]


def make_task(**options: Any) -> StudyTask:
    return likert_task(options=options)


def test_outsiders_are_asked_about_both_speakers_and_by_descriptions(tmp_path: Path) -> None:
    settings = tmp_path / "task.json"
    settings.write_text(
        '{"options": {"guess": true, "which_bot": {"owl": "The wise one", "parrot": "The chatty one"}}}'
    )
    found = read_settings(settings, kind="rate", name="t").task.questions
    assert [(one.aspect, one.low, one.high) for one in found[1:]] == [
        ("guessed_human_a", 0, 1), ("guessed_human_b", 0, 1), ("guessed_partner", 1, 2),
    ]  # fmt: skip
    assert found[2].text == "Was speaker B a person or a bot?"
    assert found[3].labels == tuple(NAMES.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guesses": True}, "no option 'guesses'; did you mean 'guess'"),
        ({"which_bot": {"owl": "alone"}}, "must describe each bot"),
        ({"which_bot": {"owl": "same", "parrot": "Same "}}, "the same description"),
        ({"which_bot": {"owl": "The wise one", "parrot": "OWL"}}, "would show the name 'owl'"),
        ({"which_bot": ["owl", "parrot"]}, "must describe each bot"),
    ],
)
def test_unsuitable_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_guesses(make_task(**options))


def test_records_without_two_speakers_or_with_another_bot_are_refused() -> None:
    turns = [Turn("Hi", "p"), Turn("Hoo", "owl")]
    good, crow = (Dialogue("d", turns, {"owl": name}) for name in ("owl", "crow"))
    check_records(make_task(guess=True, which_bot=NAMES), [good])
    for record in (Sample("s", ["Hi"], "Hoo"), Dialogue("d", [*turns, Turn("Ha", "q")], {"owl": "owl"})):
        with pytest.raises(InputError, match="two speakers"):
            check_records(make_task(guess=True), [record])
        check_records(make_task(), [record])
    with pytest.raises(InputError, match="does not describe 'crow', the bot of 'd'"):
        check_records(make_task(which_bot=NAMES), [crow])


def test_the_aspect_of_recognised_bots_is_taken_only_if_it_is_asked_for() -> None:
    own = replace(make_task(), questions=(Question("recognised"),))
    assert guesses(own) == Guesses()
    with pytest.raises(InputError, match="computed from guesses"):
        guesses(replace(own, options={"which_bot": NAMES}))


def test_a_guess_is_recognised_by_the_order_of_the_settings() -> None:
    found = guesses(make_task(which_bot=NAMES))
    assert [found.is_recognised(value, "parrot") for value in (1, 2, None)] == [False, True, None]
