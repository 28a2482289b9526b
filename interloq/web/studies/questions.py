# SPDX-License-Identifier: Apache-2.0
"""Questions that people answer about a reply, a dialogue or a pair, and the settings of a task; checked when made.

Guesses check whether people are blind: was it a person or a bot, and which of the bots was it? They are options of a
chat, or of a task that rates dialogues: {"guess": true, "which_bot": {"a": "The curious one", "b": "The polite one"}}.
`which_bot` gives each system a neutral description, because its name would reveal it. People in a chat are asked about
their partner, outsiders about each of the two speakers, whom nothing marks as a bot.

With {"interlocutor": true}, replies are rated by the person to whom they are addressed, and by nobody else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import Decimal
from typing import Any, Literal, get_args

from interloq.errors import InputError, nearest, short_repr
from interloq.records import Dialogue, Sample
from interloq.web.messages import LANGUAGES, texts
from interloq.web.studies.items import SPEAKERS, speakers, system_of

Kind = Literal["rate", "compare", "references", "references-rating", "chat"]
Ranked = Literal["systems", "metrics"]
Control = Literal["likert", "slider", "choice"]
MOST_STEPS = 11  # of a Likert scale
MOST_VALUES = 10_000  # of a slider
LONGEST = 2_000  # characters of a text that settings contain
LONGEST_ASPECT = 80  # characters, as in the table
LARGEST = 10**6  # number in settings
_NAME = re.compile(r"[\w.-]{1,80}")
GUESSED_HUMAN = "guessed_human"  # aspect: 1 if a bot was taken for a person, 0 if not
PERSON_GUESSED_HUMAN = "person_guessed_human"  # aspect of exports: the same about a speaker who is a person
GUESSED_PARTNER = "guessed_partner"  # aspect: which of the descriptions was chosen, counted from 1
RECOGNISED = "recognised"  # aspect of exports: 1 if that is the description of the bot, 0 if not
OPTIONS = ("guess", "which_bot")
BY_INTERLOCUTOR = "interlocutor"
LETTERS = "AB"  # of the speakers of a dialogue


@dataclass(frozen=True)
class Question:
    """One question; `aspect` names its answers in the exported records.

    A `likert` question has the whole numbers from `low` to `high`, a `slider` any multiple of `step`, and a `choice`
    asks which of two is better.
    """

    aspect: str = "overall"
    text: str = ""
    control: Control = "likert"
    low: float = 1
    high: float = 5
    step: float = 1
    labels: tuple[str, ...] = ()  # of the ends, or of every value
    optional: bool = False
    not_applicable: bool = False  # offers "not applicable"
    reason: bool = False  # offers a field for a reason

    def __post_init__(self) -> None:
        if type(self.labels) not in (list, tuple):
            raise InputError(f"labels must be a list, got {short_repr(self.labels)}")
        object.__setattr__(self, "labels", tuple(self.labels))
        _check_text("aspect", self.aspect, LONGEST_ASPECT)
        _check_text("text", self.text)
        for label in self.labels:
            _check_text("a label", label)
        if not self.aspect.strip() or "\0" in self.aspect:
            raise InputError("a question has no aspect", hint='name what it asks about, such as "overall"')
        if self.control not in get_args(Control):
            raise InputError(
                f"unknown control {short_repr(self.control)}{nearest(str(self.control), get_args(Control))}"
            )
        _check_switches(self, "optional", "not_applicable", "reason")
        if self.control != "choice":
            self._check_scale()

    def _check_scale(self) -> None:
        numbers = (self.low, self.high, self.step)
        if not all(is_number(n) and abs(n) <= LARGEST for n in numbers):
            what = f"the scale of {self.aspect!r} must be numbers up to {LARGEST:,}, got {short_repr(numbers)}"
            raise InputError(what)
        if not self.low < self.high or self.step <= 0:
            raise InputError(f"the scale of {self.aspect!r} must rise, got {self.low} to {self.high} by {self.step}")
        if (self.high - self.low) / self.step >= MOST_VALUES:
            raise InputError(f"the scale of {self.aspect!r} has more than {MOST_VALUES:,} values", hint="larger steps")
        if len(self.labels) not in (0, 2, self.steps()):
            raise InputError(
                f"{self.aspect!r} has {len(self.labels)} labels for {self.steps()} values",
                hint="label the two ends or every value",
            )
        if self.control == "likert" and self.steps() > MOST_STEPS:
            raise InputError(f"{self.aspect!r} has {self.steps()} buttons", hint="use a slider")

    def steps(self) -> int:
        """Return the number of values on the scale."""
        return math.floor((self.high - self.low) / self.step + 1e-9) + 1

    def value_on_scale(self, value: float) -> float | None:
        """Return the value of the scale that a number stands for, or None if it is not on the scale.

        Only rounding of binary fractions is allowed for: 0.1 + 0.2 stands for 0.3, but 0.2999 does not.
        """
        if not self.low <= value <= self.high:
            return None
        place = round((value - self.low) / self.step)
        exact = float(Decimal(str(self.low)) + place * Decimal(str(self.step)))
        if not math.isclose(value, exact, rel_tol=1e-12, abs_tol=1e-9 * self.step):
            return None
        return exact


@dataclass(frozen=True)
class StudyTask:
    """Settings of a task; `questions` are asked about each unit of an item, or about the pair when comparing."""

    kind: Kind
    name: str
    questions: tuple[Question, ...] = field(default_factory=lambda: (Question(),))
    title: str = ""
    instructions: str = ""
    consent: str = ""  # shown before the first item; empty: no consent is asked for
    language: str = "en"
    per_item: int = 3  # annotators
    check_every: int = 10  # items between attention checks
    minutes: float = 30  # until an item that was left is given to somebody else
    least_seconds: float = 2  # faster answers make an annotator suspicious
    most_items: int = 0  # per annotator; 0: as many as there are
    stop_when_settled: bool = False  # close the task when the ranking by its first question is settled
    settled_by: Ranked = "systems"  # what is ranked: systems, or metrics by their agreement with people
    completion: str = ""  # code or https link shown at the end
    turns: int = 20  # most turns of a person in a chat
    options: Mapping[str, Any] = field(default_factory=dict)  # of one kind of task, such as the bots to talk to

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", tuple(self.questions))
        if self.kind not in get_args(Kind):
            raise InputError(f"unknown kind of task {short_repr(self.kind)}{nearest(str(self.kind), get_args(Kind))}")
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise InputError(f"not a name of a task: {short_repr(self.name)}", hint="use letters, digits, - and _")
        if self.language not in LANGUAGES:
            raise InputError(f"no pages in {short_repr(self.language)}{nearest(str(self.language), LANGUAGES)}")
        if not isinstance(self.options, Mapping):
            raise InputError(f"options must be an object, got {short_repr(self.options)}")
        for name in ("title", "instructions", "consent", "completion"):
            _check_text(name, getattr(self, name))
        _check_switches(self, "stop_when_settled")
        if self.settled_by not in get_args(Ranked):
            raise InputError(f"settled_by must be systems or metrics, got {short_repr(self.settled_by)}")
        limits = {"per_item": 1, "check_every": 1, "minutes": 0.01, "least_seconds": 0, "most_items": 0, "turns": 1}
        for name, least in limits.items():
            value, whole = getattr(self, name), isinstance(least, int) and name != "least_seconds"
            if not is_number(value) or (whole and not isinstance(value, int)) or not least <= value <= LARGEST:
                kind = "whole number" if whole else "number"
                raise InputError(f"{name} must be a {kind} of at least {least}, got {short_repr(value)}")
        self._check_questions()

    def _check_questions(self) -> None:
        if not self.questions and self.kind != "references":
            raise InputError(f"the task {self.name!r} asks nothing", hint="add a question")
        aspects = [question.aspect for question in self.questions]
        if twice := {aspect for aspect in aspects if aspects.count(aspect) > 1}:
            raise InputError(f"two questions have the aspect {min(twice)!r}")
        for question in self.questions:
            if (question.control == "choice") != (self.kind == "compare"):
                wanted = "a choice" if self.kind == "compare" else "a likert scale or a slider"
                raise InputError(f"{question.aspect!r} must be {wanted} in a task of kind {self.kind!r}")


def from_json(value: object) -> StudyTask:
    """Read settings from JSON values; unknown fields are refused."""
    if not isinstance(value, Mapping):
        raise InputError(f"settings of a task must be an object, got {short_repr(value)}")
    questions = questions_from_json(value.get("questions", [asdict(Question())]))
    task: StudyTask = _read_fields(StudyTask, {**value, "questions": questions}, "a task")
    return task


def questions_from_json(asked: object) -> tuple[Question, ...]:
    """Read questions from a list of JSON objects."""
    if isinstance(asked, str) or not isinstance(asked, Sequence):
        raise InputError(f"questions must be a list, got {short_repr(asked)}")
    return tuple(_read_fields(Question, question, "a question") for question in asked)


def _read_fields(kind: Any, value: object, what: str) -> Any:
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be an object, got {short_repr(value)}")
    known = {item.name for item in fields(kind)}
    for name in value:
        if name not in known:
            raise InputError(f"{what} has no field {short_repr(name)}{nearest(str(name), known)}")
    if missing := {"kind", "name"} & known - value.keys():
        raise InputError(f"{what} has no {min(missing)}")
    return kind(**value)


def is_number(value: object) -> bool:
    """Return whether a JSON value is a finite number; true and false are not numbers."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _check_text(name: str, value: object, longest: int = LONGEST) -> None:
    if not isinstance(value, str) or len(value) > longest:
        raise InputError(f"{name} must be text of at most {longest:,} characters, got {short_repr(value)}")


