"""Predictions are equal to the last byte, whoever computes the shards; see also tests/shards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from interloq import load, write
from interloq.cli.main import main
from interloq.reliability import reliability_file
from interloq.reliability.predict_task import PredictTask
from interloq.reliability.reliability_options import PredictOptions
from tests.reliability.made_model import small_model
from tests.reliability.made_predictor import Effects, use
from tests.reliability.test_augment_task import SAMPLES


def test_workers_and_shares_write_the_same_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reliability_file, "BATCH", 4)
    write("samples.jsonl", SAMPLES, kind="samples")
    command = ["reliability", "predict", "samples.jsonl", "--model", str(small_model(folder)), "--quiet"]

    def run(name: str, *options: str) -> bytes:
        assert main([*command, "--min-reliability", "0.9", "-o", name, *options]) == 0
        return Path(name).read_bytes()

    plain = run("plain.jsonl")
    scores = load("plain.jsonl", kind="scores")
    assert len(scores) == 14
    assert {score.details["minimum"] for score in scores if score.value is not None} == {0.9}
    assert run("workers.jsonl", "--workers", "2") == plain
    shared = [*command, "--min-reliability", "0.9", "-o", "joined.jsonl", "--parts", "shares", "--shard"]
    assert [main([*shared, which]) for which in ("1/2", "2/2")] == [0, 0]
    assert main(["data", "join", "shares"]) == 0
    assert Path("joined.jsonl").read_bytes() == plain
    assert not list(folder.glob("*.parts"))


def test_equal_requests_are_predicted_once_per_shard(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = use(monkeypatch)
    task = PredictTask(PredictOptions(model="model"))
    assert task.identify() == "reliability-made"
    seen, predict = list[int](), made.leave_one_out

    def count_and_predict(queries: Sequence[Sequence[str]], sets: Sequence[Sequence[str]]) -> list[Effects]:
        seen.append(len(queries))
        return predict(queries, sets)

    monkeypatch.setattr(made, "leave_one_out", count_and_predict)
    lines = task.open()(SAMPLES).splitlines()
    assert len(lines) == len(SAMPLES)
    assert seen == [7], "two systems, the same references"
