# SPDX-License-Identifier: Apache-2.0
"""Annotations exported from Label Studio (JSON) as rated samples or dialogues, or as preferences."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from interloq.data.files.opening import read_json, read_json_list, reading_saved
from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.pseudonyms import Pseudonyms
from interloq.data.records.jsonl import write
from interloq.data.records.layouts import Layout
from interloq.data.records.parsers import PARSERS
from interloq.errors import InputError, ReadWarning, short_repr
from interloq.records import OUTSIDER, Dialogue, Preference, Rating, Sample, format_key
from interloq.web.studies.items import list_compared_ids
from interloq.web.studies.label_studio_tasks import KEY, SIDES, TIE

LIMIT = 2**30  # bytes of an export, which is read at once
NUMBERS = {"rating": "rating", "number": "number", "choices": "choices"}  # type of a result → field of its value
COMPARED = {"pairwise": "selected", "choices": "choices"}


@dataclass(frozen=True)
class _Task:
    where: str  # file and position
    id: str
    data: Mapping[str, Any]
    annotations: tuple[_Annotation, ...]


@dataclass(frozen=True)
class _Annotation:
    rater: str
    results: tuple[_Result, ...]


@dataclass(frozen=True)
class _Result:
    where: str
    aspect: str
    type: str
    value: Mapping[str, Any]


def label_studio_answers(
    path: str | Path,
    output: str | Path,
    *,
    key: str | Path | None = None,
    names: Pseudonyms | None = None,
    columns: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Write the annotations of an export as JSONL; return counts.

    `key` is the key file of tasks that Interloq wrote; otherwise the data of each task is read as a sample, with
    `columns` as in `interloq.read`. `names` hashes annotators' ids; None keeps them. Results without a field in records
    are counted by type as `skipped`.
    """
    refuse_overwriting([output], [path, key] if key else [path])
    if key and columns:
        raise InputError("a key file has the records, so no fields can be mapped", hint="omit --map or --key")
    cancelled, skipped = Counter[str](), Counter[str]()
    tasks, name = list(_tasks(path, cancelled)), names or str
    kind, hidden = _read_key_file(key) if key else ("samples", {})
    converted: Iterable[Any]
    if kind == "preferences":
        converted = list(_preferences(tasks, hidden, name, skipped))
    else:
        records = _read_records(hidden, str(key)) if key else {}
        layout = Layout("samples", columns)
        converted = _add_ratings(tasks, records, layout, name, skipped, keyed=bool(key))
        layout.names.check()
        if notes := layout.notes():
            warnings.warn(f"{path}: {notes}", ReadWarning, stacklevel=2)
    raters = "hashed" if names else "kept"
    written = write(output, converted, kind=kind, source="Label Studio", raters=raters)
    return {"kind": kind, "records": written, "cancelled": cancelled.total(), "skipped": dict(skipped)}


def _add_ratings(
    tasks: Iterable[_Task],
    records: dict[str, Sample | Dialogue],
    layout: Layout,
    name: Callable[[str], str],
    skipped: Counter[str],
    *,
    keyed: bool,
) -> list[Sample | Dialogue]:
    """Return the records with the ratings of all tasks."""
    for task in tasks:
        place = _key_of(task, records) if keyed else _add_sample(task, layout, records)
        ratings = list(records[place].ratings)
        for annotation in task.annotations:
            for result in _select_results(annotation.results, NUMBERS, skipped):
                rater = name(annotation.rater)
                ratings.append(Rating(_number(result), rater=rater, aspect=result.aspect, role=OUTSIDER))
        records[place] = replace(records[place], ratings=tuple(ratings))
    return list(records.values())


def _add_sample(task: _Task, layout: Layout, records: dict[str, Sample | Dialogue]) -> str:
    """Add the sample in the data of a task unless it is there already; return its position."""
    if KEY in task.data:
        raise InputError("the task was written by Interloq", hint="name its key file with --key", where=task.where)
    try:
        sample: Sample = layout.record({"id": task.id, **task.data}, task.id)
    except InputError as error:
        raise InputError(f"the data of the task is not a sample: {error}", where=task.where) from error
    place = format_key(sample.key)
    known = records.setdefault(place, sample)
    if replace(known, ratings=()) != replace(sample, ratings=()):
        raise InputError(f"another task has a different sample {place}", hint="use different ids", where=task.where)
    return place


def _number(result: _Result) -> float:
    value = result.value.get(NUMBERS[result.type])
    if result.type == "choices":
        value = _choice(result)
        try:
            value = float(value)
        except ValueError:
            hint = "use numbers as values or aliases of choices"
            raise InputError(f"the choice {value!r} is not a number", hint=hint, where=result.where) from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"a {result.type} must be a number, got {short_repr(value)}", where=result.where)
    return float(value)


def _preferences(
    tasks: Iterable[_Task], hidden: Mapping[str, Any], name: Callable[[str], str], skipped: Counter[str]
) -> Iterator[Preference]:
    """Yield one preference per comparison; texts that the annotator entered are its reason."""
    for task in tasks:
        known = hidden[_key_of(task, hidden)]
        with reading_saved(task.where, "the key file is damaged"):
            systems = {side: str(unit["system"]) for side, unit in zip(SIDES, known["units"], strict=True)}
            item = str(known["item"])
            ids = list_compared_ids(item, known["units"])
        pair = systems[SIDES[0]], systems[SIDES[1]]
        for annotation in task.annotations:
            reason = " ".join(_texts(annotation.results))
            for result in _select_results([r for r in annotation.results if r.type != "textarea"], COMPARED, skipped):
                side = _side(result)
                yield Preference(item, pair, systems.get(side, ""), name(annotation.rater), result.aspect, reason, ids)


