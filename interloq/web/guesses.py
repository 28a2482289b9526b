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
from interloq.web.interface import texts
from interloq.web.items import SPEAKERS, speakers, system_of
from interloq.web.questions import MOST_STEPS, Question, Task

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
        human = [GUESSED_HUMAN, *(about_speaker(one) for one in LETTERS)] if self.human else []
        return [*human, *([GUESSED_PARTNER] if self.names else [])]

    def is_recognised(self, value: float | None, system: str) -> bool | None:
        """Whether the description that was chosen is that of the system; None if none was chosen."""
        names = list(self.names or ())
        return None if value is None else names[int(value) - 1] == system


def guesses(task: Task) -> Guesses:
    """The options of a task, checked."""
    human, names = task.options.get("guess", False), task.options.get("which_bot")
    if not isinstance(human, bool):
        raise InputError(f"guess must be true or false, got {short_repr(human)}")
    if names is not None and RECOGNISED in {one.aspect for one in task.questions}:
        raise InputError(f"the aspect {RECOGNISED!r} is computed from guesses", hint="choose another name")
    return Guesses(human, None if names is None else _names(names))


def _names(given: object) -> Mapping[str, str]:
    good = isinstance(given, Mapping) and all(isinstance(one, str) and one.strip() for one in given.values())
    if not good or not isinstance(given, Mapping) or not 2 <= len(given) <= MOST_STEPS:
        hint = 'describe 2 to 11 bots: {"a": "The curious one", "b": "The polite one"}'
        raise InputError(f"which_bot must describe each bot, got {short_repr(given)}", hint=hint)
    shown = [one.strip().casefold() for one in given.values()]
    if len(set(shown)) < len(shown):
        raise InputError("which_bot gives two bots the same description")
    for name in given:
        if str(name).casefold() in shown:
            what = f"which_bot would show the name {str(name)!r}"
            raise InputError(what, hint="describe the bots without their names")
    return {str(name): one for name, one in given.items()}


def about_speaker(name: str) -> str:
    """Aspect of the guess whether speaker A or B is a person."""
    return f"{GUESSED_HUMAN}_{name.lower()}"


def questions_to_chatter(task: Task) -> list[Question]:
    """Guesses about the partner in a chat."""
    found, t = guesses(task), texts(task.language)
    human = [_human(GUESSED_HUMAN, t["guess"], t)] if found.human else []
    return [*human, *_which(found, t["guess_partner"])]


def with_guesses(task: Task) -> Task:
    """A task of kind rate with the guesses of outsiders after its own questions."""
    for name in task.options:
        if name not in OPTIONS:
            raise InputError(f"a task of kind 'rate' has no option {short_repr(name)}{nearest(str(name), OPTIONS)}")
    found, t = guesses(task), texts(task.language)
    human = [_human(about_speaker(one), t["guess_speaker"].format(name=one), t) for one in LETTERS if found.human]
    return replace(task, questions=(*task.questions, *human, *_which(found, t["guess_participant"])))


def _human(aspect: str, text: str, t: Mapping[str, str]) -> Question:
    return Question(aspect, text, low=0, high=1, labels=(t["guess_bot"], t["guess_human"]))


def _which(found: Guesses, text: str) -> list[Question]:
    labels = tuple((found.names or {}).values())
    return [Question(GUESSED_PARTNER, text, high=len(labels), labels=labels)] if labels else []


def check_records(task: Task, records: Iterable[Sample | Dialogue]) -> None:
    """Refuse records that the guesses of a task cannot be about."""
    found = guesses(task)
    for record in records if found.aspects() else ():
        if not isinstance(record, Dialogue) or (found.human and len(speakers(record)) != len(LETTERS)):
            raise InputError(f"guesses need dialogues of two speakers, and {record.id!r} is not one")
        if found.names is not None and system_of(record) not in found.names:
            what = f"which_bot does not describe {system_of(record)!r}, the bot of {record.id!r}"
            raise InputError(what + nearest(system_of(record), found.names))


def exported(
    found: Guesses, aspect: str, value: float | None, unit: Mapping[str, Any]
) -> Iterator[tuple[str, float | None, str]]:
    """Aspect, value and system of each rating that an answer is exported as; an answer that is not a guess is one."""
    if aspect not in found.aspects() or aspect == GUESSED_HUMAN:
        yield aspect, value, ""
    elif aspect == GUESSED_PARTNER:
        right = found.is_recognised(value, unit["system"])
        yield from ((aspect, value, ""), (RECOGNISED, None if right is None else float(right), ""))
    else:
        system = unit[SPEAKERS][aspect[-1].upper()]
        yield GUESSED_HUMAN if system else PERSON_GUESSED_HUMAN, value, system
