"""Backups: whole, restorable in either database, and never over something else."""

from __future__ import annotations

import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import select

from interloq.cli.main import main
from interloq.errors import InputError
from interloq.web.database import head_revision, open_database
from interloq.web.schema import METADATA
from interloq.web.serve import first_admin_link
from interloq.web.serve_options import ServerAddress
from interloq.web.studies.backup import backup, find_damage, reporting_damage, restore
from interloq.web.work import answers
from tests.web.conftest import (
    add_annotators,
    choice_task,
    finish_item,
    likert_task,
    make_server_database,
    replies,
    store_task,
    take_item,
)

ACTIONS = (
    "invite study.db likert",
    "export study.db likert -o rated.jsonl",
    "export study.db likert -o rated.csv",
    "forget study.db nobody --yes",
    "backup study.db copy.db",
    "backup study.db rows.jsonl",
    "restore study.db new.db",
    "run study.db --port 99999",
)
TRIALS = 12


def read_tables(place: str | Path) -> dict[str, list[Any]]:
    """Return all rows of a study."""
    with closing(open_database(place, create=False)) as database, database.reading() as connection:
        return {t.name: [tuple(row) for row in connection.execute(select(t))] for t in METADATA.sorted_tables}


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A study with the answers of one person and the draft of another."""
    with closing(open_database(tmp_path / "study.db")) as database:
        stored = store_task(database, likert_task(title="評価 \0"), replies(3))
        first, second = add_annotators(database, stored, 2)
        finish_item(database, stored, first, take_item(database, stored, first))
        number = take_item(database, stored, second).id
        with database.writing() as connection:
            answers.save_draft(connection, second, number, 1, {"typed": "\ud800"})
    return tmp_path / "study.db"


@pytest.mark.parametrize("name", ["copy.db", "rows.jsonl", "rows.jsonl.zst"])
def test_a_backup_restores_everything_while_the_study_is_open(filled: Path, tmp_path: Path, name: str) -> None:
    with closing(open_database(filled)) as serving:
        store_task(serving, choice_task(), replies(2))
        with serving.writing():  # a writer does not stop it
            facts = backup(filled, tmp_path / name)
    assert facts["tasks"] == ["likert", "choice"]
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert restore(tmp_path / name, tmp_path / "again.db")["tasks"] == facts["tasks"]
    assert read_tables(tmp_path / "again.db") == read_tables(filled)


def test_rows_move_between_databases_and_numbers_continue(filled: Path, tmp_path: Path, postgres_server: str) -> None:
    backup(filled, tmp_path / "a.jsonl")
    with make_server_database(postgres_server) as url:
        restore(tmp_path / "a.jsonl", url)
        assert read_tables(url) == read_tables(filled)
        with closing(open_database(url)) as server:
            assert store_task(server, choice_task(), replies(1)).id == 2
        with pytest.raises(InputError, match="contains a study already"):
            restore(tmp_path / "a.jsonl", url)
        with pytest.raises(InputError, match="written as rows"):
            backup(url, tmp_path / "b.db")
        backup(url, tmp_path / "b.jsonl")
    assert restore(tmp_path / "b.jsonl", tmp_path / "b.db")["tasks"] == ["likert", "choice"]


def test_a_server_with_rows_of_its_own_gets_no_others(filled: Path, tmp_path: Path, postgres_server: str) -> None:
    backup(filled, tmp_path / "a.jsonl")
    with make_server_database(postgres_server) as url:
        with closing(open_database(url)) as database:
            first_admin_link(database, ServerAddress())  # rows, but no task
        with pytest.raises(InputError, match="contains a study already"):
            restore(tmp_path / "a.jsonl", url)


@pytest.mark.parametrize(
    "row",
    [
        {"table": "task", "row": {"colour": "red"}},
        {"table": "task", "row": {"id": 1}},
        {"table": "person", "row": {"id": 1, "invitation_id": 9, "created": 0}},
        {"table": "task", "row": {"id": 2**70, "name": "\ud800"}},
        {"table": "draft", "row": {"assignment_id": [1], "revision": {}, "body": 0, "updated": 0}},
    ],
)
def test_rows_that_do_not_fit_the_tables_restore_nothing(row: dict[str, Any], tmp_path: Path) -> None:
    head = {"kind": "study", "schema": 1, "tables": head_revision()}
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (head, row)))
    with pytest.raises(InputError, match=r"rows\.jsonl: cannot be restored"):
        restore(tmp_path / "rows.jsonl", tmp_path / "study.db")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_a_restore_that_failed_on_a_server_can_be_repeated(filled: Path, tmp_path: Path, postgres_server: str) -> None:
    backup(filled, tmp_path / "a.jsonl")
    broken = tmp_path / "broken.jsonl"
    broken.write_text((tmp_path / "a.jsonl").read_text() + json.dumps({"table": "person", "row": {"id": 99}}) + "\n")
    with make_server_database(postgres_server) as url:
        with pytest.raises(InputError, match=r"broken\.jsonl: cannot be restored"):
            restore(broken, url)
        assert all(not rows for rows in read_tables(url).values())
        restore(tmp_path / "a.jsonl", url)
        assert read_tables(url) == read_tables(filled)


def test_nothing_is_overwritten(filled: Path, tmp_path: Path) -> None:
    before = read_tables(filled)
    backup(filled, tmp_path / "copy.db")
    with pytest.raises(InputError, match="exists already"):
        backup(filled, tmp_path / "copy.db")
    with pytest.raises(InputError, match="exists already"):
        restore(tmp_path / "copy.db", filled)
    assert read_tables(filled) == before


@pytest.mark.parametrize(
    "text",
    ['{"kind": "samples", "schema": 1, "tables": "0001"}\n', '{"kind": "study", "tables": "0000"}\n', "hello\n",
     '{"kind": "study", "schema": 1, "tables": "0001"}\n{"table": "sqlite_master", "row": {}}\n', "SQLite format 3\0x"],
)  # fmt: skip
def test_other_files_restore_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(InputError):
        restore(tmp_path / "file", tmp_path / "study.db")
    assert not (tmp_path / "study.db").exists()


@pytest.fixture
def damaged(filled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study in the working folder, to be damaged."""
    monkeypatch.chdir(filled.parent)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(filled.parent / "config"))
    return filled


