# SPDX-License-Identifier: Apache-2.0
"""Answers as records: rated samples or dialogues, ratings on their own, preferences, and samples with references.

Annotators are named by a keyed hash (`data/pseudonyms.py`). Attention checks are not exported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from interloq.data.files.overwriting import refuse_overwriting
from interloq.data.pseudonyms import HASHED, Pseudonyms, read_key
from interloq.data.records.jsonl import header_after, write
from interloq.data.records.parsers import PARSERS
from interloq.data.records.tables import is_table, write_table
from interloq.errors import InputError
from interloq.records import INTERLOCUTOR, OUTSIDER, Dialogue, Key, Preference, Rating, Reference, Sample
from interloq.signature import file_fingerprint
from interloq.web.access.people import raters
from interloq.web.chat.chat_export import chat_dialogues, chat_samples
from interloq.web.database import open_database
from interloq.web.references.rating_task import KIND as REFERENCES_RATING
from interloq.web.references.rating_task import find_good_references, list_rated_keys
from interloq.web.references.reference_steps import Work, load_work
from interloq.web.references.references_task import parse_stored_sample, references_options
from interloq.web.schema import answer, assignment, item, person
from interloq.web.serve_options import EXPORT_DEFAULTS, ExportOptions
from interloq.web.studies.forget import note_export
from interloq.web.studies.items import list_compared_ids
from interloq.web.studies.questions import export_answer, guesses, is_rated_by_interlocutor
from interloq.web.studies.tasks import Stored, find_task, get_task
from interloq.web.work.answers import PLACES

RATED = ("rate", REFERENCES_RATING)  # kinds of tasks with ratings
SQLITE_PARTS = ("wal", "shm")  # files beside an open study


@dataclass(frozen=True)
class Answer:
    """One answer to one question, with the rated unit."""

    unit: Mapping[str, Any]  # id, system and record
    units: tuple[Mapping[str, Any], ...]  # all of the item
    item: str  # what the units of a comparison share: an id or an occasion
    person: int
    rater: str  # an id that must be hashed
    aspect: str
    system: str  # that the answer is about, if it is about one of several in the unit
    value: float | None
    choice: str | None
    reason: str
    time: float

    @property
    def rated(self) -> list[Key]:
        """The items that the answer is about, with their systems: several if references have the same text.

        The system is empty if the answer is about a dialogue of several systems as a whole.
        """
        if "places" in self.unit:
            return list_rated_keys(self.unit)
        several = len(set(self.unit["record"].get("systems", {}).values())) > 1
        if self.system or several:
            return [(self.unit["id"], self.system)]
        return [(self.unit["id"], str(self.unit["system"]))]


def answers(connection: Connection, task: int) -> Iterator[Answer]:
    """Yield all answers to a task in the order of its items, except attention checks.

    Guesses are converted by `export_answer`.
    """
    rows = connection.execute(
        select(answer, assignment.c.person_id, item.c.hidden)
        .join(assignment, assignment.c.id == answer.c.assignment_id)
        .join(item, item.c.id == assignment.c.item_id)
        .where(assignment.c.task_id == task, assignment.c.finished.is_not(None), item.c.correct.is_(None))
        .order_by(item.c.place, answer.c.id)
    )
    known, guessed = raters(connection), guesses(get_task(connection, task).settings)
    for row in rows:
        units = tuple(row.hidden["units"])
        unit = units[row.unit] if row.unit < len(units) else units[0]  # replies in a chat belong to its only unit
        for aspect, value, system in export_answer(guessed, row.aspect, row.value, unit):
            yield Answer(
                unit, units, row.hidden.get("item", units[0]["id"]), row.person_id, known[row.person_id],
                aspect, system, value, row.choice, row.reason, row.time,
            )  # fmt: skip


def ratings(connection: Connection, stored: Stored, name: Pseudonyms) -> Iterator[Rating]:
    """Yield ratings on their own, one per answer and rated item."""
    role, name_rater = _describe_raters(stored, name)
    for vote in answers(connection, stored.id):
        for rated_item, system in vote.rated:
            yield Rating(vote.value, name_rater(vote.rater), vote.aspect, role, rated_item, system)


def _describe_raters(stored: Stored, name: Pseudonyms) -> tuple[str, Callable[[str], str]]:
    """Return the role of a task's raters, and how their ids are exported: interlocutors as in the rated contexts."""
    if is_rated_by_interlocutor(stored.settings):
        return INTERLOCUTOR, str
    return OUTSIDER, name


