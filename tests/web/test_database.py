"""Databases of studies: made, migrated, refused; whole transactions only."""

from __future__ import annotations

import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from interloq.errors import InputError
from interloq.web.database import Database, _config, _engine, make_storable, open_database
from interloq.web.schema import METADATA, invitation, task
from tests.web.conftest import make_server_database

ROW = {"name": "x", "kind": "rate", "settings": {}, "source": {}, "created": 0.0}


def test_the_migrations_make_the_tables_of_the_schema(study: Database) -> None:
    with study.reading() as connection:
        server = connection.dialect.name == "postgresql"  # SQLite reads the default "" back as "''"
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": server})
        assert compare_metadata(context, METADATA) == []


def test_a_failed_transaction_leaves_nothing(study: Database) -> None:
    def add_twice() -> None:
        with study.writing() as connection:
            for _ in range(2):  # two tasks with one name
                connection.execute(insert(task).values(**ROW))

    with pytest.raises(IntegrityError):
        add_twice()
    with study.reading() as connection:
        assert connection.execute(select(task)).all() == []


def test_a_reader_sees_one_state(study: Database) -> None:
    with study.writing() as connection:
        connection.execute(insert(task).values(**ROW))
    with study.reading() as reader:
        before = reader.execute(select(task.c.kind)).scalar_one()
        with study.writing() as writer:
            writer.execute(update(task).values(kind="compare"))
        assert reader.execute(select(task.c.kind)).scalar_one() == before


def test_a_study_is_for_its_owner_and_survives_reopening(tmp_path: Path) -> None:
    place = tmp_path / "new folder" / "a?b#100%.db"
    with pytest.raises(InputError, match="no study"):
        open_database(place, create=False)
    for expected in ([], ["x"]):
        with closing(open_database(place)) as study, study.writing() as connection:
            assert list(connection.execute(select(task.c.name)).scalars()) == expected
            if not expected:
                connection.execute(insert(task).values(**ROW))
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_only_a_study_is_opened_unless_it_may_be_made(tmp_path: Path, postgres_server: str) -> None:
    (tmp_path / "empty.db").touch()
    with pytest.raises(InputError, match="empty file, not a study"):
        open_database(tmp_path / "empty.db", create=False)
    assert (tmp_path / "empty.db").read_bytes() == b""
    with make_server_database(postgres_server) as url:
        with pytest.raises(InputError, match="is not a study"):
            open_database(url, create=False)
        open_database(url).close()
        open_database(url, create=False).close()


def test_many_may_open_a_new_study_at_once(tmp_path: Path, postgres_server: str) -> None:
    with make_server_database(postgres_server) as url:
        for place in (str(tmp_path / "study.db"), url):
            with ThreadPoolExecutor(4) as pool:
                for study in pool.map(open_database, [place] * 4):
                    study.close()


def test_a_newer_study_is_refused(tmp_path: Path, postgres_server: str) -> None:
    with make_server_database(postgres_server) as url:
        for place in (str(tmp_path / "study.db"), url):
            with closing(open_database(place)) as study, study.writing() as connection:
                connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
            with pytest.raises(InputError, match="written by a newer version"):
                open_database(place)


def test_other_files_are_refused_and_not_changed(tmp_path: Path) -> None:
    foreign, text = tmp_path / "foreign.db", tmp_path / "notes.txt"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    text.write_text("not a database\n" * 100)
    for path, message in ((foreign, "of another program"), (text, "not a database"), (tmp_path, "is a folder")):
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(InputError, match=message):
            open_database(path)
        assert not path.is_file() or path.read_bytes() == before
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        open_database(tmp_path / "file" / "study.db")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://user:hunter2@host/x", "cannot use mysql"),
        ("postgresql://user:hunter2@host:port/x", "not the URL"),
        ("postgresql://user:hunter2@127.0.0.1:1/x?connect_timeout=2", "cannot use the study"),
        ("://hunter2", "not the URL"),
    ],
)
def test_a_bad_url_is_refused_without_its_password(url: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        open_database(url)
    assert "hunter2" not in str(raised.value)


def test_text_that_a_database_cannot_store_is_changed() -> None:
    assert make_storable("a\0b\ud800c 評価 🙂") == "ab?c 評価 🙂"


def test_only_drafts_do_not_wait_for_the_disk(study: Database) -> None:
    setting = "PRAGMA synchronous" if study.engine.dialect.name == "sqlite" else "SHOW synchronous_commit"
    found = []
    for wait in (True, False, True):  # by one connection of the pool
        with study.writing(wait_for_disk=wait) as connection:
            found.append(connection.exec_driver_sql(setting).scalar_one())
    assert found in ([2, 1, 2], ["on", "off", "on"])


def test_a_study_with_the_first_tables_is_migrated_and_kept(tmp_path: Path, postgres_server: str) -> None:
    _check_migration(str(tmp_path / "study.db"))
    with make_server_database(postgres_server) as url:
        _check_migration(url)


def _check_migration(place: str) -> None:
    config, engine = _config(), _engine(place, create=True)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        command.downgrade(config, "0001")
        connection.execute(insert(task).values(**ROW))
        for number, role in enumerate(("annotator", "admin")):
            row = {"task_id": None if number else 1, "token": str(number), "role": role, "created": 0.0}
            connection.execute(insert(invitation).values(**row))
    engine.dispose()
    with closing(open_database(place)) as database, database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
        assert connection.execute(select(task.c.name)).scalar_one() == "x"
        roles = connection.execute(select(invitation.c.role).order_by(invitation.c.id)).scalars()
        assert list(roles) == ["annotator", "owner"]