def _side(result: _Result) -> str:
    side = _choice(result) if result.type == "choices" else result.value.get("selected")
    if side not in (*SIDES, TIE):
        what = f"a comparison must be answered with left, right or tie, got {short_repr(side)}"
        raise InputError(what, where=result.where)
    return str(side)


def _texts(results: Iterable[_Result]) -> Iterator[str]:
    """Yield the texts of text areas, which are stored as a list."""
    for result in results:
        if result.type == "textarea":
            text = result.value.get("text")
            if isinstance(text, str):
                yield text
            else:
                yield from map(str, _get_field(result.value, "text", list, result.where))


def _tasks(path: str | Path, cancelled: Counter[str]) -> Iterator[_Task]:
    for number, task in enumerate(read_json_list(path, hint="export the project as JSON", limit=LIMIT), 1):
        where = f"{path}: task {number}"
        data = _get_field(task, "data", dict, where)
        annotations = _get_field(task, "annotations", list, where, hint="export the project as JSON, not as JSON-MIN")
        completed = []
        for place, annotation in enumerate(annotations, 1):
            results = _get_field(annotation, "result", list, f"{where}, annotation {place}")
            if annotation.get("was_cancelled"):
                cancelled["annotations"] += 1
            else:
                completed.append(_annotation(annotation, results, f"{where}, annotation {place}"))
        yield _Task(where, str(task.get("id", number)), data, tuple(completed))


def _annotation(value: Mapping[str, Any], results: list[Any], where: str) -> _Annotation:
    checked = []
    for place, result in enumerate(results, 1):
        spot = f"{where}, result {place}"
        type = _get_field(result, "type", str, spot)
        aspect = result.get("from_name", "")  # relations have none
        answer = result.get("value")
        if not isinstance(answer, dict):
            answer = {}
        checked.append(_Result(spot, str(aspect), type, answer))
    return _Annotation(_rater(value.get("completed_by"), where), tuple(checked))


def _rater(person: Any, where: str) -> str:
    """Return the id of an annotator, or their e-mail address if there is no id; "" if unknown."""
    if isinstance(person, dict):
        person = person.get("id", person.get("email"))
    if person is not None and (isinstance(person, bool) or not isinstance(person, int | str)):
        raise InputError(f"'completed_by' must be an id or an e-mail address, got {short_repr(person)}", where=where)
    return "" if person is None else str(person)


def _select_results(results: Iterable[_Result], types: Mapping[str, str], skipped: Counter[str]) -> Iterator[_Result]:
    """Yield the results of these types; others are counted."""
    for result in results:
        if result.type not in types:
            skipped[result.type] += 1
            continue
        if not result.aspect or types[result.type] not in result.value:
            what = f"a result of type {result.type} needs 'from_name' and {types[result.type]!r} in its 'value'"
            raise InputError(what, where=result.where)
        yield result


def _choice(result: _Result) -> str:
    choices = _get_field(result.value, "choices", list, result.where)
    if len(choices) != 1 or not isinstance(choices[0], str):
        raise InputError(f"expected one choice, got {short_repr(choices)}", where=result.where)
    return choices[0]


def _get_field(value: Any, name: str, type: type, where: str, *, hint: str = "") -> Any:
    """Return a required field of an object."""
    field = value.get(name) if isinstance(value, dict) else None
    if not isinstance(field, type):
        what = f"{name!r} must be a {type.__name__}, got {short_repr(field)}"
        raise InputError(what, hint=hint or "export the project as JSON", where=where)
    return field


def _read_key_file(path: str | Path) -> tuple[str, dict[str, Any]]:
    """Read the kind of the records, and what is hidden under each task key, from a key file."""
    hint = "give the .key.json file that was written next to the tasks"
    value = read_json(path, hint=hint, limit=LIMIT)
    if value.get("kind") not in ("samples", "dialogues", "preferences"):
        raise InputError("not a key file of Label Studio tasks", hint=hint, where=str(path))
    return value["kind"], _get_field(value, "tasks", dict, str(path), hint=hint)


def _read_records(hidden: Mapping[str, Any], where: str) -> dict[str, Sample | Dialogue]:
    """Return the records of a key file by task key."""
    with reading_saved(where):
        records = {key: PARSERS[task["kind"]](task["units"][0]["record"], "") for key, task in hidden.items()}
    first: dict[Any, str] = {}
    for key, record in records.items():
        name = record.key if isinstance(record, Sample) else record.id
        if first.setdefault(name, key) != key:
            what = f"the tasks {first[name]!r} and {key!r} are of the same record {name!r}"
            raise InputError(what, hint="give the key file that was written with the tasks", where=where)
    return records


def _key_of(task: _Task, known: Mapping[str, Any]) -> str:
    key = task.data.get(KEY)
    if not isinstance(key, str) or key not in known:
        what = f"{KEY} of the task is not in the key file: {short_repr(key)}"
        raise InputError(what, hint="give the key file that was written with these tasks", where=task.where)
    return key
