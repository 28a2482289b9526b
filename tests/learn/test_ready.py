"""Where the scorer of the package is."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.learn import ready
from interloq.learn.ready import READY, is_ready, scorer_folder


def test_ready_is_the_folder_of_the_package_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "READY_FOLDER", tmp_path / "weights")
    with pytest.raises(InputError, match="without ready weights"):
        scorer_folder(READY)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "model.json").write_text("{}")
    assert scorer_folder(READY) == tmp_path / "weights"
    assert scorer_folder("./ready") == Path("ready")
    assert is_ready(tmp_path / "x" / ".." / "weights")
    assert not is_ready(tmp_path)
