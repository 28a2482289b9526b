# SPDX-License-Identifier: Apache-2.0
"""Finds stored values that no version of this program writes, such as after a fault of the disk.

SQLite notices damage of its pages, but not a changed character inside a value. Searching all rows takes time, so it is
done only after something has failed: damage is reported in one line, and any other failure is a bug and stays one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Column, Connection, select

from interloq.data.files.opening import UNREADABLE
from interloq.data.records.parsers import PARSERS
from interloq.errors import InputError, InterloqError, short_repr
from interloq.web.database import UnusableStudyError, open_database
from interloq.web.references.references_task import KIND as REFERENCES
from interloq.web.schema import METADATA, answer, item
from interloq.web.studies.questions import is_number
from interloq.web.studies.tasks import all_tasks
from interloq.web.work.answers import PLACES

LARGEST = 1e11  # of a rating, a priority, or a time in seconds


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
        with database.reading() as connection:
            return next(_damaged_rows(connection), "")
    except UnusableStudyError as error:
        return error.reason
    except InputError as error:
        return error.what
    finally:
        database.close()


def _damaged_rows(connection: Connection) -> Iterator[str]:
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
    for unit in hidden["units"]:
        record, id = unit["record"], unit["id"] + unit["system"]
        if record:
            PARSERS[kind](record, id)