def preferences(connection: Connection, task: int, name: Pseudonyms) -> Iterator[Preference]:
    """Yield preferences, one per answer."""
    for vote in answers(connection, task):
        first, second = (unit["system"] for unit in vote.units)
        winner = "" if vote.choice == "tie" else vote.units[PLACES.index(str(vote.choice))]["system"]
        ids = list_compared_ids(vote.item, vote.units)
        yield Preference(vote.item, (first, second), winner, name(vote.rater), vote.aspect, vote.reason, ids)


def export_study(
    place: str | Path, task: str, output: str | Path, options: ExportOptions = EXPORT_DEFAULTS
) -> dict[str, Any]:
    """Export a task of a study; see `export_task`."""
    inputs = [place, *(f"{place}-{part}" for part in SQLITE_PARTS)]
    if options.secret:
        inputs.append(options.secret)
    refuse_overwriting([output], inputs)
    name, path = Pseudonyms(read_key(options.secret)), Path(output)
    with closing(open_database(place, create=False)) as database:
        with database.reading() as connection:
            stored = find_task(connection, task)
            # an earlier export may be replaced
            if path.is_file() and file_fingerprint(path) == stored.source.get("fingerprint"):
                what = f"{output} is the file that task {stored.settings.name!r} was made from"
                raise InputError(what, hint="name another file")
            wrote = export_task(connection, stored, output, name, options)
        with database.writing() as connection:
            note_export(connection, stored.id, output)
    return wrote


def export_task(
    connection: Connection,
    stored: Stored,
    output: str | Path,
    name: Pseudonyms,
    options: ExportOptions = EXPORT_DEFAULTS,
) -> dict[str, Any]:
    """Write the answers so far as one file that every verb reads; return its kind and the number of records.

    CSV and TSV are long tables of ratings.
    """
    alone, replies = options.alone, options.replies
    _check_suitable(stored.settings.kind, options)
    if options.above is not None:
        return _export_good_references(connection, stored, output, options.above)
    if is_table(output):
        return _export_table(connection, stored, output, name)
    if stored.settings.kind == "references":
        return export_references(connection, stored, output, name)
    kind, records = _records(connection, stored, name, alone=alone, replies=replies)
    facts: dict[str, Any] = {"task": stored.settings.name, "source": stored.source.get("name", ""), "raters": HASHED}
    counts: dict[str, Any] = {}
    if stored.settings.kind == "rate" and not alone:
        new = sum(1 for _ in answers(connection, stored.id))
        all_ratings = sum(len(record.ratings) for record in records)
        # without answers, a file looks rated all the same
        counts = {"new_ratings": new, "earlier_ratings": all_ratings - new}
        facts |= counts
    if stored.settings.kind == REFERENCES_RATING:
        counts = {"scale": {question.aspect: [question.low, question.high] for question in stored.settings.questions}}
        facts |= counts
    if stored.settings.kind == "chat" or stored.source.get("users") == HASHED:
        facts["users"] = HASHED  # speakers too, so that other verbs do not hash them again
    return {"kind": kind, "records": write(output, records, kind=kind, **facts), **counts}


