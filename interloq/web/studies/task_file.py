# SPDX-License-Identifier: Apache-2.0
"""A task from a file of samples or dialogues, and its settings from a JSON file, which may contain attention checks.

A check is an item with known answers that everybody gets: {"context": […], "response": "…", "correct": {"overall": [4,
5]}}, a dialogue {"turns": […], "correct": …}, or to compare {"context": […], "responses": ["…", "…"], "correct":
{"overall": ["first"]}}. Any of the given answers passes. Checks are never exported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

from sqlalchemy import Connection

from interloq.data.files.opening import read_json
from interloq.data.pseudonyms import HASHED
from interloq.data.records.convert_file import detect_kind
from interloq.data.records.jsonl import first_object, header
from interloq.data.records.parsers import PARSERS
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError, nearest, short_repr
from interloq.metrics.metric_names import direction, unknown_directions
from interloq.records import Dialogue, Sample
from interloq.score.scored_samples import ScoredSamples
from interloq.signature import file_fingerprint
from interloq.trust import Trust
from interloq.web.chat.chat_bots import check_chat
from interloq.web.chat.chat_task import chat_items
from interloq.web.database import open_database
from interloq.web.messages import LANGUAGES, texts
from interloq.web.references.rating_task import KIND as REFERENCES_RATING
from interloq.web.references.rating_task import PER_ITEM, make_rating_items
from interloq.web.references.references_task import prepare_references
from interloq.web.serve_options import TASK_FILE_DEFAULTS, TaskFileOptions, TaskOptions
from interloq.web.studies.items import StudyItem, compare_items, rate_items, with_scores
from interloq.web.studies.questions import (
    Kind,
    Question,
    StudyTask,
    check_records,
    from_json,
    guesses,
    is_number,
    is_rated_by_interlocutor,
    with_guesses,
)
from interloq.web.studies.tasks import Workload, add_task, workload
from interloq.web.work.answers import CHOICES, PLACES

LARGEST_SETTINGS = 2**20  # bytes
CHECKS = "checks"
CHECK_FIELDS = ("context", "correct", "response", "responses", "turns")


@dataclass(frozen=True)
class TaskSettings:
    """Settings of a task and its attention checks."""

    task: StudyTask
    checks: tuple[StudyItem, ...] = ()


def read_settings(path: str | Path | None, *, default_name: str = "", **options: Any) -> TaskSettings:
    """Read settings from a JSON file, if there is one, and from options other than None, which take precedence."""
    value: dict[str, Any] = {"name": default_name}
    if path is not None:
        value |= read_json(path, hint="see docs/serve.md for an example", limit=LARGEST_SETTINGS)
    value |= {name: option for name, option in options.items() if option is not None}
    checks = value.pop(CHECKS, [])
    try:
        value = {**_defaults(value.get("kind"), value.get("language", LANGUAGES[0])), **value}
        task = from_json(value)
        if task.kind == "rate":
            task = with_guesses(task)
        if task.kind == REFERENCES_RATING and task.options:
            raise InputError(f"a task of kind {task.kind!r} has no options, got {short_repr(dict(task.options))}")
        if task.kind == REFERENCES_RATING and task.stop_when_settled:
            raise InputError(f"a task of kind {task.kind!r} ranks nothing", hint="remove stop_when_settled")
        return TaskSettings(task, tuple(_checks(checks, task)))
    except InputError as error:
        raise InputError(error.what, hint=error.hint, where=str(path or "")) from error


def task_settings(options: TaskOptions, path: str | Path | None) -> TaskSettings:
    """Read the settings that options name; a task without a name gets the name of its file, if it has one."""
    given = {"kind": options.kind, "per_item": options.per_item, "name": options.name or None}
    return read_settings(options.settings, default_name=default_name(path), **given)


def _defaults(kind: object, language: object) -> dict[str, Any]:
    """Return the default questions and other settings of a kind of task."""
    if kind is None:
        raise InputError("a task has no kind", hint=f"choose one with --task: {', '.join(get_args(Kind))}")
    if kind == "references":
        return {"questions": [], "per_item": 1}
    if not isinstance(language, str) or language not in LANGUAGES:
        language = LANGUAGES[0]
    t = texts(language)
    if kind == "compare":
        return {"questions": [{"text": t["ask_compare"], "control": "choice", "reason": True}]}
    if kind == REFERENCES_RATING:
        asked = {"text": t["ask_reference"], "labels": [t["reference_low"], t["reference_high"]]}
        return {"questions": [asked], "per_item": PER_ITEM}
    return {"questions": [{"text": t["ask_rate"], "labels": [t["scale_low"], t["scale_high"]]}]}


def default_name(path: str | Path | None) -> str:
    """Return the name of a task from the name of its file; chats have none."""
    if path is None:
        return "chat"
    return re.sub(r"[^\w-]+", "-", Path(path).name.split(".")[0]).strip("-")[:80] or "task"


def add_to_study(
    place: str | Path,
    path: str | Path | None,
    settings: TaskSettings,
    options: TaskFileOptions = TASK_FILE_DEFAULTS,
    *,
    reading: ReadOptions = READ_DEFAULTS,
) -> dict[str, Any]:
    """Add a task with the records of a file to a study, which is created if missing; chats have no file."""
    kind = settings.task.kind
    # prepared before the database is opened, so that nobody waits for it
    if path is None:
        if kind != "chat":
            raise InputError(f"a task of kind {kind!r} needs a file", hint="name a file of samples or dialogues")
        prepared = prepare_chat(settings, trust=options.trust)
    else:
        if kind == "chat":
            raise InputError(f"a task of kind {kind!r} has no file", hint="its bots are in the settings")
        prepared = prepare_file(path, settings, options, reading=reading)
    with closing(open_database(place)) as database, database.writing() as connection:
        return prepared.store(connection)


@dataclass(frozen=True)
class PreparedTask:
    """A task that is not stored yet."""

    settings: TaskSettings
    items: tuple[StudyItem, ...]  # without attention checks
    source: Mapping[str, Any]
    records: int

    def store(self, connection: Connection) -> dict[str, Any]:
        """Store the task; return its name, number and counts."""
        number = add_task(connection, self.settings.task, [*self.items, *self.settings.checks], self.source)
        facts = {"task": self.settings.task.name, "number": number, **self.counts()}
        if self.source.get("warning"):
            facts["warning"] = self.source["warning"]
        return facts

    def counts(self) -> dict[str, Any]:
        """Return numbers of items, attention checks and records, and the people that are needed."""
        needed = self._count_work()
        return {
            "items": len(self.items),
            "checks": len(self.settings.checks),
            "records": self.records,
            "needs": asdict(needed),
        }

    def _count_work(self) -> Workload:
        """Return the people that are needed; items that belong to somebody need nobody else."""
        pages = Counter(item.owner for item in self.items if item.owner)
        answers = self._count_answers()
        if pages:
            return Workload(len(pages), max(pages.values()), answers)
        return workload(self.settings.task, Counter(item.answer_key for item in self.items), answers)

    def _count_answers(self) -> int | None:
        """Count the answers to all items by one person each; None for a chat, where they depend on its length."""
        task = self.settings.task
        if task.kind == "compare":
            return len(self.items) * len(task.questions)
        if task.kind in ("rate", REFERENCES_RATING):
            return sum(len(item.shown["units"]) for item in self.items) * len(task.questions)
        return None


def prepare_chat(settings: TaskSettings, *, trust: Trust = None, where: str = "the settings") -> PreparedTask:
    """Return a task of kind chat; `trust` is called with what its bots do besides talking."""
    if settings.checks:
        raise InputError("a chat has no attention checks")
    check_chat(settings.task, trust, where=where)
    return PreparedTask(settings, tuple(chat_items(settings.task)), {"name": "", "kind": "dialogues"}, 0)


def prepare_file(
    path: str | Path,
    settings: TaskSettings,
    options: TaskFileOptions = TASK_FILE_DEFAULTS,
    *,
    reading: ReadOptions = READ_DEFAULTS,
) -> PreparedTask:
    """Return a task with the records of a file."""
    if str(path) == "-":
        raise InputError("a task needs a file, not a pipe", hint="name a file of samples or dialogues")
    kind = detect_kind(path)
    if kind not in ("samples", "dialogues"):
        raise InputError(f"{path} contains {kind}", hint="give samples or dialogues")
    records = list(reading.read(path, kind=kind))
    source: dict[str, Any] = {"name": Path(path).name, "kind": kind, "fingerprint": file_fingerprint(Path(path))}
    if settings.task.kind == "references":
        source["header"] = header(path)
        return _prepare_references(records, settings, source, options, reading)
    if settings.task.kind == REFERENCES_RATING:
        source["header"] = header(path)
    if (first_object(path) or {}).get("users") == HASHED:
        source["users"] = HASHED
    items = _items(records, settings.task, together=not options.alone)
    if options.scores is not None:
        if settings.task.kind == REFERENCES_RATING:
            raise InputError("scores are of replies, not of references", hint="omit the scores")
        checked = ScoredSamples(record for record in records if isinstance(record, Sample))
        scored = reading.read_beside([options.scores], kind="scores")
        items = with_scores(items, checked.check(scored, options.scores))
    if ignored := _metrics_without_direction(settings.task, items):
        what = "it is unknown whether higher or lower is better, so these scores give no priorities"
        source["warning"] = f"{', '.join(ignored)}: {what}"
    return PreparedTask(settings, tuple(items), source, len(records))


def _metrics_without_direction(task: StudyTask, items: Sequence[StudyItem]) -> list[str]:
    """Return metrics of unknown direction; refuse a task that could not end without directions."""
    scored: set[str] = set()
    for item in items:
        scored.update(*(unit.get("scores", ()) for unit in item.hidden["units"]))
    metrics = sorted(scored)
    ordering = [metric for metric in metrics if direction(metric) != "neither"]
    if task.stop_when_settled and task.settled_by == "metrics" and len(ordering) < 2:
        what = "settled_by 'metrics' needs scores of two metrics of which higher or lower is known to be better"
        hint = "give such scores with --scores, or use settled_by 'systems'"
        raise InputError(f"{what}, got {', '.join(ordering) or 'none'}", hint=hint)
    return unknown_directions(metrics)


def _prepare_references(
    records: Sequence[Sample | Dialogue],
    settings: TaskSettings,
    source: Mapping[str, Any],
    options: TaskFileOptions,
    reading: ReadOptions,
) -> PreparedTask:
    samples = [record for record in records if isinstance(record, Sample)]
    unsuitable = ""
    if settings.checks:
        unsuitable = "attention checks"
    elif options.scores:
        unsuitable = "scores"
    elif source["kind"] != "samples":
        unsuitable = str(source["kind"])
    if unsuitable:
        raise InputError(f"a task of kind 'references' has no {unsuitable}", hint="give samples and a model")
    task, items, facts = prepare_references(samples, settings.task, on_reject=reading.on_reject, trust=options.trust)
    return PreparedTask(TaskSettings(task), tuple(items), {**source, **facts}, len(samples))


def _items(records: Iterable[Sample | Dialogue], task: StudyTask, *, together: bool) -> list[StudyItem]:
    if task.kind == "compare":
        return compare_items(records)
    if task.kind == "rate":
        records = list(records)
        check_records(task, records)
        return rate_items(
            records,
            together=together,
            mark_bots=not guesses(task).human,
            by_interlocutor=is_rated_by_interlocutor(task),
        )
    if task.kind == REFERENCES_RATING:
        return make_rating_items(_check_are_samples(records), together=together)
    raise InputError(f"a task of kind {task.kind!r} is not made from samples or dialogues")


def _check_are_samples(records: Iterable[Sample | Dialogue]) -> list[Sample]:
    samples = []
    for record in records:
        if isinstance(record, Dialogue):
            raise InputError("dialogues have no references to rate", hint="give samples: interloq play samples")
        samples.append(record)
    return samples


def _checks(given: object, task: StudyTask) -> Iterable[StudyItem]:
    if not isinstance(given, list) or not all(isinstance(check, Mapping) for check in given):
        raise InputError(f"checks must be a list of objects, got {short_repr(given)}")
    for number, check in enumerate(given, start=1):
        try:
            yield _check(check, task, number)
        except InputError as error:
            raise InputError(f"check {number}: {error.what}", hint=error.hint) from error


def _check(value: Mapping[str, Any], task: StudyTask, number: int) -> StudyItem:
    if unknown := set(map(str, value)) - set(CHECK_FIELDS):
        raise InputError(f"a check has no field {min(unknown)!r}{nearest(min(unknown), CHECK_FIELDS)}")
    correct = value.get("correct")
    if not isinstance(correct, Mapping) or not correct:
        raise InputError("no correct answers", hint='add "correct": {"overall": [5]}')
    questions = {question.aspect: question for question in task.questions}
    passing = {}
    for aspect, answers in correct.items():
        passing[str(aspect)] = _passing(questions.get(str(aspect)), answers, str(aspect))
    records = [replace(record, id=f"check {number}") for record in _check_records(value, task)]
    (item,) = compare_items(records) if task.kind == "compare" else rate_items(records)
    return replace(item, correct=passing, answer_key=f"check {number}")


def _check_records(value: Mapping[str, Any], task: StudyTask) -> list[Sample] | list[Dialogue]:
    shared = {"context": value.get("context", [])}
    if task.kind != "compare" and "turns" in value:
        return [PARSERS["dialogues"]({"turns": value["turns"]}, "")]
    if task.kind != "compare":
        return [PARSERS["samples"]({**shared, "response": value.get("response")}, "")]
    replies = value.get("responses")
    if not isinstance(replies, list) or len(replies) != 2:
        raise InputError(f"responses must be two texts, got {short_repr(replies)}")
    return [PARSERS["samples"]({**shared, "response": reply, "system": str(i)}, "") for i, reply in enumerate(replies)]


def _passing(question: Question | None, given: object, aspect: str) -> Sequence[float | str]:
    """Return the stored answers that pass, from the answers in the settings."""
    if question is None:
        raise InputError(f"no question has the aspect {aspect!r}")
    values: list[Any] = given if isinstance(given, list) else [given]
    if not values:
        raise InputError(f"no correct answer for {aspect!r}")
    if question.control == "choice":
        if bad := [choice for choice in values if choice not in CHOICES]:
            raise InputError(f"not a choice: {short_repr(bad[0])}", hint=f"use {', '.join(CHOICES)}")
        stored = dict(zip(CHOICES, (*PLACES, "tie"), strict=True))
        return [stored[choice] for choice in values]
    passing = []
    for value in values:
        exact = question.value_on_scale(value) if is_number(value) else None
        if exact is None:
            raise InputError(f"{short_repr(value)} is not on the scale of {aspect!r}")
        passing.append(exact)
    return passing
