# SPDX-License-Identifier: Apache-2.0
"""Backups of studies, made while a study is served: a copy of the SQLite file, or all rows as JSONL.

A file of rows starts with a header and can be restored in either database.

SQLite notices damage to its pages, but not a changed character inside a value, for example after a disk fault.
Searching all rows for values that no version of this program writes takes time, so it is done only after something has
failed: damage is reported in one line, and any other failure is treated as a bug.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Column, Connection, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from interloq.data.batched import batched
from interloq.data.files.durable import PRIVATE, atomic_path, sweep
from interloq.data.files.opening import UNREADABLE, lines, plain_suffix, replacing
from interloq.data.files.write_errors import writing
from interloq.data.records.parsers import PARSERS
from interloq.errors import InputError, InterloqError, short_repr
from interloq.web.database import (
    Database,
    UnusableStudyError,
    head_revision,
    is_url,
    naming_study,
    open_database,
    reason_of,
)
from interloq.web.references.references_task import KIND as REFERENCES
from interloq.web.schema import METADATA, PASSING, answer, item
from interloq.web.studies.questions import is_number
from interloq.web.studies.tasks import all_tasks
from interloq.web.work.answers import PLACES

KIND = "study"
SQLITE = b"SQLite format 3\0"
BATCH = 500  # rows per statement
LARGEST = 1e11  # of a rating, a priority, or a time in seconds


def backup(place: str | Path, path: str | Path) -> dict[str, Any]:
    """Write a study to a new file: rows if it is named .jsonl (also .gz .xz .zst), otherwise a copy for SQLite."""
    _refuse_existing(path, "backups")
    rows = plain_suffix(path) == ".jsonl"
    if is_url(place) and not rows:
        raise InputError("a study on a server is written as rows", hint="name a .jsonl file, such as study.jsonl.zst")
    with closing(open_database(place, create=False)) as database:
        if rows:
            return {"rows": _dump(database, path), "tasks": _tasks(database)}
        with atomic_path(path, sqlite3.Error, mode=PRIVATE) as part:
            _copy_pages(Path(place), part)
        return {"tasks": _tasks(database)}


def _refuse_existing(path: str | Path, kind: str) -> None:
    path = Path(path)
    if path.exists():
        sweep(path)  # a process that was killed after the last step leaves an empty part
        raise InputError(f"{path} exists already", hint=f"name a new file; {kind} are never overwritten")


def restore(path: str | Path, place: str | Path) -> dict[str, Any]:
    """Make a study from a backup; a study that exists is not changed."""
    if not is_url(place):
        _refuse_existing(place, "studies")
    copy = _is_sqlite(path)
    if copy and is_url(place):
        hint = "make a backup with rows: interloq serve backup STUDY FILE.jsonl"
        raise InputError("a copy of a SQLite file cannot be restored on a server", hint=hint)
    try:
        return _restore_rows(path, place) if is_url(place) else _restore_file(path, place, copy=copy)
    except UnusableStudyError as error:
        raise InputError(f"cannot be restored: {error.reason}", where=str(path)) from error


def _restore_file(path: str | Path, place: str | Path, *, copy: bool) -> dict[str, Any]:
    """Make a study in a file that gets its name when it is complete."""
    with atomic_path(place, sqlite3.Error, mode=PRIVATE) as part:
        if copy:
            _copy_pages(Path(path), part)
            with closing(open_database(part, create=False)) as database:  # migrates an old study
                facts: dict[str, Any] = {"tasks": _tasks(database)}
        else:
            facts = _restore_rows(path, part)
        with closing(sqlite3.connect(part)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")  # one file, without the files of a log
        _refuse_existing(place, "studies")  # made by another process meanwhile
    return facts


def _restore_rows(path: str | Path, place: str | Path) -> dict[str, Any]:
    """Create the tables of an empty database and load the rows of a file, in one transaction."""
    rows = sum(1 for _ in _rows(path))  # a file that is not a whole backup is refused before writing
    with closing(open_database(place)) as database:
        try:
            with database.writing() as connection:
                for table in METADATA.sorted_tables:
                    if connection.execute(select(table).limit(1)).first() is not None:
                        raise InputError("the database contains a study already", hint="name an empty database")
                _load(connection, _rows(path))
            return {"tasks": _tasks(database), "rows": rows}
        except (IntegrityError, ArithmeticError, TypeError, ValueError) as error:  # values that no column can store
            raise UnusableStudyError(place, reason_of(error)) from error


def _tasks(database: Database) -> list[str]:
    with database.reading() as connection:
        return [task.settings.name for task in all_tasks(connection)]


def _is_sqlite(path: str | Path) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _copy_pages(source: Path, target: Path) -> None:
    """Copy one state of the source, even if somebody writes to it meanwhile."""
    with (
        naming_study(source),
        closing(sqlite3.connect(source)) as old,
        closing(sqlite3.connect(target)) as new,
        writing(target, sqlite3.OperationalError),  # such as a full disk
    ):
        old.backup(new)
        new.execute("PRAGMA journal_mode=DELETE")  # one file, without the files of a log


def _dump(database: Database, path: str | Path) -> int:
    written = 0
    with database.reading() as connection, replacing(path, mode=PRIVATE) as file:
        file.write(_line({"kind": KIND, "schema": 1, "tables": head_revision()}))
        for table in METADATA.sorted_tables:
            if table in PASSING:
                continue
            for row in connection.execution_options(yield_per=BATCH).execute(select(table)).mappings():
                file.write(_line({"table": table.name, "row": dict(row)}))
                written += 1
    return written


def _line(value: Any) -> bytes:
    """Return a line of JSON in ASCII: drafts may contain characters that UTF-8 cannot encode."""
    return json.dumps(value).encode() + b"\n"


def _rows(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in lines(path):
        try:
            value = json.loads(line)
            if number > 1:
                yield METADATA.tables[value["table"]].name, dict(value["row"])
                continue
            head = value["kind"], value["tables"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            hint = "name a file that interloq serve backup wrote"
            raise InputError("not a backup of a study", hint=hint, where=f"{path}:{number}") from error
        _check_head(*head, where=str(path))


def _check_head(kind: object, tables: object, *, where: str) -> None:
    if kind != KIND:
        raise InputError(f"the file contains {kind}, expected a {KIND}", hint="name a backup", where=where)
    if tables != head_revision():
        hint = "restore it with the version that wrote it, then open the study with this one"
        raise InputError(
            f"written with tables {tables!r}; this version has {head_revision()!r}", hint=hint, where=where
        )


def _load(connection: Connection, rows: Iterable[tuple[str, dict[str, Any]]]) -> None:
    for name, some in groupby(rows, key=lambda row: row[0]):
        table = METADATA.tables[name]
        for batch in batched(some, BATCH):
            connection.execute(insert(table), [row for _, row in batch])
        if connection.dialect.name == "postgresql" and "id" in table.c:  # the next row gets the number after the last
            largest = connection.execute(select(func.max(table.c.id))).scalar()
            sequence = text("SELECT setval(pg_get_serial_sequence(:name, 'id'), :largest)")
            connection.execute(sequence, {"name": f'"{table.name}"', "largest": largest})


@contextmanager
def reporting_damage(place: str | Path) -> Iterator[None]:
    """Report a failure in one line if the study is damaged; otherwise raise it unchanged."""
    try:
        yield
    except InterloqError:
        raise
    except UNREADABLE as error:
        reason = find_damage(place)
        if not reason:
            raise
        raise UnusableStudyError(place, f"the file is damaged ({reason})") from error


def find_damage(place: str | Path) -> str:
    """Describe the first damaged row of a study; empty if there is none."""
    try:
        database = open_database(place, create=False)
    except UnusableStudyError as error:
        return error.reason
    except InputError:  # there is no study
        return ""
    try:
        with closing(database), database.reading() as connection:
            return next(_find_damaged_rows(connection), "")
    except UnusableStudyError as error:
        return error.reason
    except InputError as error:
        return error.what


def _find_damaged_rows(connection: Connection) -> Iterator[str]:
    for table in METADATA.sorted_tables:
        for row in connection.execute(select(table)).mappings():
            for column in table.c:
                if not _is_possible(row[column.name], column):
                    yield f"{column.name} of a row of {table.name} cannot be {short_repr(row[column.name])}"
    all_tasks(connection)  # refuses settings that are not valid
    for id, hidden in connection.execute(select(item.c.id, item.c.hidden)):
        try:
            _check_units(hidden)
        except (InputError, *UNREADABLE):
            yield f"item {id} cannot be read"


def _is_possible(value: Any, column: Column[Any]) -> bool:
    if value is None:
        return bool(column.nullable)
    if isinstance(column.type, JSON):
        return True
    if column is answer.c.choice:
        return value in (*PLACES, "tie")
    if column.type.python_type is float:
        return is_number(value) and abs(value) < LARGEST
    return isinstance(value, column.type.python_type)


def _check_units(hidden: Mapping[str, Any]) -> None:
    """Parse the records of an item as the export does; units of a chat have none."""
    kind = "samples" if hidden["kind"] == REFERENCES else hidden["kind"]
    for unit in (*hidden["units"], *hidden.get("samples", ())):
        record, id = unit["record"], unit["id"] + unit["system"]
        if record:
            PARSERS[kind](record, id)
