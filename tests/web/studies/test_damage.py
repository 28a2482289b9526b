"""Damaged studies: one line for every action, whatever is damaged; bugs stay bugs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from interloq.cli.main import main
from interloq.errors import InputError
from interloq.web.database import open_database
from interloq.web.studies.damage import find_damage, reporting_damage
from interloq.web.work import answers, assign
from tests.web.conftest import annotators, likert_task, replies, stored_task

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


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study with answers in the working folder, to be damaged."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    place = tmp_path / "study.db"
    database = open_database(place)
    stored = stored_task(database, likert_task(), replies(3))
    (person,) = annotators(database, stored)
    with database.writing() as connection:
        found = assign.next_item(connection, stored, person)
        assert found is not None
        given = [{"unit": unit, "aspect": "overall", "value": 3} for unit in range(len(found.order))]
        answers.submit(connection, stored.settings, person, found.id, "submission", given, "page")
    database.close()
    return place


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
