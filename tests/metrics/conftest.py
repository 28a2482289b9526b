"""Fixtures that several files of this folder use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interloq.metrics import fed, full, perplexity
from tests.metrics.made_fed import Words


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    for module in (fed, full, perplexity):
        monkeypatch.setattr(module, "loaded", lambda *_, **__: Words())
    file = tmp_path / "mine.json"
    dimensions = {"kind": {"positive": ["aa", "aaaa a"], "negative": ["bbb"]}, "rude": {"negative": ["b bb", "bbb"]}}
    file.write_text(json.dumps({"turn": dimensions, "full": ["aa", "b bbb"]}))
    return str(file)
