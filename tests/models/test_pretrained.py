"""The fingerprint of weights: remembered, but never that of a file as it was before."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from interloq.models import pretrained
from interloq.models.pretrained import SETTLED, weights_fingerprint
from interloq.signature import file_fingerprint


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read."""
    names: list[str] = []

    def watched(path: Path) -> str:
        names.append(path.name)
        return file_fingerprint(path)

    monkeypatch.setattr(pretrained, "file_fingerprint", watched)
    return names


def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns() + 2 * SETTLED
    monkeypatch.setattr(time, "time_ns", lambda: now)


def test_files_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.safetensors").write_text(name)
    settled(monkeypatch)
    assert weights_fingerprint(tmp_path) == weights_fingerprint(tmp_path)
    assert read == ["a.safetensors", "b.safetensors"]


@pytest.mark.parametrize("restored", [False, True])
def test_a_file_that_was_written_again_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str], restored: bool
) -> None:
    """Of the same size, and even with its old time put back."""
    path = tmp_path / "model.safetensors"
    path.write_text("one")
    settled(monkeypatch)
    first, times = weights_fingerprint(tmp_path), path.stat()
    time.sleep(0.02)  # longer than what file systems tell apart
    path.write_text("two")
    if restored:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert weights_fingerprint(tmp_path) != first
    assert len(read) == 2


def test_a_file_that_is_being_written_is_not_remembered(tmp_path: Path, read: list[str]) -> None:
    """Two writings may bear the same time."""
    (tmp_path / "model.safetensors").write_text("one")
    assert weights_fingerprint(tmp_path) == weights_fingerprint(tmp_path)
    assert len(read) == 2
