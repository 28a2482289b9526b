from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from interloq import load
from tests.recipes.test_ready import write_restricted, write_sets_and_logs

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(RECIPES))
    return importlib.import_module("rater_logs")


def test_each_good_reply_follows_its_context(
    recipe: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_sets_and_logs(tmp_path / "data")
    write_restricted(tmp_path / "data")
    item = {"context": ["tea ?", "no ."], "positive_responses": ["why ?", "milk ?"]}
    (tmp_path / "data/dailydialog_plusplus/dev.json").write_text(json.dumps(item) + "\n")
    assert recipe.main(["--data", str(tmp_path / "data"), "--work", str(tmp_path / "work")]) == 0
    *logs, own = capsys.readouterr().out.splitlines()
    assert len(set(logs)) == len(logs) > 20
    found = [[turn.text for turn in talk.turns] for talk in load(own, kind="dialogues")]
    assert found[-2:] == [["tea ?", "no .", "why ?"], ["tea ?", "no .", "milk ?"]]
    assert load(tmp_path / "work/samples.jsonl")


def test_missing_data_are_named(recipe: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recipe.main(["--data", str(tmp_path), "--work", str(tmp_path / "work")]) == 2
    assert "no log 'self_dialogue'" in capsys.readouterr().err
