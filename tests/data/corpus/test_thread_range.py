"""Threads of a stretch, written as records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from interloq.data.corpus import thread_range
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.thread_range import ThreadRange, write_range
from interloq.data.records.jsonl import load

ROWS: list[tuple[Any, ...]] = [  # root, place, parent, id, user, text, time
    (1, 1, None, "p1", "ann", "hi", None),
    (1, 2, 1, "p2", "ben", "hello", None),
    (1, 3, 1, "p3", "cat", "hey", None),
    (1, 4, 2, "p4", "ann", "bye", None),
    (5, 5, None, "p5", "ann", "alone", None),
]


def test_records_and_counts_of_a_stretch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_range, "read_lines", lambda _, first, end: ROWS[first:end])
    stretch = ThreadRange(7, 0, 0, 5)
    assert write_range(stretch, tmp_path / "ordered", tmp_path, DialogueShape(), "none") == 5
    counts = orjson.loads(stretch.path(tmp_path, "json").read_bytes())
    assert counts == {
        "threads": 2, "posts": 5, "dialogues": 1, "turns": 3, "turn_characters": 10,
        "pairs": 2, "groups": 1, "group_pairs": 2,
    }  # fmt: skip
    (dialogue,) = load(stretch.path(tmp_path, "dialogues"), kind="dialogues")
    assert [(turn.speaker, turn.text, turn.time) for turn in dialogue.turns] == [
        ("ann", "hi", ""), ("ben", "hello", ""), ("ann", "bye", ""),
    ]  # fmt: skip
    pairs = load(stretch.path(tmp_path, "pairs"), kind="pairs")
    assert [(pair.utterance, pair.response) for pair in pairs] == [("hi", "hello"), ("hi", "hey")]
    assert load(stretch.path(tmp_path, "groups"), kind="pairs") == pairs
