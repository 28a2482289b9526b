"""Scores in logs of Inspect: one per scorer, sample and epoch, and what has none says why."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError
from interloq.compare.compare_file import compare_file
from interloq.data.tool_logs.inspect_scores import as_score_files, inspect_scores, is_inspect_log
from interloq.records import Score

GOLDEN = Path(__file__).parents[2] / "golden" / "tool_logs"
OLD, NEW = GOLDEN / "inspect_old.eval", GOLDEN / "inspect_new.eval"


def write_log(path: Path, *samples: dict[str, Any]) -> Path:
    log = {"version": 2, "eval": {"eval_id": "e", "task": "t", "model": "m"}, "samples": samples}
    path.write_text(json.dumps(log))
    return path


def sample(id: object, **fields: Any) -> dict[str, Any]:
    return {"id": id, "epoch": 1, "target": "", "messages": [], **fields}


def test_scores_of_a_log() -> None:
    scores = list(inspect_scores(OLD))
    assert Counter(score.metric for score in scores) == {"includes": 24, "match": 24}
    assert scores[0] == Score("q0/epoch-1", "includes", 0.0, dialogue="q0")
    assert {score.value for score in scores} == {0.0, 1.0}


def test_values_of_all_kinds(tmp_path: Path) -> None:
    values = {"letter": "P", "flag": True, "number": 3, "words": "good", "list": [1], "parts": {"a": 1, "b": "I"}}
    scores = {name: {"value": value} for name, value in values.items()}
    path = write_log(tmp_path / "a.json", sample(1, scores=scores), sample(2, error={"message": "timed out\nat"}))
    found = {(score.id, score.metric): score for score in inspect_scores(path)}
    first = {metric: score.value for (id, metric), score in found.items() if id == "1/epoch-1"}
    assert first == {"letter": 0.5, "flag": 1, "number": 3, "words": None, "list": None, "parts.a": 1, "parts.b": 0}
    assert found["1/epoch-1", "words"].reason == "not scored with a number"
    assert found["2/epoch-1", "letter"] == Score("2/epoch-1", "letter", None, "timed out", dialogue="2")


def test_only_logs_of_inspect_are_taken_for_some(tmp_path: Path) -> None:
    assert is_inspect_log(OLD)
    assert is_inspect_log(GOLDEN / "inspect_new.json")
    assert not is_inspect_log(GOLDEN / "promptfoo_results.json")
    assert not is_inspect_log(tmp_path / "none.json")
    with pytest.raises(InputError, match="no sample has a score"):
        list(inspect_scores(write_log(tmp_path / "a.json", sample(1))))
    with as_score_files({"old": OLD, "new": tmp_path / "x.jsonl"}) as files:
        assert files["new"] == tmp_path / "x.jsonl"
        assert Path(files["old"]).name == OLD.name
    assert not Path(files["old"]).exists()


def test_two_logs_are_compared_by_sample_and_epoch() -> None:
    comparison = compare_file(OLD, NEW)
    assert comparison.unit == "sample"
    assert any("24 samples paired by id, in 12 clusters" in note for note in comparison.notes)
    assert any("higher scores are taken for better" in note for note in comparison.notes)
    (includes, _) = comparison.changes
    old, new = ([s.value or 0 for s in inspect_scores(path) if s.metric == "includes"] for path in (OLD, NEW))
    assert includes.difference == pytest.approx(sum(new) / 24 - sum(old) / 24)
