# SPDX-License-Identifier: Apache-2.0
"""A task from a file of samples or dialogues, and its settings from a JSON file, which may contain attention checks.

A check is an item with known answers that everybody gets: {"context": […], "response": "…", "correct": {"overall":
[4, 5]}}, or to compare {"context": […], "responses": ["…", "…"], "correct": {"overall": ["first"]}}. Any of the answers
passes. Checks are never exported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from interloq.data.convert_file import kind_held
from interloq.data.files import read_small
from interloq.data.jsonl import Rejected, read
from interloq.data.parsers import PARSERS
from interloq.errors import InputError, short_repr
from interloq.records import Dialogue, Sample
from interloq.signature import file_fingerprint
from interloq.web.answers import CHOICES, PLACES
from interloq.web.items import Item, compare_items, rate_items
from interloq.web.questions import Question, Task, from_json
from interloq.web.tasks import add_task

LARGEST_SETTINGS = 2**20  # bytes
CHECKS = "checks"


@dataclass(frozen=True)
class Settings:
    """Settings of a task and its attention checks."""

    task: Task
    checks: tuple[Item, ...] = ()


def read_settings(path: str | Path | None, **given: Any) -> Settings:
    """Settings from a JSON file, if there is one, and from options, which take precedence."""
    value = {} if path is None else _object(path)
    value |= {name: one for name, one in given.items() if one is not None}
    if value.get("kind") == "compare" and "questions" not in value:
        value["questions"] = [{"control": "choice", "reason": True}]
    checks = value.pop(CHECKS, [])
    try:
        task = from_json(value)
        return Settings(task, tuple(_checks(checks, task)))
    except InputError as error:
        raise InputError(error.what, hint=error.hint, where=str(path or "")) from error


def _object(path: str | Path) -> dict[str, Any]:
    try:
        value = json.loads(read_small(path, limit=LARGEST_SETTINGS))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", hint="see docs/serve.md for an example", where=str(path)) from error
    if not isinstance(value, dict):
        raise InputError(f"settings must be an object, got {short_repr(value)}", where=str(path))
    return value


def add_file(
    connection: Connection,
    path: str | Path,
    settings: Settings,
    *,
    together: bool = True,
    strict: bool = False,
    on_reject: Callable[[Rejected], None] | None = None,
    columns: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Store a task with the records of a file; returns its number and counts. Bad lines are handled as by `read`."""
    kind = kind_held(path)
    if kind not in ("samples", "dialogues"):
        raise InputError(f"{path} contains {kind}", hint="give samples or dialogues")
    records = list(read(path, kind=kind, strict=strict, on_reject=on_reject, columns=columns))
    items = _items(records, settings.task, together=together)
    source = {"name": Path(path).name, "kind": kind, "fingerprint": file_fingerprint(Path(path))}
    number = add_task(connection, settings.task, [*items, *settings.checks], source)
    return {"task": number, "items": len(items), "checks": len(settings.checks), "records": len(records)}


def _items(records: Iterable[Sample | Dialogue], task: Task, *, together: bool) -> list[Item]:
    if task.kind == "compare":
        return compare_items(records)
    if task.kind == "rate":
        return rate_items(records, together=together)
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
    correct = value.get("correct")
    if not isinstance(correct, Mapping) or not correct:
        raise InputError("no correct answers", hint='add "correct": {"overall": [5]}')
    asked = {question.aspect: question for question in task.questions}
    passing = {str(aspect): _passing(asked.get(str(aspect)), some, str(aspect)) for aspect, some in correct.items()}
    samples = [replace(one, id=f"check {number}") for one in _check_samples(value, task)]
    (item,) = compare_items(samples) if task.kind == "compare" else rate_items(samples)
    return replace(item, correct=passing, answer_key=f"check {number}")


def _check_samples(value: Mapping[str, Any], task: Task) -> list[Sample]:
    shared = {"context": value.get("context", [])}
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
    values = given if isinstance(given, list) else [given]
    if question.control == "choice":
        if bad := [one for one in values if one not in CHOICES]:
            raise InputError(f"not a choice: {short_repr(bad[0])}", hint=f"use {', '.join(CHOICES)}")
        return ["tie" if one == "tie" else PLACES[CHOICES.index(one)] for one in values]
    found = [float(one) for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(found) < len(values) or not all(map(question.accepts, found)):
        raise InputError(f"{short_repr(values)} is not on the scale of {aspect!r}")
    return found
