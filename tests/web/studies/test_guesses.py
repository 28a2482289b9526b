# SPDX-License-Identifier: Apache-2.0
"""Questions that check whether people are blind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq import Sample
from interloq.errors import InputError
from interloq.records import Dialogue, Turn
from interloq.web.studies.guesses import Guesses, check_records, guesses, with_guesses
from interloq.web.studies.questions import Question, StudyTask
from interloq.web.studies.task_file import read_settings
from tests.web.conftest import likert_task

NAMES = {"owl": "The wise one", "parrot": "The chatty one"}


def asked(**options: Any) -> StudyTask:
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
        with_guesses(asked(**options))


def test_records_without_two_speakers_or_with_another_bot_are_refused() -> None:
    turns = [Turn("Hi", "p"), Turn("Hoo", "owl")]
    good, crow = (Dialogue("d", turns, {"owl": name}) for name in ("owl", "crow"))
    check_records(asked(guess=True, which_bot=NAMES), [good])
    for record in (Sample("s", ["Hi"], "Hoo"), Dialogue("d", [*turns, Turn("Ha", "q")], {"owl": "owl"})):
        with pytest.raises(InputError, match="two speakers"):
            check_records(asked(guess=True), [record])
        check_records(asked(), [record])
    with pytest.raises(InputError, match="does not describe 'crow', the bot of 'd'"):
        check_records(asked(which_bot=NAMES), [crow])


def test_the_aspect_of_recognised_bots_is_taken_only_if_it_is_asked_for() -> None:
    own = replace(asked(), questions=(Question("recognised"),))
    assert guesses(own) == Guesses()
    with pytest.raises(InputError, match="computed from guesses"):
        guesses(replace(own, options={"which_bot": NAMES}))


def test_a_guess_is_recognised_by_the_order_of_the_settings() -> None:
    found = guesses(asked(which_bot=NAMES))
    assert [found.is_recognised(value, "parrot") for value in (1, 2, None)] == [False, True, None]
