"""BYU chit-chat, in the package's layout and as lines."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from types import SimpleNamespace

import pytest

from interloq import InputError
from interloq.data.sets import byu_chitchat
from interloq.data.sets.registry import locate, read_dataset
from interloq.records import Dialogue, Rating, Turn
from tests.published_layouts import write_json

MESSAGES = [
    [
        {"text": "Hello", "timestamp": "2018-05-02T19:38:15Z", "sender": "u0"},
        {"text": "How are you?", "timestamp": "2018-05-02T19:38:20Z", "sender": "u0"},
    ],
    [],
    [{"text": "good", "timestamp": "2018-05-02T19:38:29Z", "sender": "u1"}],
]
TURNS = [
    {"speaker": "u0", "text": "Hello How are you?", "time": "2018-05-02T19:38:15Z", "end": "2018-05-02T19:38:20Z"},
    {"speaker": "u1", "text": "good", "time": "2018-05-02T19:38:29Z"},
]
RATINGS = {"witty": 10, "upbeat": 8}
EXPECTED = Dialogue(
    "byu_chitchat/7",
    [Turn("Hello How are you?", "u0", "2018-05-02T19:38:15Z"), Turn("good", "u1", "2018-05-02T19:38:29Z")],
    ratings=[Rating(10, aspect="witty"), Rating(8, aspect="upbeat")],
)


def test_both_layouts_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_json(tmp_path / "dataset.json", {"7": {"messages": MESSAGES, "ratings": RATINGS, "start": "2018-05-02"}})
    (tmp_path / "data" / "logs").mkdir(parents=True)
    line = json.dumps({"id": "7", "turns": TURNS, "ratings": RATINGS}).encode()
    (tmp_path / "data" / "logs" / "byu_chitchat.jsonl.xz").write_bytes(lzma.compress(line + b"\n"))
    monkeypatch.setenv("INTERLOQ_DATA", str(tmp_path / "data"))
    assert list(read_dataset("byu_chitchat")) == [EXPECTED]
    assert list(read_dataset("byu_chitchat", tmp_path)) == [EXPECTED]
    monkeypatch.setenv("INTERLOQ_DATA", str(tmp_path))
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(byu_chitchat, "find_spec", lambda _: spec)
    assert list(read_dataset("byu_chitchat", locate("byu_chitchat"))) == [EXPECTED]


def test_conversations_may_be_unrated(tmp_path: Path) -> None:
    write_json(tmp_path / "dataset.json", {"7": {"messages": MESSAGES}, "8": {"messages": MESSAGES, "ratings": None}})
    assert [dialogue.ratings for dialogue in read_dataset("byu_chitchat", tmp_path)] == [(), ()]


def test_mistakes_are_named(tmp_path: Path) -> None:
    write_json(tmp_path / "dataset.json", {"7": {"messages": ["hi"]}})
    with pytest.raises(InputError, match=r"dataset\.json:7: a turn must be a list of messages, got 'hi'"):
        list(read_dataset("byu_chitchat", tmp_path))
    write_json(tmp_path / "dataset.json", {"7": {"messages": MESSAGES, "ratings": {"witty": "ten"}}})
    with pytest.raises(InputError, match="'witty' must be a number, got 'ten'"):
        list(read_dataset("byu_chitchat", tmp_path))
