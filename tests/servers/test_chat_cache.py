"""Answers of chat servers on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.data.files.cache import BlobCache
from interloq.servers.chat_cache import FILE, answer_key, cache_answers, read_cached_answers
from interloq.servers.chat_server import ChatAnswer

pytest.importorskip("httpx")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INTERLOQ_CACHE", str(tmp_path))
    return tmp_path


def test_answers_are_found_by_key(folder: Path) -> None:
    answers = {
        b"a": ChatAnswer("half \ud83d", None),
        b"b": ChatAnswer("5", (("5", -0.1), (" 4", -2.5)), 7, 1, ("seed",)),
    }
    cache_answers(answers)
    assert read_cached_answers([b"a", b"b", b"c"]) == answers
    BlobCache(folder / FILE, "answer").put([(b"d", b'["5", null, 7, 1]')])  # as earlier versions wrote it
    assert read_cached_answers([b"d"]) == {b"d": ChatAnswer("5", None, 7, 1)}


@pytest.mark.parametrize("row", [b"[", b"{}", b'["5"]', b'["5", [["x"]], 1, 1]', b'["5", null, 1, "x"]'])
def test_damaged_answers_are_ignored(folder: Path, row: bytes) -> None:
    BlobCache(folder / FILE, "answer").put([(b"a", row)])
    assert read_cached_answers([b"a"]) == {}


def test_nothing_is_stored_if_the_cache_is_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOQ_CACHE", "off")
    cache_answers({b"a": ChatAnswer("5")})
    assert read_cached_answers([b"a"]) == {}
    assert list(folder.iterdir()) == []


def test_a_key_depends_on_address_and_every_field() -> None:
    body = {"model": "m", "seed": 1}
    assert answer_key("u", body) == answer_key("u", {"seed": 1, "model": "m"})
    others = [answer_key("v", body), answer_key("u", {**body, "seed": 2}), answer_key("u", {**body, "top_p": 1})]
    assert len({answer_key("u", body), *others}) == 4