def _check_switches(settings: Any, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(settings, name), bool):
            raise InputError(f"{name} must be true or false, got {short_repr(getattr(settings, name))}")


@dataclass(frozen=True)
class Guesses:
    """What people are asked to guess."""

    human: bool = False
    names: Mapping[str, str] | None = None  # description of each system

    def aspects(self) -> list[str]:
        """Return the aspects of the questions, as stored."""
        aspects = []
        if self.human:
            aspects += [GUESSED_HUMAN, *map(about_speaker, LETTERS)]
        if self.names:
            aspects.append(GUESSED_PARTNER)
        return aspects

    def is_recognised(self, value: float | None, system: str) -> bool | None:
        """Return whether the chosen description describes the system; None if none was chosen."""
        if value is None:
            return None
        return list(self.names or ())[int(value) - 1] == system


def guesses(task: StudyTask) -> Guesses:
    """Return what a task asks people to guess; options that are not valid are refused."""
    human, names = task.options.get("guess", False), task.options.get("which_bot")
    if not isinstance(human, bool):
        raise InputError(f"guess must be true or false, got {short_repr(human)}")
    if names is not None and RECOGNISED in {question.aspect for question in task.questions}:
        raise InputError(f"the aspect {RECOGNISED!r} is computed from guesses", hint="choose another name")
    if names is not None:
        names = _check_descriptions(names)
    return Guesses(human, names)


