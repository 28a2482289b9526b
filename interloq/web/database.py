# SPDX-License-Identifier: Apache-2.0
"""The database of a study: SQLite in a file, or PostgreSQL by URL; opened, migrated, read and written.

Each request is one transaction. With SQLite, writers wait for each other; readers never wait (write-ahead log). A
committed transaction survives a crash of the process or the machine; a draft may not survive a crash of the machine.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import URL, Connection, CursorResult, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from interloq.data.files.durable import PRIVATE
from interloq.data.files.write_errors import writing
from interloq.errors import InputError, MissingDependencyError

WAIT = 30.0  # seconds that a writer waits for another one
POOL = 10  # connections to a server
THREADS = 40  # that answer requests; each keeps a connection to a file, because opening one takes longer than a request
_READING, _WAITING = "interloq_reading", "interloq_waiting"
_MIGRATING = 0x696E7465726C6F71  # key of the lock while tables are made in PostgreSQL


class UnusableStudyError(InputError):
    """The database of a study cannot be read or written: it is damaged, locked by another program, or unreachable."""

    def __init__(self, place: str | Path, reason: str) -> None:
        self.reason = reason
        super().__init__(f"cannot use the study {_hide_password(place)}: {reason}", hint=_hint(reason))


class Database:
    """An open database whose tables are up to date."""

    def __init__(self, engine: Engine, place: str | Path) -> None:
        self.engine, self.place = engine, place
        self._turn = Lock() if engine.dialect.name == "sqlite" else None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that reads one state of the data."""
        options: dict[str, Any] = {_READING: True}
        if self.engine.dialect.name == "postgresql":
            options["isolation_level"] = "REPEATABLE READ"
        with (
            naming_study(self.place),
            self.engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def writing(self, *, wait_for_disk: bool = True) -> Iterator[Connection]:
        """Open a transaction that is stored completely, or not at all if anything in it fails.

        A transaction that does not wait for the disk survives a crash of the process, but may be lost if the machine
        crashes.
        """
        options = {_WAITING: wait_for_disk}
        with (
            naming_study(self.place),
            self._turn_to_write(),
            self.engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            if not wait_for_disk and connection.dialect.name == "postgresql":
                connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
            yield connection

    @contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        """Let threads take turns before they write (SQLite): writers that collide would sleep before they try again."""
        if self._turn is None:
            yield
            return
        if not self._turn.acquire(timeout=WAIT):
            raise sqlite3.OperationalError("database is locked")
        try:
            yield
        finally:
            self._turn.release()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_database(place: str | Path, *, create: bool = True) -> Database:
    """Open the database in a file, or at a URL such as `postgresql://user@host/name`; old tables are migrated.

    With `create`, an empty or missing database becomes a new study; otherwise, it is refused and not changed.
    """
    engine = _engine(str(place), create=create)
    try:
        with naming_study(place):
            _check_pages(engine)
            with engine.connect().execution_options(**{_READING: True}) as connection:  # does not wait for a writer
                revision = MigrationContext.configure(connection).get_current_revision()
            if revision != head_revision():
                with engine.begin() as connection:
                    _migrate(connection, place, create=create)
            _write_ahead(engine)
    except BaseException:
        engine.dispose()
        raise
    return Database(engine, place)


@contextmanager
def naming_study(place: str | Path) -> Iterator[None]:
    """Report errors of the database in one line with the name of the study; conflicts of rows are errors of callers."""
    try:
        yield
    except IntegrityError:
        raise
    except (SQLAlchemyError, sqlite3.DatabaseError, CommandError) as error:
        raise UnusableStudyError(place, reason_of(error)) from error
    except UnicodeDecodeError as error:  # of the tables' own names
        raise UnusableStudyError(place, "the file is damaged (a name is not valid UTF-8)") from error


def reason_of(error: Exception) -> str:
    """Return what a database says about an error, without the statement and without a link for programmers."""
    text = str(getattr(error, "orig", None) or error).partition(" (Background on this error")[0]
    return text.strip().partition("\n")[0] or type(error).__name__


def _hint(reason: str) -> str:
    if "locked" in reason:
        return "another program is writing to it; wait until it has finished"
    damaged = any(word in reason for word in ("malformed", "not a database", "no such", "damaged", "decode"))
    return "restore a backup: interloq serve restore BACKUP NEW_STUDY" if damaged else ""


def is_url(place: str | Path) -> bool:
    """Return whether a study is on a server."""
    return "://" in str(place)


def head_revision() -> str:
    """Return the name of the newest tables, which every open study has."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def inserted_id(result: CursorResult[Any]) -> int:
    """Return the number of the row that was inserted."""
    key: Any = result.inserted_primary_key
    return int(key[0])


def make_storable(text: str) -> str:
    """Return text that every database can store: without NUL, which PostgreSQL refuses, and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _engine(place: str, *, create: bool) -> Engine:
    if is_url(place):
        return _server(place)
    path = Path(place)
    if not create and not path.exists():
        hint = "check the name; interloq serve add STUDY FILE --task rate makes a study, and so does serve run --new"
        raise InputError(f"there is no study {place}", hint=hint)
    if path.is_dir():
        raise InputError(f"{place} is a folder", hint="name a file, such as study.db")
    if not create and not path.stat().st_size:
        raise InputError(f"{place} is an empty file, not a study", hint="check the name")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=PRIVATE)  # it holds personal data; the files that SQLite adds get the same mode
    url = URL.create("sqlite", database=str(path.absolute()))
    options = {"timeout": WAIT, "check_same_thread": False}
    engine = create_engine(
        url, connect_args=options, pool_size=THREADS, hide_parameters=True, json_deserializer=_read_json
    )
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _server(url: str) -> Engine:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:  # the URL may contain a password, so it is not repeated
        raise InputError("not the URL of a database", hint="use postgresql://user@host/name") from error
    if parsed.get_backend_name() not in ("postgresql", "postgres"):
        raise InputError(f"cannot use {parsed.get_backend_name()} databases", hint="use a file, or PostgreSQL")
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("a study in PostgreSQL", "psycopg", "postgres") from error
    return create_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_size=POOL,
        max_overflow=POOL,
        pool_pre_ping=True,
        hide_parameters=True,  # personal data, which errors would show
    )


