"""Outputs of a build."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from interloq import InputError
from interloq.data.corpus import threads
from interloq.data.corpus.dialogues import DialogueShape
from interloq.data.corpus.outputs import SUFFIXES, ThreadRange, assemble, pack, part_facts, sum_counts, write_range
from interloq.data.files.opening import lines
from interloq.data.records.jsonl import load


@pytest.mark.parametrize("compression", SUFFIXES)
def test_packed_pieces_make_one_file(tmp_path: Path, compression: str) -> None:
    pieces = [tmp_path / "1", tmp_path / "2", tmp_path / "3"]
    for piece, content in zip(pieces, (b"b\n", b"", b"c\nd\n"), strict=True):
        piece.write_bytes(pack(content, compression))
    path = tmp_path / f"all{SUFFIXES[compression]}"
    assemble(path, pack(b"a\n", compression), pieces)
    assert [line.strip() for _, line in lines(path)] == [b"a", b"b", b"c", b"d"]


def test_packing_does_not_depend_on_the_time() -> None:
    assert pack(b"a", "gz") == pack(b"a", "gz")
    assert gzip.decompress(pack(b"a" * 99, "gz")) == zstandard.decompress(pack(b"a" * 99, "zst")) == b"a" * 99


def test_a_file_is_whole_or_absent(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        assemble(tmp_path / "all", b"a\n", [tmp_path / "absent"])
    assert list(tmp_path.iterdir()) == []


ROWS: list[tuple[Any, ...]] = [  # root, place, parent, id, user, text, time
    (1, 1, None, "p1", "ann", "hi", None),
    (1, 2, 1, "p2", "ben", "hello", None),
    (1, 3, 1, "p3", "cat", "hey", None),
    (1, 4, 2, "p4", "ann", "bye", None),
    (5, 5, None, "p5", "ann", "alone", None),
]


def test_records_and_counts_of_a_stretch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "read_lines", lambda _, first, end: ROWS[first:end])
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


def test_counts_are_added_up_over_shards() -> None:
    cleaned: list[dict[str, Any]] = [{"read": {"a": 3, "b": 1}}, {"read": {"a": 2}}, {"read": {}}]
    assert sum_counts(cleaned, "read") == {"a": 5, "b": 1}
    assert sum_counts([], "read")["a"] == 0


def test_means_are_per_dialogue_and_per_turn_and_missing_without_any() -> None:
    facts = part_facts(Counter(), 0)
    assert (facts["dialogues"], facts["users"]) == (0, 0)
    assert facts["turns_per_dialogue"] is facts["characters_per_turn"] is None
    facts = part_facts(Counter(dialogues=3, turns=10, turn_characters=25), 4)
    assert (facts["turns_per_dialogue"], facts["characters_per_turn"], facts["users"]) == (3.333, 2.5, 4)