def _check_suitable(kind: str, options: ExportOptions) -> None:
    wanted = {
        "ratings on their own": options.alone and kind not in RATED,
        "single replies": options.replies and kind != "chat",
        "samples with good references": options.above is not None and kind != REFERENCES_RATING,
    }
    for what, is_unsuitable in wanted.items():
        if is_unsuitable:
            raise InputError(f"a task of kind {kind!r} cannot be exported as {what}")


def _export_good_references(connection: Connection, stored: Stored, output: str | Path, above: float) -> dict[str, Any]:
    """Write the samples with only the references that people rated above a threshold by the first question."""
    aspect = stored.settings.questions[0].aspect
    values: dict[Key, list[float]] = {}
    for vote in answers(connection, stored.id):
        if vote.aspect == aspect and vote.value is not None:
            for key in vote.rated:
                values.setdefault(key, []).append(vote.value)
    shown = (item.c.task_id == stored.id) & item.c.correct.is_(None)
    hidden_parts = connection.execute(select(item.c.hidden).where(shown)).scalars().all()
    samples, counts = find_good_references(hidden_parts, values, above)
    facts = {"task": stored.settings.name, "aspect": aspect, "above": above, "counts": counts}
    written = write(output, samples, kind="samples", **header_after(stored.source["header"], "filtered", facts))
    return {"kind": "samples", "records": written, "references": counts}


def _export_table(connection: Connection, stored: Stored, output: str | Path, name: Pseudonyms) -> dict[str, Any]:
    if stored.settings.kind not in RATED:
        raise InputError(f"no ratings in a task of kind {stored.settings.kind!r}", hint="name a .jsonl file")
    columns = ("item", "system", "rater", "aspect", "role", "value", "time", "reason")
    rows = []
    role, name_rater = _describe_raters(stored, name)
    for vote in answers(connection, stored.id):
        time = datetime.fromtimestamp(vote.time, UTC).isoformat(timespec="seconds")
        rater = name_rater(vote.rater)
        for rated_item, system in vote.rated:
            rows.append((rated_item, system, rater, vote.aspect, role, vote.value, time, vote.reason))
    write_table(output, columns, rows)
    return {"kind": "ratings", "records": len(rows)}


def _records(
    connection: Connection, stored: Stored, name: Pseudonyms, *, alone: bool, replies: bool
) -> tuple[str, Any]:
    if stored.settings.kind == "chat":
        if replies:
            return "samples", chat_samples(connection, stored, name)
        return "dialogues", chat_dialogues(connection, stored, name)
    if stored.settings.kind == "compare":
        return "preferences", preferences(connection, stored.id, name)
    if alone or stored.settings.kind == REFERENCES_RATING:
        return "ratings", ratings(connection, stored, name)
    records: dict[tuple[str, str], Sample | Dialogue] = {}
    shown = (item.c.task_id == stored.id) & item.c.correct.is_(None)
    for row in connection.execute(select(item.c.hidden).where(shown).order_by(item.c.place)):
        for unit in row.hidden["units"]:
            records[unit["id"], unit["system"]] = PARSERS[row.hidden["kind"]](unit["record"], unit["id"])
    role, name_rater = _describe_raters(stored, name)
    for vote in answers(connection, stored.id):
        key = vote.unit["id"], vote.unit["system"]
        rating = Rating(vote.value, rater=name_rater(vote.rater), aspect=vote.aspect, role=role, system=vote.system)
        records[key] = replace(records[key], ratings=(*records[key].ratings, rating))
    return str(stored.source.get("kind", "samples")), list(records.values())


@dataclass(frozen=True)
class Annotated:
    """An item with the work of everybody who has or had it, and the references that they added together."""

    hidden: Mapping[str, Any]
    works: tuple[Work, ...]
    finished: int  # people who finished it

    @cached_property
    def added(self) -> tuple[Reference, ...]:
        """Distinct references, one person after another."""
        by_text: dict[str, Reference] = {}
        for work in self.works:
            for reference in work.state.added:
                by_text.setdefault(reference.text.strip(), reference)
        return tuple(by_text.values())