def _configure(connection: Any, _: object) -> None:
    """Let `_begin` begin transactions, and overwrite deleted rows (SQLite)."""
    connection.isolation_level = None
    for pragma in ("foreign_keys=ON", "secure_delete=ON", f"busy_timeout={WAIT * 1000:.0f}"):
        connection.execute(f"PRAGMA {pragma}")


def _write_ahead(engine: Engine) -> None:
    """Keep readers and a writer from waiting for each other (SQLite). Done last, because it changes the file."""
    if engine.dialect.name != "sqlite":
        return
    connection, until = engine.raw_connection(), time.monotonic() + WAIT
    while True:
        try:
            connection.cursor().execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:  # two who change it at once do not wait for each other
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
    connection.close()


def _begin(connection: Connection) -> None:
    """Let a transaction that will write take the lock at once; if it read first, it could fail later."""
    options = connection.get_execution_options()
    if options.get(_READING):
        connection.exec_driver_sql("BEGIN")
        return
    connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if options.get(_WAITING, True) else 'NORMAL'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _check_pages(engine: Engine) -> None:
    """Refuse a damaged SQLite file, in which rows would be missing or wrong."""
    if engine.dialect.name != "sqlite":
        return
    with engine.connect().execution_options(**{_READING: True}) as connection:
        result = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
    if result != "ok":
        raise sqlite3.DatabaseError(f"the file is damaged ({' '.join(str(result).split())})")


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"the file is damaged (a stored value is not JSON: {error})") from error


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def _migrate(connection: Connection, place: str | Path, *, create: bool) -> None:
    if connection.dialect.name == "postgresql":  # two processes may open a new study at once
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
    config = _config()
    config.attributes["connection"] = connection
    known = ScriptDirectory.from_config(config)
    revision = MigrationContext.configure(connection).get_current_revision()
    if revision and revision not in {script.revision for script in known.walk_revisions()}:
        hint = "upgrade interloq, or restore a backup made with this version"
        raise InputError(
            f"the study {_hide_password(place)} was written by a newer version (tables {revision!r})", hint=hint
        )
    if revision != known.get_current_head():
        if not revision and connection.dialect.name == "sqlite":  # a server's database may be shared
            tables = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
            if set(tables) - {"alembic_version"}:
                raise InputError(f"{place} is a database of another program", hint="name a new file")
        if not (revision or create):
            raise InputError(f"{_hide_password(place)} is not a study", hint="check the name")
        command.upgrade(config, "head")


def _hide_password(place: str | Path) -> str:
    """Return the place without its password."""
    return make_url(str(place)).render_as_string() if is_url(place) else str(place)
