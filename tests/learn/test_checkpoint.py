"""Checkpoints of a training."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq.errors import InputError
from interloq.learn import checkpoint
from interloq.learn.fit import fit
from tests.learn.made_line import FEW, Line, curve_of


def test_another_jobs_checkpoint_is_refused(tmp_path: Path) -> None:
    curve_of(Line(), replace(FEW, epochs=1), tmp_path)
    with pytest.raises(InputError, match="other data or other settings; use the same data and settings"):
        fit(Line(), FEW, tmp_path, job="b", device="cpu")


def test_the_old_checkpoint_survives_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curve_of(Line(), replace(FEW, epochs=1), tmp_path)
    before = checkpoint.Checkpoint(tmp_path, "a").found()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("interloq.learn.store.save_file", full)
        with pytest.raises(InputError, match=r"No space left on device; free some space and run the command again"):
            curve_of(Line(), FEW, tmp_path)
    assert checkpoint.Checkpoint(tmp_path, "a").found() == before
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000000"]
    assert curve_of(Line(), FEW, tmp_path) == curve_of(Line(), FEW, tmp_path / "whole")


def test_none_are_written_if_the_time_between_them_is_infinite(tmp_path: Path) -> None:
    assert curve_of(Line(), replace(FEW, checkpoint_minutes=math.inf), tmp_path / "none") == curve_of(
        Line(), FEW, tmp_path / "some"
    )
    assert not (tmp_path / "none").exists()
