"""Calls, tokens and cost: counted and limited."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from interloq import InputError
from interloq.servers.spending import Call, CallLog, Spending, cost_of, current, spending


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


def test_nothing_is_limited_outside() -> None:
    spent = current()
    spent.estimate(10**9, 10**12, 10**9, None)
    assert spent.start_call() == ""
    assert current().calls == 0


def test_limits_hold_inside_and_the_innermost_counts() -> None:
    with spending(max_calls=2) as outer:
        assert [current().start_call() for _ in range(3)] == ["", "", "the limit of 2 calls is reached"]
        with spending() as inner:
            assert current().start_call() == ""
        assert (outer.calls, inner.calls) == (2, 1)
        assert current() is outer
    assert current() is not outer


def test_cost_is_limited_after_it_was_spent() -> None:
    spent = Spending(max_cost=0.001)
    assert spent.start_call() == ""
    spent.add(Call(endpoint="e", model="m", prompt_tokens=100, completion_tokens=10, cost=0.0013))
    assert spent.cost == pytest.approx(cost_of(100, 10, (10.0, 30.0))) == pytest.approx(0.0013)
    assert spent.start_call() == "the cost limit of 0.001 is reached"


def test_a_later_estimate_is_announced_and_not_refused() -> None:
    announced: list[str] = []
    spent = Spending(max_calls=3, announce=announced.append, calls=2)
    spent.estimate(5, 400, 5, (1.0, 1.0))
    assert announced == ["5 calls, about 100 tokens in and at most 5 out, cost about 0.000105"]


def test_summary() -> None:
    assert Spending().summary() == ""
    assert Spending(calls=3, failed=2).summary().endswith("; 2 requests without a usable answer")
    assert Spending(cached=1).summary() == "0 calls of a language model, 1 answer from the cache"
    spent = Spending(calls=1, cached=2, prompt_tokens=1_500, completion_tokens=3)
    assert spent.summary() == "1 call of a language model, 2 answers from the cache; 1,500 tokens in, 3 out"


@pytest.mark.parametrize("limit", [{"max_calls": -1}, {"max_cost": -0.1}, {"max_cost": math.nan}])
def test_limits_below_zero_are_refused(limit: dict[str, float]) -> None:
    with pytest.raises(InputError, match="must not be negative"), spending(**limit):  # type: ignore[arg-type]
        pass
