"""KokoroChat, from tiny lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interloq import InputError
from interloq.data.sets.registry import read_dataset
from interloq.records import Rating, Turn

REVIEW = {
    "evaluation_id": 10,
    "evaluation_created_at": "2020-03-08T16:37:00",
    "client_id": 3,
    "counselor_id": 7,
    "score": 72,
    "felt_respected": 3,
    "gained_new_insights": None,
    "harmful_due_to_ignorance": None,
    "unwilling_to_continue": "チェックあり",
}
TURNS = [{"speaker": "B", "text": "こんにちは。"}, {"speaker": "A", "text": "よろしく。"}]


def _write(folder: Path, **change: Any) -> Path:
    value = {"id": "10", "turns": TURNS, "review_by_client_en": REVIEW} | change
    (folder / "kokorochat_ja.jsonl").write_text(json.dumps(value, ensure_ascii=False) + "\n\n", encoding="utf-8")
    return folder


def test_a_session(tmp_path: Path) -> None:
    (found,) = read_dataset("kokorochat", _write(tmp_path))
    assert found.id == "kokorochat/10"
    assert found.turns == (Turn("こんにちは。", "counselor7"), Turn("よろしく。", "client3", "2020-03-08T16:37:00"))
    assert found.ratings == (
        Rating(72, "client3", "score", "interlocutor"),
        Rating(3, "client3", "felt_respected", "interlocutor"),
        Rating(None, "client3", "gained_new_insights", "interlocutor"),
        Rating(0, "client3", "harmful_due_to_ignorance", "interlocutor"),
        Rating(1, "client3", "unwilling_to_continue", "interlocutor"),
    )


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"kokorochat_ja\.jsonl:0: the speaker must be one of A, B, got 'C'"):
        list(read_dataset("kokorochat", _write(tmp_path, turns=[{"speaker": "C", "text": "x"}])))
    with pytest.raises(InputError, match="'client_id' must be a number"):
        list(read_dataset("kokorochat", _write(tmp_path, review_by_client_en=REVIEW | {"client_id": None})))
    (tmp_path / "kokorochat_ja.jsonl").write_text("{}\n{broken\n")
    with pytest.raises(InputError, match="'review_by_client_en' is missing"):
        list(read_dataset("kokorochat", tmp_path))
