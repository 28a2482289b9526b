"""The training loop: learns, stops early, resumes exactly, survives kills and full disks, shares work."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.learn import fit as train
from interloq.learn.settings import Training
from tests.learn.made_line import FEW, Line, curve_of, started
from tests.server_fixtures import free_port


def weights(task: Any) -> NDArray[np.float32]:
    flat: NDArray[np.float32] = torch.cat([p.detach().flatten() for p in task.network.parameters()]).numpy()
    return flat


def test_it_learns_and_ends_with_the_best_epoch(tmp_path: Path) -> None:
    task = Line(dropout=0.0)
    curve = curve_of(task, replace(FEW, epochs=40, patience=40), tmp_path)
    assert len(curve) == 40
    assert curve[-1]["dev_loss"] < 0.1 * curve[0]["dev_loss"]
    best = min(epoch["dev_loss"] for epoch in curve)
    x, y = task.prepare("dev", np.arange(200))
    with torch.inference_mode():
        assert float(task.loss((x, y))) / 200 == pytest.approx(best, rel=1e-5)


def test_one_step_is_that_of_the_mean_loss(tmp_path: Path) -> None:
    task, own = Line(20, dropout=0.0), Line(20, dropout=0.0)
    curve_of(task, Training(epochs=1, learning_rate=0.1), tmp_path)
    optimizer = torch.optim.Adam(own.network.parameters(), lr=0.1)
    (own.loss(own.prepare("train", np.arange(20))) / 20).backward()
    optimizer.step()
    assert weights(task) == pytest.approx(weights(own), abs=1e-6)


def test_accumulated_batches_make_the_step_of_one_large_batch(tmp_path: Path) -> None:
    small, large = Line(dropout=0.0), Line(dropout=0.0)
    large.batches = lambda part, epoch: [np.concatenate(Line.batches(large, part, epoch))]  # type: ignore[method-assign]
    curve_of(small, replace(FEW, accumulate=10, epochs=3), tmp_path / "small")
    curve_of(large, replace(FEW, epochs=3), tmp_path / "large")
    assert weights(small) == pytest.approx(weights(large), abs=1e-5)


def test_clipping_bounds_what_a_step_learns_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    norms: list[float] = []
    step = torch.optim.Adam.step

    def watched(self: Any, *args: Any) -> Any:
        norms.append(float(sum(p.grad.norm() ** 2 for group in self.param_groups for p in group["params"]) ** 0.5))
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    curve_of(Line(), replace(FEW, epochs=1, clip=0.5), tmp_path / "clipped")
    assert max(norms) <= 0.5 + 1e-4
    norms.clear()
    curve_of(Line(), replace(FEW, epochs=1), tmp_path / "free")
    assert max(norms) > 0.5


def test_it_stops_when_dev_gets_no_better(tmp_path: Path) -> None:
    task = Line(dropout=0.0)
    task.y["dev"] = -task.y["dev"]  # what is learned makes dev worse
    curve = curve_of(task, replace(FEW, epochs=50, patience=3), tmp_path)
    best = min(curve, key=lambda epoch: epoch["dev_loss"])["epoch"]
    assert len(curve) == best + 3 < 50


def test_patience_zero_trains_all_epochs_and_keeps_the_best(tmp_path: Path) -> None:
    task = Line(dropout=0.0)
    task.y["dev"] = -task.y["dev"]
    curve = curve_of(task, replace(FEW, epochs=9, patience=0), tmp_path)
    best = min(curve, key=lambda epoch: epoch["dev_loss"])
    assert (len(curve), best["epoch"] < 6) == (9, True)


@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_the_learning_rate_warms_up_and_falls(tmp_path: Path, schedule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    step = torch.optim.Adam.step

    def watched(self: Any, *args: Any) -> Any:
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    curve_of(Line(), replace(FEW, epochs=2, warmup=0.25, schedule=schedule), tmp_path)
    assert len(rates) == 20
    assert rates[:5] == pytest.approx([0.02 * i / 5 for i in range(1, 6)])
    after = [0.02] * 15 if schedule == "constant" else [0.02 * (20 - i) / 15 for i in range(5, 20)]
    assert rates[5:] == pytest.approx(after)


def stopping(after: int) -> Callable[..., Any]:
    """`_step` that fails after so many steps, as a kill would."""
    step, done = train._Fit._step, 0

    def limited(self: Any, group: Any) -> Any:
        nonlocal done
        done += 1
        if done > after:
            raise RuntimeError("killed")
        return step(self, group)

    return limited


@pytest.mark.parametrize("after", [1, 10, 13, 25])
def test_a_killed_job_goes_on_with_the_losses_it_would_have_had(
    tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Line()
    expected = curve_of(whole, FEW, tmp_path / "whole")
    training = replace(FEW, checkpoint_minutes=0.0)  # after every step
    with monkeypatch.context() as patch:
        patch.setattr(train._Fit, "_step", stopping(after))
        with pytest.raises(RuntimeError, match="killed"):
            curve_of(Line(), training, tmp_path / "cut")
    resumed = Line()
    said: list[str] = []
    torch.rand(100)  # whatever was drawn elsewhere
    assert curve_of(resumed, training, tmp_path / "cut", report=said.append) == expected
    assert said[0].startswith("resuming after ")
    assert weights(resumed).tolist() == weights(whole).tolist()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


def stop(process: BaseProcess, number: int) -> None:
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join(60)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_killed_from_outside_it_loses_nothing(tmp_path: Path, number: int) -> None:
    folder = tmp_path / "work"
    process = started(folder, slow=True)
    until(lambda: bool(list(folder.glob("checkpoint-00000[3-9]"))))
    stop(process, number)
    assert process.exitcode not in (None, 0)
    assert not (tmp_path / "curve-0.json").exists(), "it was to be cut short"
    assert curve_of(Line(), replace(FEW, checkpoint_minutes=0.0), folder) == curve_of(Line(), FEW, tmp_path / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_it_keeps_what_it_learned_since_the_last_checkpoint(tmp_path: Path, number: int) -> None:
    folder = tmp_path / "work"
    process = started(folder, slow=True, checkpoint_minutes=10.0)
    until((tmp_path / "started").exists)
    stop(process, number)
    (found,) = folder.glob("checkpoint-*/state.json")
    kept = json.loads(found.read_text())
    assert (kept["epoch"], kept["batches"] > 0) == (0, True)
    assert curve_of(Line(), FEW, folder) == curve_of(Line(), FEW, tmp_path / "whole")


def test_two_processes_learn_what_one_does(tmp_path: Path) -> None:
    shared = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    ranks = [{"RANK": rank, "LOCAL_RANK": rank} for rank in "01"]
    processes = [started(tmp_path / "work", slow=False, environment=shared | rank) for rank in ranks]
    for process in processes:
        process.join(240)
    assert [process.exitcode for process in processes] == [0, 0]
    curves = [json.loads((tmp_path / f"curve-{rank}.json").read_text()) for rank in (0, 1)]
    expected = curve_of(Line(dropout=0.0), FEW, tmp_path / "one")
    for curve in curves:
        assert [e["train_loss"] for e in curve] == pytest.approx([e["train_loss"] for e in expected], rel=1e-4)
        assert [e["dev_loss"] for e in curve] == pytest.approx([e["dev_loss"] for e in expected], rel=1e-4)
        assert curve[0]["device"] == "2 × cpu"


def test_a_loss_that_is_no_number_says_so(tmp_path: Path) -> None:
    task = Line()
    task.y["train"][:] = np.nan
    with pytest.raises(InputError, match="training diverged: the loss of epoch 1 is nan; lower the learning rate"):
        curve_of(task, FEW, tmp_path)


@pytest.mark.parametrize(("part", "said"), [("train", "no examples to train on"), ("dev", "the dev part is empty")])
def test_nothing_to_learn_from_says_so(tmp_path: Path, part: str, said: str) -> None:
    task = Line()
    task.x[part] = task.x[part][:0]
    with pytest.raises(InputError, match=said):
        curve_of(task, FEW, tmp_path)
