"""Questions that people answer about a reply, a dialogue or a pair, and the settings of a task; checked when made."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from interloq.errors import InputError, nearest, short_repr

Kind = Literal["rate", "compare", "references", "chat"]
Control = Literal["likert", "slider", "choice"]
MOST_STEPS = 11  # of a Likert scale
LONGEST = 2_000  # characters of a text that settings contain
LANGUAGES = ("en", "ja", "zh")
_NAME = re.compile(r"[\w.-]{1,80}")


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
        object.__setattr__(self, "labels", tuple(self.labels))
        _check_texts(self, "aspect", "text", *self.labels)
        if not self.aspect.strip():
            raise InputError("a question has no aspect", hint='name what it asks about, such as "overall"')
        if self.control not in get_args(Control):
            raise InputError(f"unknown control {self.control!r}{nearest(str(self.control), get_args(Control))}")
        if self.control != "choice":
            self._check_scale()

    def _check_scale(self) -> None:
        numbers = (self.low, self.high, self.step)
        if not all(isinstance(n, int | float) and math.isfinite(n) for n in numbers) or isinstance(self.low, bool):
            raise InputError(f"the scale of {self.aspect!r} must be finite numbers, got {short_repr(numbers)}")
        if not self.low < self.high or self.step <= 0:
            raise InputError(f"the scale of {self.aspect!r} must rise, got {self.low} to {self.high} by {self.step}")
        if len(self.labels) not in (0, 2, self.steps()):
            raise InputError(
                f"{self.aspect!r} has {len(self.labels)} labels for {self.steps()} values",
                hint="label the two ends or every value",
            )
        if self.control == "likert" and self.steps() > MOST_STEPS:
            raise InputError(f"{self.aspect!r} has {self.steps()} buttons", hint="use a slider")

    def steps(self) -> int:
        """Number of values on the scale."""
        return math.floor((self.high - self.low) / self.step + 1e-9) + 1

    def accepts(self, value: float) -> bool:
        """Whether a number is on the scale."""
        place = (value - self.low) / self.step
        return self.low <= value <= self.high and abs(place - round(place)) < 1e-6


@dataclass(frozen=True)
class Task:
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
    completion: str = ""  # code or https link shown at the end
    turns: int = 20  # most turns of a person in a chat
    options: Mapping[str, Any] = field(default_factory=dict)  # of one kind of task, such as the bots to talk to

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", tuple(self.questions))
        if self.kind not in get_args(Kind):
            raise InputError(f"unknown kind of task {self.kind!r}{nearest(str(self.kind), get_args(Kind))}")
        if not _NAME.fullmatch(self.name):
            raise InputError(f"not a name of a task: {short_repr(self.name)}", hint="use letters, digits, - and _")
        if self.language not in LANGUAGES:
            raise InputError(f"no pages in {self.language!r}{nearest(self.language, LANGUAGES)}")
        _check_texts(self, "title", "instructions", "consent", "completion")
        self._check_numbers()
        self._check_questions()

    def _check_numbers(self) -> None:
        limits = {"per_item": 1, "check_every": 1, "minutes": 0.01, "least_seconds": 0, "most_items": 0, "turns": 1}
        for name, least in limits.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e6:
                raise InputError(f"{name} must be a number of at least {least}, got {short_repr(value)}")

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


def to_json(task: Task) -> dict[str, Any]:
    """The settings as JSON values."""
    return asdict(task)


def from_json(value: object) -> Task:
    """Settings from JSON values; unknown fields are refused."""
    if not isinstance(value, Mapping):
        raise InputError(f"settings of a task must be an object, got {short_repr(value)}")
    asked = value.get("questions", [asdict(Question())])
    if isinstance(asked, str) or not isinstance(asked, Sequence):
        raise InputError(f"questions must be a list, got {short_repr(asked)}")
    questions = tuple(_made(Question, question, "a question") for question in asked)
    task: Task = _made(Task, {**value, "questions": questions}, "a task")
    return task


def _made(kind: Any, value: object, what: str) -> Any:
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be an object, got {short_repr(value)}")
    known = {one.name for one in fields(kind)}
    for name in value:
        if name not in known:
            raise InputError(f"{what} has no field {short_repr(name)}{nearest(str(name), known)}")
    if missing := {"kind", "name"} & known - value.keys():
        raise InputError(f"{what} has no {min(missing)}")
    return kind(**value)


def _check_texts(settings: Any, *names: str) -> None:
    for name in names:
        value = getattr(settings, name, name)  # a label is its own text
        if not isinstance(value, str) or len(value) > LONGEST:
            raise InputError(f"{name:.40} must be text of at most {LONGEST:,} characters, got {short_repr(value)}")
