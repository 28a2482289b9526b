"""Workers of a build."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from interloq.data.corpus import build as building
from interloq.data.corpus.build import build
from interloq.data.corpus.settings import BuildOptions, CorpusSettings
from interloq.errors import InterloqError

pytest.importorskip("duckdb")


def test_a_killed_worker_is_named(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "clean_shard", _die)
    with pytest.raises(InterloqError, match="a worker process was killed; run it again"):
        build([log], tmp_path / "corpus", CorpusSettings(), BuildOptions(workers=2, block=2**18))


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
