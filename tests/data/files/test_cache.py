"""Bytes on disk by key."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from interloq import InputError
from interloq.data.files.cache import BlobCache, cache_folder


def test_values_are_found_by_key_and_replaced(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "deep" / "answers.db", "answer")
    keys = [i.to_bytes(4, "big") for i in range(1_200)]  # more than fit in one query
    assert cache.get(keys) == {}
    cache.put([(key, key * 2) for key in keys[:1_100]])
    cache.put([(keys[0], b"new")])
    found = BlobCache(cache.path, "answer").get(keys)
    assert found == {key: key * 2 for key in keys[1:1_100]} | {keys[0]: b"new"}
    assert BlobCache(cache.path, "vector").get(keys) == {}


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "answers.db", "answer")
    cache.put([(b"k", b"a prompt")])
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600


def test_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    path.write_text("no database at all, but text" * 99)
    with pytest.raises(InputError, match=r"answers\.db: the answer cache cannot be used: .*; delete it"):
        BlobCache(path, "answer").get([b"k"])


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
