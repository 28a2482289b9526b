"""Logs with named fields: JSON lines and tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.data.corpus.clean import NO_TIME, RawPost
from interloq.errors import InputError
from tests.data.corpus.made_logs import OWN, lines, read

NOON = 1_539_172_800_000_000  # 2018-10-10T12:00:00Z


def test_own_posts_with_and_without_a_header(tmp_path: Path) -> None:
    whole = RawPost("2", "ann", "hi", NOON, "1", "en")
    assert read(lines(tmp_path / "a.jsonl", {"kind": "posts", "schema": 1}, OWN)) == ([whole], [])
    assert read(lines(tmp_path / "b.jsonl", OWN)) == ([whole], [])
    with pytest.raises(InputError, match="the file contains samples, expected posts"):
        read(lines(tmp_path / "c.jsonl", {"kind": "samples", "schema": 1}, OWN), format="posts")


def test_other_names_numbers_and_missing_parts(tmp_path: Path) -> None:
    log = lines(
        tmp_path / "chat.jsonl",
        {"message_id": 7, "author": {"name": "ann"}, "body": "hello", "timestamp": 1539172800, "parent_id": None},
        {"message_id": 8, "author": {"name": None}, "body": "hi", "timestamp": 1539172800123, "parent_id": 7},
        {"author": None, "body": "no id"},
    )
    posts, rejects = read(log, fields={"user": "author.name"})
    assert posts == [
        RawPost("7", "ann", "hello", NOON),
        RawPost("8", "", "hi", NOON + 123_000, "7"),
        RawPost(f"{tmp_path.name}/chat:3", "", "no id", NO_TIME),
    ]
    assert rejects == []


def test_links_of_reddit_find_their_posts(tmp_path: Path) -> None:
    posts, _ = read(lines(tmp_path / "a.jsonl", OWN | {"id": "abc", "reply_to": "t1_xyz"}, OWN | {"id": "t3_q"}))
    assert [(post.id, post.reply_to) for post in posts] == [("abc", "xyz"), ("q", "1")]


def test_every_kind_of_bad_line_is_set_aside(tmp_path: Path) -> None:
    log = lines(
        tmp_path / "a.jsonl",
        OWN,
        b'{"id": "3", broken\n',
        b'{"id": "4", "user": "b", "text": "\xff\xfe"}\n',
        b"[1, 2]\n",
        b"\n",
        OWN | {"text": 5.5},
        OWN | {"user": ["ann"]},
        OWN | {"time": "soon"},
        b'{"id": "9", "user": "b", "text": "hi", "time": NaN}\n',
        b'{"id": "8", "user": "b", "text": "\\ud800"}\n',
        OWN | {"id": True},
        OWN | {"id": "5"},
    )
    posts, rejects = read(log)
    assert [post.id for post in posts] == ["2", "5"]
    assert [number for number, _ in sorted(rejects)] == [2, 3, 4, 6, 7, 8, 9, 10, 11]
    said = dict(rejects)
    assert "not valid JSON" in said[2]
    assert "byte 35 is not valid UTF-8" in said[3]
    assert said[4] == "expected a JSON object, got list"
    assert said[7] == "user must be text, got ['ann']"
    assert said[8] == "cannot read the time 'soon'"


def test_a_log_without_users_says_which_fields_there_are(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="no field for the user of a post; name it with --field user=NAME; the log has"
    ):
        read(lines(tmp_path / "a.jsonl", {"text": "hi", "who": "ann"}))


def test_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,user,text,time\n1,ann,"two\nlines, ""quoted""",1539172800\n2,bob,ok,\n\n3,x\n')
    posts, rejects = read(tmp_path / "a.csv")
    assert posts == [RawPost("1", "ann", 'two\nlines, "quoted"', NOON), RawPost("2", "bob", "ok", NO_TIME)]
    assert rejects == [(6, "2 cells for 4 columns")]
    (tmp_path / "b.tsv").write_text("author\tmessage\nann\thello, you\n")
    assert read(tmp_path / "b.tsv")[0] == [RawPost(f"{tmp_path.name}/b:2", "ann", "hello, you", NO_TIME)]


def test_an_open_quote_costs_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'id,user,text\n1,ann,fine\n2,bob,"open\n3,cat,good\n4,dan,\xff\n5,eve,end\n')
    posts, rejects = read(tmp_path / "a.csv")
    assert [post.id for post in posts] == ["1", "3", "5"]
    assert sorted(number for number, _ in rejects) == [3, 5]
