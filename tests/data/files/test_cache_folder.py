"""Where the cache is."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.data.files.cache_folder import cache_folder


def test_the_folder_is_the_users_cache_unless_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("INTERLOQ_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "interloq"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "interloq"
    monkeypatch.setenv("INTERLOQ_CACHE", "here")
    assert cache_folder() == Path("here")
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    assert cache_folder() is None
