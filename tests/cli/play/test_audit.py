"""The verb play audit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.made_rank import LEVELS, audit
from tests.made_dialogues import made_dialogues, write_dialogues


def test_partners_can_be_audited(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = write_dialogues(folder, *made_dialogues(LEVELS, partners=("p", "q", "r")))
    assert audit(paths[0], "--dialogues", paths[1], "--pool", "r") == 0
    shown = capsys.readouterr().out
    assert "ranks with 2 partners, and their ranges" in shown
    assert "of 5 changes do not move any rank" in shown
    assert audit(paths[0], "--dialogues", paths[1], "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["partners"] == ["p", "q", "r"]
    assert [change["kind"] for change in found["changes"]] == ["drop"] * 3


def test_cheating_can_be_audited(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("a", "b", "x", "y", "z")
    parts = [made_dialogues({name: i}, [n for n in names if n != name], 2) for i, name in enumerate(names)]
    dialogues, scores = ([record for part in parts for record in part[k]] for k in (0, 1))
    paths = write_dialogues(folder, dialogues, scores)  # type: ignore[arg-type]
    assert audit(paths[0], "--dialogues", paths[1], "--unfavoured", "x", "--alike", "y", "--alike", "z") == 0
    shown = capsys.readouterr().out
    assert "overturned 0 of 2 rankings" in shown
    assert ["favoured", "loses", "0", "2"] in [line.split() for line in shown.splitlines()]
    assert audit(paths[0], "--dialogues", paths[1], "--unfavoured", "x", "--alike", "y", "--json") == 0
    assert json.loads(capsys.readouterr().out)["table"] == [[1, 0], [0, 2]]