def _check_descriptions(which_bot: object) -> Mapping[str, str]:
    """Return the description of each bot; refuse missing or repeated ones, or ones that give a name away."""
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
    """Return the aspect of the guess about whether speaker A or B is a person."""
    return f"{GUESSED_HUMAN}_{name.lower()}"


def questions_to_chatter(task: StudyTask) -> list[Question]:
    """Return the questions that ask a chatter to guess who the partner is."""
    wanted, t = guesses(task), texts(task.language)
    questions = _which(wanted, t["guess_partner"])
    if wanted.human:
        questions.insert(0, _human(GUESSED_HUMAN, t["guess"], t))
    return questions


def is_rated_by_interlocutor(task: StudyTask) -> bool:
    """Return whether only the person to whom a reply is addressed may rate it."""
    chosen = task.options.get(BY_INTERLOCUTOR, False)
    if not isinstance(chosen, bool):
        raise InputError(f"{BY_INTERLOCUTOR} must be true or false, got {short_repr(chosen)}")
    return chosen and task.kind == "rate"


def with_guesses(task: StudyTask) -> StudyTask:
    """Return a task of kind rate with the guesses of outsiders after its own questions."""
    known = (*OPTIONS, BY_INTERLOCUTOR)
    for name in task.options:
        if name not in known:
            raise InputError(f"a task of kind 'rate' has no option {short_repr(name)}{nearest(str(name), known)}")
    if is_rated_by_interlocutor(task):
        task = replace(task, per_item=1)  # there is only one
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


def export_answer(
    wanted: Guesses, aspect: str, value: float | None, unit: Mapping[str, Any]
) -> Iterator[tuple[str, float | None, str]]:
    """Yield aspect, value and system of each rating that an answer is exported as; a guess of the bot gives two."""
    if aspect not in wanted.aspects() or aspect == GUESSED_HUMAN:
        yield aspect, value, ""
    elif aspect == GUESSED_PARTNER:
        right = wanted.is_recognised(value, unit["system"])
        yield aspect, value, ""
        yield RECOGNISED, None if right is None else float(right), ""
    else:
        system = unit[SPEAKERS][aspect[-1].upper()]
        yield GUESSED_HUMAN if system else PERSON_GUESSED_HUMAN, value, system
