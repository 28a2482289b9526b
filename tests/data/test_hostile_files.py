"""Files made to do harm: records of the wrong shape, archives that expand without end, links that lead out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interloq.data.corpus.formats import read_piece
from interloq.data.corpus.shards import Logs
from interloq.data.files.opening import reading_saved
from interloq.errors import InputError


def read_log(path: Path, *, format: str = "auto") -> tuple[list[str], list[tuple[int, str]]]:
    """Texts of the posts, and what was set aside."""
    rejected: list[tuple[int, str]] = []
    pieces = [piece for shard in Logs([path], format, {}).shards() for piece in shard.pieces]
    posts = [p for piece in pieces for p in read_piece(piece, lambda n, _, e: rejected.append((n, e.what)))]
    return [post.text for post in posts], rejected


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ({"referenced_tweets": [{"type": [1], "id": "1"}]}, "type must be text, got [1]"),
        ({"referenced_tweets": [7]}, "a referenced post must be an object, got 7"),
        ({"referenced_tweets": 7}, "referenced_tweets must be a list, got 7"),
        ({"created_at": "9" * 5000}, "cannot read the time"),
        ({"created_at": "Wed Oct 10 20:19:24 -9999 9999"}, "cannot read the time"),
    ],
)
def test_a_malformed_post_costs_itself_alone(tmp_path: Path, bad: dict[str, Any], what: str) -> None:
    good = {"id": "1", "author_id": "a", "text": "hello"}
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in (good, {**good, **bad}, good)))
    texts, rejected = read_log(path, format="twitter")
    assert (texts, [n for n, _ in rejected]) == (["hello", "hello"], [2])
    assert rejected[0][1].startswith(what)


def test_a_malformed_post_of_an_answer_costs_itself_alone(tmp_path: Path) -> None:
    good = {"id": "1", "author_id": "a", "text": "hello"}
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"data": [good, {**good, "text": {}}, 5, good], "meta": {}}))
    texts, rejected = read_log(path)
    assert texts == ["hello", "hello"]
    assert [what for _, what in rejected] == ["text must be text, got {}", "expected a post, got 5"]


@pytest.mark.parametrize("text", [[["x"]], [{"text": ["x"]}], [1.5], {}])
def test_a_malformed_message_costs_itself_alone(tmp_path: Path, text: object) -> None:
    messages: list[dict[str, Any]] = [
        {"id": i, "from_id": "u", "date_unixtime": "1600000000", "text": "hello"} for i in range(1, 4)
    ]
    messages[1]["text"] = text
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"id": 1, "messages": messages}))
    texts, rejected = read_log(path)
    assert (texts, [n for n, _ in rejected]) == (["hello", "hello"], [2])


@pytest.mark.parametrize(
    ("lines", "format"),
    [
        (["12/31/20, 10:15 PM - Ann: hello", "45/45/20, 10:15 PM - Ann: x", "12/31/20, 10:16 PM - Ann: hello"], ""),
        (["[2020-01-01 10:00] <ann> hello", "[2020-99-99 10:00] <ann> x", "[2020-01-01 10:00] <ann> hello"], ""),
    ],
)
def test_a_date_that_does_not_exist_costs_its_line_alone(tmp_path: Path, lines: list[str], format: str) -> None:
    path = tmp_path / "day-20209999.txt"
    path.write_text("\n".join(lines))
    texts, rejected = read_log(path, format=format or "auto")
    assert (texts, [n for n, _ in rejected]) == (["hello", "hello"], [2])


def test_open_quotes_in_every_row_cost_no_hour(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,user,text\n1,ann,hello\n" + 'b","\n' * 20_000)
    texts, rejected = read_log(path)
    assert texts == ["hello"]
    assert len(rejected) == 20_000


def test_what_saved_files_lack_is_said_in_one_line() -> None:
    with pytest.raises(InputError, match=r"^folder: the saved files are damaged: 'sizes' is missing; copy"), _damaged():
        raise KeyError("sizes")
    with pytest.raises(InputError, match=r"^folder: the saved files are damaged: first second; copy"), _damaged():
        raise RuntimeError("first\nsecond")
    with pytest.raises(InputError, match=r"^as it is$"), _damaged():
        raise InputError("as it is")


def _damaged() -> Any:
    return reading_saved("folder")
