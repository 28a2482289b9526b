"""Logs of IRC."""

from __future__ import annotations

from pathlib import Path

from interloq.data.corpus.clean import NO_TIME
from tests.data.corpus.made_logs import IRC, read

NOON = 1_539_172_800_000_000  # 2018-10-10T12:00:00Z


def test_irc_without_annotation_follows_names(tmp_path: Path) -> None:
    log = tmp_path / "2018-10-10.txt"
    log.write_text(IRC)
    posts, rejects = read(log)
    name = f"{tmp_path.name}/2018-10-10"
    assert [post.id for post in posts if not post.shape] == [f"{name}:{i}" for i in (0, 2, 3, 6)]
    assert [post.reply_to for post in posts if not post.shape] == ["", f"{name}:0", f"{name}:2", ""]
    assert [post.text for post in posts if not post.shape][1:] == ["with lpr", "thanks a lot", "everyone: hello"]
    assert posts[0].time - NOON == (11 * 60 + 58) * 60_000_000
    assert posts[3].time - posts[2].time == 2 * 60_000_000  # past midnight
    assert sum(post.shape == "notice" for post in posts) == 2
    assert rejects == [(6, "not a line of IRC: 'what is this'")]


def test_irc_with_annotation(tmp_path: Path) -> None:
    log = tmp_path / "2018-10-10.ascii.txt"
    log.write_text(IRC)
    (tmp_path / "2018-10-10.annotation.txt").write_text("0 0 -\n0 2 -\n0 3 -\n2 3 - \n6 6 -\n")
    name = f"{tmp_path.name}/2018-10-10"
    posts = [post for post in read(log)[0] if not post.shape]
    assert [post.reply_to for post in posts] == ["", f"{name}:0", f"{name}:2", ""]
    (tmp_path / "2018-10-10.annotation.txt").write_text("0 zero -\n")
    assert read(log) == ([], [(1, "expected two line numbers, got '0 zero -'")])


def test_irc_with_dates_in_its_lines(tmp_path: Path) -> None:
    log = tmp_path / "all.log"
    log.write_text("2018-10-10 12:00:00 <@ann> one\n[2018-10-11 12:00:30] <bob> two\n")
    assert [(post.user, post.time - NOON) for post in read(log)[0]] == [("ann", 0), ("bob", 86_430_000_000)]
    (tmp_path / "undated.log").write_text("[12:00] <ann> one\n")
    assert [post.time for post in read(tmp_path / "undated.log")[0]] == [NO_TIME]