def change(place: Path, statement: str) -> None:
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute(statement)


def expect_one_line(action: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["serve", *action.split()]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "bug" not in line
    return line


@pytest.mark.parametrize("action", [one for one in ACTIONS if not one.startswith("run")])
def test_damaged_pages_are_refused_in_one_line(action: str, damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[: len(whole) // 2])
    line = expect_one_line(action, capsys)
    assert "study.db" in line
    assert "malformed" in line or "damaged" in line
    assert not Path("new.db").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE item SET hidden = '{\"kind\"'",
        "UPDATE item SET hidden = replace(hidden, 'units', 'unitz')",
        "UPDATE answer SET time = 'noon'",
        "UPDATE answer SET time = 1e308",
        "UPDATE task SET settings = '{}'",
        "DROP TABLE answer",
    ],
)
def test_damaged_values_are_refused_in_one_line(
    statement: str, damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(damaged, statement)
    expect_one_line("export study.db likert -o rated.csv", capsys)


def test_any_damage_is_an_error_in_one_line_or_harmless(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, rng = damaged.read_bytes(), Random(7)
    for _ in range(TRIALS):
        data = bytearray(whole)
        start = rng.randrange(len(data))
        data[start : start + rng.randint(1, 2000)] = rng.randbytes(rng.randint(1, 2000))
        for action in ACTIONS[:6]:
            for path in damaged.parent.iterdir():
                if path.is_file():
                    path.unlink()
            damaged.write_bytes(bytes(data))
            code = main(["serve", *action.split()])
            assert code in (0, 1, 2)
            assert len(capsys.readouterr().err.splitlines()) == int(code == 2)


def test_a_failure_of_a_whole_study_stays_a_bug(damaged: Path) -> None:
    assert find_damage(damaged) == ""
    with pytest.raises(KeyError), reporting_damage(damaged):
        raise KeyError("a bug")
    with pytest.raises(KeyError), reporting_damage(damaged.parent / "missing.db"):
        raise KeyError("a bug")
    change(damaged, "UPDATE answer SET time = 'noon'")
    with pytest.raises(InputError, match="time of a row of answer"), reporting_damage(damaged):
        raise KeyError("damage")
