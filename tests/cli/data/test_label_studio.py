"""`data to-label-studio` and `data from-label-studio`, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import Sample
from interloq.cli.main import main
from interloq.data.records.jsonl import load, write


def test_tasks_are_written_and_annotations_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    write("samples.jsonl", [Sample("1", ["hi"], "yes", system="bot")], kind="samples")
    assert main(["data", "to-label-studio", "samples.jsonl", "--aspect", "fit", "-o", "tasks.json"]) == 0
    assert "tasks.json: 1 task; configuration in tasks.xml\nkeep tasks.key.json" in capsys.readouterr().out
    tasks = json.loads(Path("tasks.json").read_text())
    results = [{"from_name": "fit", "type": "rating", "value": {"rating": 3}}, {"type": "relation"}]
    tasks[0]["annotations"] = [{"completed_by": 7, "result": results}, {"result": [], "was_cancelled": True}]
    Path("export.json").write_text(json.dumps(tasks))
    reading = ["data", "from-label-studio", "export.json", "--key", "tasks.key.json", "-o", "rated.jsonl"]
    assert main(reading) == 1
    shown = capsys.readouterr()
    assert "rated.jsonl: 1 sample; 1 annotation skipped as cancelled" in shown.out
    assert "1 result of type 'relation' not imported" in shown.err
    (rating,) = load("rated.jsonl")[0].ratings
    assert (rating.aspect, rating.value, rating.rater[0], len(rating.rater)) == ("fit", 3.0, "u", 17)
    assert main([*reading, "--keep-user-ids", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["records"] == 1
    assert load("rated.jsonl")[0].ratings[0].rater == "7"
    assert main(["data", "from-label-studio", "export.json", "-o", "again.jsonl"]) == 2
    assert "export.json: task 1: the task was written by Interloq; name its key file" in capsys.readouterr().err
