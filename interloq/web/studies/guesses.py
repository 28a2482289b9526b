# SPDX-License-Identifier: Apache-2.0
"""Questions that check whether people are blind: was it a person or a bot, and which of the bots was it?

Options of a chat, or of a task that rates dialogues: {"guess": true, "which_bot": {"a": "The curious one", "b": "The
polite one"}}. `which_bot` gives each system a neutral description, because its name would reveal it. People in a chat
are asked about their partner, outsiders about each of the two speakers, whom nothing marks as a bot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from interloq.errors import InputError, nearest, short_repr
from interloq.records import Dialogue, Sample
from interloq.web.messages import texts
from interloq.web.studies.items import SPEAKERS, speakers, system_of
from interloq.web.studies.questions import MOST_STEPS, Question, StudyTask

GUESSED_HUMAN = "guessed_human"  # aspect: 1 if a bot was taken for a person, 0 if not
PERSON_GUESSED_HUMAN = "person_guessed_human"  # aspect of exports: the same about a speaker who is a person
GUESSED_PARTNER = "guessed_partner"  # aspect: which of the descriptions was chosen, counted from 1
RECOGNISED = "recognised"  # aspect of exports: 1 if that is the description of the bot, 0 if not
OPTIONS = ("guess", "which_bot")
LETTERS = "AB"  # of the speakers of a dialogue


@dataclass(frozen=True)
class Guesses:
    """What people are asked to guess."""

    human: bool = False
    names: Mapping[str, str] | None = None  # description of each system

    def aspects(self) -> list[str]:
        """Aspects of the questions, as stored."""
        aspects = []
        if self.human:
            aspects += [GUESSED_HUMAN, *map(about_speaker, LETTERS)]
        if self.names:
            aspects.append(GUESSED_PARTNER)
        return aspects

    def is_recognised(self, value: float | None, system: str) -> bool | None:
        """Whether the chosen description describes the system; None if none was chosen."""
        if value is None:
            return None
        return list(self.names or ())[int(value) - 1] == system


def guesses(task: StudyTask) -> Guesses:
    """Return what a task asks people to guess; options that are not valid are refused."""
    human, names = task.options.get("guess", False), task.options.get("which_bot")
    if not isinstance(human, bool):
        raise InputError(f"guess must be true or false, got {short_repr(human)}")
    if names is not None and RECOGNISED in {one.aspect for one in task.questions}:
        raise InputError(f"the aspect {RECOGNISED!r} is computed from guesses", hint="choose another name")
    if names is not None:
        names = _check_descriptions(names)
    return Guesses(human, names)


def _check_descriptions(which_bot: object) -> Mapping[str, str]:
    """Return the description of each bot; refuse those that are missing, repeated, or give a name away."""
    if (
        not isinstance(which_bot, Mapping)
        or not 2 <= len(which_bot) <= MOST_STEPS
        or not all(isinstance(text, str) and text.strip() for text in which_bot.values())
    ):
        hint = 'describe 2 to 11 bots: {"a": "The curious one", "b": "The polite one"}'
        raise InputError(f"which_bot must describe each bot, got {short_repr(which_bot)}", hint=hint)
    descriptions = {str(name): text for name, text in which_bot.items()}
    shown = [text.strip().casefold() for text in descriptions.values()]
    if len(set(shown)) < len(shown):
        raise InputError("which_bot gives two bots the same description")
    for name in descriptions:
        if name.casefold() in shown:
            raise InputError(f"which_bot would show the name {name!r}", hint="describe the bots without their names")
    return descriptions


def about_speaker(name: str) -> str:
    """Aspect of the guess whether speaker A or B is a person."""
    return f"{GUESSED_HUMAN}_{name.lower()}"


def questions_to_chatter(task: StudyTask) -> list[Question]:
    """Guesses about the partner in a chat."""
    wanted, t = guesses(task), texts(task.language)
    questions = _which(wanted, t["guess_partner"])
    if wanted.human:
        questions.insert(0, _human(GUESSED_HUMAN, t["guess"], t))
    return questions


def with_guesses(task: StudyTask) -> StudyTask:
    """A task of kind rate with the guesses of outsiders after its own questions."""
    for name in task.options:
        if name not in OPTIONS:
            raise InputError(f"a task of kind 'rate' has no option {short_repr(name)}{nearest(str(name), OPTIONS)}")
    wanted, t = guesses(task), texts(task.language)
    questions = list(task.questions)
    if wanted.human:
        questions += [_human(about_speaker(name), t["guess_speaker"].format(name=name), t) for name in LETTERS]
    questions += _which(wanted, t["guess_participant"])
    return replace(task, questions=tuple(questions))


def _human(aspect: str, text: str, t: Mapping[str, str]) -> Question:
    return Question(aspect, text, low=0, high=1, labels=(t["guess_bot"], t["guess_human"]))


def _which(wanted: Guesses, text: str) -> list[Question]:
    labels = tuple((wanted.names or {}).values())
    if not labels:
        return []
    return [Question(GUESSED_PARTNER, text, high=len(labels), labels=labels)]


def check_records(task: StudyTask, records: Iterable[Sample | Dialogue]) -> None:
    """Refuse records that the guesses of a task cannot be about."""
    wanted = guesses(task)
    if not wanted.aspects():
        return
    for record in records:
        if not isinstance(record, Dialogue) or (wanted.human and len(speakers(record)) != len(LETTERS)):
            raise InputError(f"guesses need dialogues of two speakers, and {record.id!r} is not one")
        if wanted.names is not None and system_of(record) not in wanted.names:
            what = f"which_bot does not describe {system_of(record)!r}, the bot of {record.id!r}"
            raise InputError(what + nearest(system_of(record), wanted.names))


def exported(
    wanted: Guesses, aspect: str, value: float | None, unit: Mapping[str, Any]
) -> Iterator[tuple[str, float | None, str]]:
    """Aspect, value and system of each rating that an answer is exported as; an answer that is not a guess is one."""
    if aspect not in wanted.aspects() or aspect == GUESSED_HUMAN:
        yield aspect, value, ""
    elif aspect == GUESSED_PARTNER:
        right = wanted.is_recognised(value, unit["system"])
        yield aspect, value, ""
        yield RECOGNISED, None if right is None else float(right), ""
    else:
        system = unit[SPEAKERS][aspect[-1].upper()]
        yield GUESSED_HUMAN if system else PERSON_GUESSED_HUMAN, value, system
