"""Log of calls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq import InputError
from interloq.servers.call_log import Call, CallLog


def test_calls_are_appended_after_a_header(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    for model in ("a", "b"):
        CallLog(path).add(Call(endpoint="http://h/v1", model=model, prompt_tokens=7, cost=0.5, seconds=0.12345))
    head, *calls = map(json.loads, path.read_text().splitlines())
    assert head["kind"] == "calls"
    assert [call["model"] for call in calls] == ["a", "b"]
    times = [call.pop("time") for call in calls]
    assert times == sorted(times)
    assert calls[0] == {
        "endpoint": "http://h/v1",
        "model": "a",
        "prompt_tokens": 7,
        "completion_tokens": 0,
        "cost": 0.5,
        "seconds": 0.123,
        "cached": False,
        "failure": "",
    }


def test_a_file_of_something_else_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text('{"id": "1", "response": "x"}\n')
    with pytest.raises(InputError, match="not a log of calls; name another file"):
        CallLog(path)
    assert path.read_text() == '{"id": "1", "response": "x"}\n'
    with pytest.raises(InputError, match="cannot write"):
        CallLog(tmp_path / "none" / "calls.jsonl")
