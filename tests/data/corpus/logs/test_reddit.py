"""Logs of Reddit."""

from __future__ import annotations

from pathlib import Path

from interloq.data.corpus.clean import RawPost
from tests.data.corpus.made_logs import lines, read

NOON = 1_539_172_800_000_000  # 2018-10-10T12:00:00Z


def test_comments_and_submissions(tmp_path: Path) -> None:
    comment = {"id": "c1", "author": "ann", "body": "> quoted\n\nYes &amp; no", "created_utc": "1539172800"}
    comment |= {"link_id": "t3_s1", "parent_id": "t3_s1"}
    submission = {"id": "s1", "author": "bob", "title": "Is it?", "selftext": "Well…", "created_utc": 1539172800}
    posts, rejects = read(
        lines(
            tmp_path / "RC",
            comment,
            submission,
            comment | {"id": "c2", "author": "[deleted]", "body": "[removed]", "parent_id": "t1_c1"},
            {"id": "x", "author": "bob"},
        )
    )
    assert posts[0] == RawPost("t1_c1", "ann", "\nYes & no", NOON, "t3_s1")
    assert posts[1] == RawPost("t3_s1", "bob", "Is it?\n\nWell…", NOON)
    assert posts[2] == RawPost("t1_c2", "", "", NOON, "t1_c1")
    assert rejects == [(4, "the object has neither body nor title")]
