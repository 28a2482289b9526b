"""Logs of Twitter."""

from __future__ import annotations

from pathlib import Path

from interloq.data.corpus.clean import RawPost
from tests.data.corpus.made_logs import V1, V2, lines, read

NOON = 1_539_172_800_000_000  # 2018-10-10T12:00:00Z


def test_version_1(tmp_path: Path) -> None:
    posts, rejects = read(
        lines(
            tmp_path / "a.jsonl",
            V1,
            V1 | {"truncated": True, "extended_tweet": {"full_text": "the whole"}},
            V1 | {"in_reply_to_status_id_str": None, "full_text": "longer", "text": None},
            V1 | {"retweeted_status": {"id_str": "9"}},
            V1 | {"is_quote_status": True, "quoted_status_id_str": "5", "in_reply_to_status_id_str": None},
            {"delete": {"status": {"id": 4}}},
            {"created_at": V1["created_at"], "text": "no id"},
        )
    )
    assert posts[0] == RawPost("2", "77", "cut…", NOON, "1", "en")
    assert [post.text for post in posts[1:3]] == ["the whole", "longer"]
    assert [post.shape for post in posts] == ["", "", "", "retweet", "quote", "notice"]
    assert (posts[4].quoted, posts[4].reply_to) == ("5", "")
    assert rejects == [(7, "id is missing")]


def test_version_2_alone_and_in_answers(tmp_path: Path) -> None:
    quote = V2 | {"id": "3", "referenced_tweets": [{"type": "quoted", "id": "5"}]}
    retweet = V2 | {"id": "4", "referenced_tweets": [{"type": "retweeted", "id": "5"}]}
    answer = {"data": [quote, retweet], "includes": {"users": []}, "meta": {"result_count": 2}}
    posts, rejects = read(lines(tmp_path / "a.jsonl", V2, answer, {"data": V2 | {"id": "6"}, "includes": {}}))
    assert rejects == []
    assert posts[0] == RawPost("2", "77", "hi", NOON, "1", "en")
    assert [(post.id, post.shape, post.quoted) for post in posts[1:]] == [
        ("3", "quote", "5"),
        ("4", "retweet", ""),
        ("6", "", ""),
    ]
