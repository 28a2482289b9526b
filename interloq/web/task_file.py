# SPDX-License-Identifier: Apache-2.0
"""A task from a file of samples or dialogues, and its settings from a JSON file, which may contain attention checks.

A check is an item with known answers that everybody gets: {"context": […], "response": "…", "correct": {"overall":
[4, 5]}}, a dialogue {"turns": […], "correct": …}, or to compare {"context": […], "responses": ["…", "…"], "correct":
{"overall": ["first"]}}. Any of the answers passes. Checks are never exported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

from sqlalchemy import Connection

from interloq.data.convert_file import kind_held
from interloq.data.files import read_json
from interloq.data.jsonl import Rejected, first_object, header, read
from interloq.data.parsers import PARSERS
from interloq.data.pseudonyms import HASHED
from interloq.errors import InputError, nearest, short_repr
from interloq.meta.scored_samples import ScoredSamples
from interloq.metrics.metric_names import direction, unknown_directions
from interloq.records import Dialogue, Sample
from interloq.signature import file_fingerprint
from interloq.trust import Trust
from interloq.web.answers import CHOICES, PLACES
from interloq.web.chat_bots import check_chat
from interloq.web.chat_task import chat_items
from interloq.web.database import open_database
from interloq.web.guesses import check_records, guesses, with_guesses
from interloq.web.interface import LANGUAGES, texts
from interloq.web.items import Item, compare_items, rate_items
from interloq.web.priority import with_scores
from interloq.web.questions import Kind, Question, Task, from_json, is_number
from interloq.web.references_task import prepare_references
from interloq.web.tasks import add_task
from interloq.web.workload import workload

LARGEST_SETTINGS = 2**20  # bytes
CHECKS = "checks"
CHECK_FIELDS = ("context", "correct", "response", "responses", "turns")


@dataclass(frozen=True)
class Settings:
    """Settings of a task and its attention checks."""

    task: Task
    checks: tuple[Item, ...] = ()


def read_settings(path: str | Path | None, *, default_name: str = "", **given: Any) -> Settings:
    """Settings from a JSON file, if there is one, and from options, which take precedence."""
    value = {} if path is None else read_json(path, hint="see docs/serve.md for an example", limit=LARGEST_SETTINGS)
    value = {"name": default_name, **value, **{option: one for option, one in given.items() if one is not None}}
    checks = value.pop(CHECKS, [])
    try:
        value = {**_defaults(value.get("kind"), value.get("language", LANGUAGES[0])), **value}
        task = from_json(value)
        task = with_guesses(task) if task.kind == "rate" else task
        return Settings(task, tuple(_checks(checks, task)))
    except InputError as error:
        raise InputError(error.what, hint=error.hint, where=str(path or "")) from error


def _defaults(kind: object, language: object) -> dict[str, Any]:
    """Questions and other settings of a kind of task that are used unless others are given."""
    if kind is None:
        raise InputError("a task has no kind", hint=f"choose one with --task: {', '.join(get_args(Kind))}")
    if kind == "references":
        return {"questions": [], "per_item": 1}
    t = texts(language if isinstance(language, str) and language in LANGUAGES else LANGUAGES[0])
    if kind == "compare":
        return {"questions": [{"text": t["ask_compare"], "control": "choice", "reason": True}]}
    return {"questions": [{"text": t["ask_rate"], "labels": [t["scale_low"], t["scale_high"]]}]}


def default_name(path: str | Path | None) -> str:
    """Name of a task from that of its file; chats have none."""
    if path is None:
        return "chat"
    return re.sub(r"[^\w-]+", "-", Path(path).name.split(".")[0]).strip("-")[:80] or "task"


def add_to_study(
    place: str | Path, path: str | Path | None, settings: Settings, *, trust: Trust = None, **options: Any
) -> dict[str, Any]:
    """Add a task with the records of a file to a study, which is created if it is missing; see `prepare_file`.

    Chats have no file; `trust` is called with what their bots or an index do besides computing.
    """
    if (path is None) != (settings.task.kind == "chat"):
        hint = "its bots are in the settings" if path else "name a file of samples or dialogues"
        raise InputError(f"a task of kind {settings.task.kind!r} {'has no' if path else 'needs a'} file", hint=hint)
    # before anybody waits for it
    if path is None:
        prepared = prepare_chat(settings, trust=trust)
    else:
        prepared = prepare_file(path, settings, trust=trust, **options)
    database = open_database(place)
    try:
        with database.writing() as connection:
            return prepared.store(connection)
    finally:
        database.close()


@dataclass(frozen=True)
class Prepared:
    """A task that is not stored yet."""

    settings: Settings
    items: tuple[Item, ...]  # without attention checks
    source: Mapping[str, Any]
    records: int

    def store(self, connection: Connection) -> dict[str, Any]:
        """Store the task; returns its name, number and counts."""
        number = add_task(connection, self.settings.task, [*self.items, *self.settings.checks], self.source)
        warning = {"warning": self.source["warning"]} if self.source.get("warning") else {}
        return {"task": self.settings.task.name, "number": number, **self.counts(), **warning}

    def counts(self) -> dict[str, Any]:
        """Numbers of items, attention checks and records, and the people that are needed."""
        task = self.settings.task
        needed = workload(task, Counter(item.answer_key for item in self.items), self._asked())
        return {
            "items": len(self.items),
            "checks": len(self.settings.checks),
            "records": self.records,
            "needs": asdict(needed),
        }

    def _asked(self) -> int | None:
        """Answers to all items by one person each; of a chat, they depend on its length."""
        task = self.settings.task
        if task.kind in ("rate", "compare"):
            units = len(self.items) if task.kind == "compare" else sum(len(item.shown["units"]) for item in self.items)
            return units * len(task.questions)
        return None


def prepare_chat(settings: Settings, *, trust: Trust = None, where: str = "the settings") -> Prepared:
    """A task of kind chat; `trust` is called with what its bots do besides talking."""
    if settings.checks:
        raise InputError("a chat has no attention checks")
    check_chat(settings.task, trust=trust, where=where)
    return Prepared(settings, tuple(chat_items(settings.task)), {"name": "", "kind": "dialogues"}, 0)


def prepare_file(
    path: str | Path,
    settings: Settings,
    *,
    together: bool = True,
    scores: str | Path | None = None,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
    trust: Trust = None,
) -> Prepared:
    """A task with the records of a file. Bad lines are handled as by `read`.

    Items on which the metrics in the file `scores` disagree most are given out first, and the scores are kept to watch
    how well each metric agrees with people.
    """
    if str(path) == "-":
        raise InputError("a task needs a file, not a pipe", hint="name a file of samples or dialogues")
    kind = kind_held(path)
    if kind not in ("samples", "dialogues"):
        raise InputError(f"{path} contains {kind}", hint="give samples or dialogues")
    records = list(read(path, kind=kind, strict=strict, on_reject=on_reject, columns=columns))
    source: dict[str, Any] = {"name": Path(path).name, "kind": kind, "fingerprint": file_fingerprint(Path(path))}
    if settings.task.kind == "references":
        source["header"] = header(path)
        return _prepare_references(records, settings, source, on_reject, scored=scores, trust=trust)
    if (first_object(path) or {}).get("users") == HASHED:
        source["users"] = HASHED
    items = _items(records, settings.task, together=together)
    if scores is not None:
        checked = ScoredSamples(record for record in records if isinstance(record, Sample))
        scored = read(scores, kind="scores", strict=strict, on_reject=on_reject)
        items = with_scores(items, checked.check(scored, scores))
    if ignored := _metrics_without_direction(settings.task, items):
        what = "it is unknown whether higher or lower is better, so these scores give no priorities"
        source["warning"] = f"{', '.join(ignored)}: {what}"
    return Prepared(settings, tuple(items), source, len(records))


def _metrics_without_direction(task: Task, items: Sequence[Item]) -> list[str]:
    """Metrics of unknown direction in the scores of items; refuse a task that could not end without directions."""
    metrics = sorted({metric for item in items for unit in item.hidden["units"] for metric in unit.get("scores", ())})
    ordering = [metric for metric in metrics if direction(metric) != "neither"]
    if task.stop_when_settled and task.settled_by == "metrics" and len(ordering) < 2:
        what = "settled_by 'metrics' needs scores of two metrics of which higher or lower is known to be better"
        hint = "give such scores with --scores, or use settled_by 'systems'"
        raise InputError(f"{what}, got {', '.join(ordering) or 'none'}", hint=hint)
    return unknown_directions(metrics)


def _prepare_references(
    records: Sequence[Sample | Dialogue],
    settings: Settings,
    source: Mapping[str, Any],
    on_reject: Callable[[Rejected], None] | None,
    *,
    scored: object,
    trust: Trust,
) -> Prepared:
    samples = [one for one in records if isinstance(one, Sample)]
    if source["kind"] != "samples" or settings.checks or scored:
        what = "attention checks" if settings.checks else "scores" if scored else str(source["kind"])
        raise InputError(f"a task of kind 'references' has no {what}", hint="give samples and a model")
    task, items, facts = prepare_references(samples, settings.task, on_reject=on_reject, trust=trust)
    return Prepared(Settings(task), tuple(items), {**source, **facts}, len(samples))


def _items(records: Iterable[Sample | Dialogue], task: Task, *, together: bool) -> list[Item]:
    if task.kind == "compare":
        return compare_items(records)
    if task.kind == "rate":
        records = list(records)
        check_records(task, records)
        return rate_items(records, together=together, mark_bots=not guesses(task).human)
    raise InputError(f"a task of kind {task.kind!r} is not made from samples or dialogues")


def _checks(given: object, task: Task) -> Iterable[Item]:
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        raise InputError(f"checks must be a list of objects, got {short_repr(given)}")
    for number, one in enumerate(given, start=1):
        try:
            yield _check(one, task, number)
        except InputError as error:
            raise InputError(f"check {number}: {error.what}", hint=error.hint) from error


def _check(value: Mapping[str, Any], task: Task, number: int) -> Item:
    if unknown := set(map(str, value)) - set(CHECK_FIELDS):
        raise InputError(f"a check has no field {min(unknown)!r}{nearest(min(unknown), CHECK_FIELDS)}")
    correct = value.get("correct")
    if not isinstance(correct, Mapping) or not correct:
        raise InputError("no correct answers", hint='add "correct": {"overall": [5]}')
    asked = {question.aspect: question for question in task.questions}
    passing = {str(aspect): _passing(asked.get(str(aspect)), some, str(aspect)) for aspect, some in correct.items()}
    records = [replace(one, id=f"check {number}") for one in _check_records(value, task)]
    (item,) = compare_items(records) if task.kind == "compare" else rate_items(records)
    return replace(item, correct=passing, answer_key=f"check {number}")


def _check_records(value: Mapping[str, Any], task: Task) -> list[Sample] | list[Dialogue]:
    shared = {"context": value.get("context", [])}
    if task.kind != "compare" and "turns" in value:
        return [PARSERS["dialogues"]({"turns": value["turns"]}, "")]
    if task.kind != "compare":
        return [PARSERS["samples"]({**shared, "response": value.get("response")}, "")]
    replies = value.get("responses")
    if not isinstance(replies, list) or len(replies) != 2:
        raise InputError(f"responses must be two texts, got {short_repr(replies)}")
    return [PARSERS["samples"]({**shared, "response": one, "system": str(i)}, "") for i, one in enumerate(replies)]


def _passing(question: Question | None, given: object, aspect: str) -> Sequence[float | str]:
    """Stored answers that pass, from those given in the settings."""
    if question is None:
        raise InputError(f"no question has the aspect {aspect!r}")
    values: list[Any] = given if isinstance(given, list) else [given]
    if not values:
        raise InputError(f"no correct answer for {aspect!r}")
    if question.control == "choice":
        if bad := [one for one in values if one not in CHOICES]:
            raise InputError(f"not a choice: {short_repr(bad[0])}", hint=f"use {', '.join(CHOICES)}")
        return ["tie" if one == "tie" else PLACES[CHOICES.index(one)] for one in values]
    passing = []
    for one in values:
        exact = question.value_on_scale(one) if is_number(one) else None
        if exact is None:
            raise InputError(f"{short_repr(one)} is not on the scale of {aspect!r}")
        passing.append(exact)
    return passing