def export_references(connection: Connection, stored: Stored, output: str | Path, name: Pseudonyms) -> dict[str, Any]:
    """Write the samples with all references added so far; return the kind and the number of records."""
    items = read_annotated_items(connection, stored)
    samples = collect_annotated_samples(items)
    facts = {
        "signature": stored.source["signature"],
        "counts": _counts(items, stored, len(samples)),
        "task": stored.settings.name,
        "annotators": _texts_by_person(items, raters(connection), name),
        "groups": _queries_by_group(items, raters(connection), name),
    }
    written = write(output, samples, kind="samples", **header_after(stored.source["header"], "annotated", facts))
    return {"kind": "samples", "records": written}


def read_annotated_items(connection: Connection, stored: Stored) -> list[Annotated]:
    """Return the items of a task with all steps so far, in the order of the file."""
    options = references_options(stored.settings)
    rows: dict[int, list[Any]] = {}
    wanted = select(assignment, item.c.hidden, person.c.number).join(item, item.c.id == assignment.c.item_id)
    wanted = wanted.join(person, person.c.id == assignment.c.person_id)
    for row in connection.execute(wanted.where(assignment.c.task_id == stored.id).order_by(assignment.c.id)):
        rows.setdefault(row.item_id, []).append(row)
    all_items = select(item.c.id, item.c.hidden).where(item.c.task_id == stored.id).order_by(item.c.place)
    items = []
    for one_item in connection.execute(all_items).all():
        assignments = rows.get(one_item.id, [])
        works = tuple(load_work(connection, options, row) for row in assignments)
        finished = sum(row.finished is not None for row in assignments)
        items.append(Annotated(one_item.hidden, works, finished))
    return items


def collect_annotated_samples(items: Iterable[Annotated]) -> list[Sample]:
    """Return all samples of the file in its order, with the references added so far."""
    samples: dict[int, Sample] = {}
    for annotated in items:
        for unit in annotated.hidden["unchanged"]:
            samples[unit["place"]] = parse_stored_sample(unit)
        for unit in annotated.hidden["units"]:
            sample = parse_stored_sample(unit)
            samples[unit["place"]] = replace(sample, references=(*sample.references, *annotated.added))
    return [samples[place] for place in sorted(samples)]


def _counts(items: Sequence[Annotated], stored: Stored, samples: int) -> dict[str, int]:
    """Count as in the terminal: queries with nothing to decide are finished."""
    counts = Counter(samples=samples, queries=int(stored.source["queries"]), finished=0, steps=0, added=0, edited=0)
    counts["finished"] = counts["queries"]
    for annotated in items:
        counts["finished"] -= annotated.finished < stored.settings.per_item
        counts["steps"] += sum(len(work.steps) for work in annotated.works)
        counts["added"] += len(annotated.added)
        counts["edited"] += sum(reference.source == "human" for reference in annotated.added)
    return dict(counts)


def _queries_by_group(
    items: Iterable[Annotated], known: Mapping[int, str], name: Pseudonyms
) -> dict[str, dict[str, list[str]]]:
    """Return the queries that each person worked on with predictions (assisted), or without."""
    groups: dict[str, dict[str, list[str]]] = {}
    for annotated in items:
        for work in annotated.works:
            groups.setdefault(work.group, {}).setdefault(name(known[work.person]), []).append(work.query)
    return groups


def _texts_by_person(
    items: Iterable[Annotated], known: Mapping[int, str], name: Pseudonyms
) -> dict[str, dict[str, list[str]]]:
    """Return the texts that each person added, by query."""
    by_person: dict[str, dict[str, list[str]]] = {}
    for annotated in items:
        for work in annotated.works:
            if work.state.added:
                texts = by_person.setdefault(name(known[work.person]), {})
                texts[work.query] = [reference.text for reference in work.state.added]
    return by_person
