"""Logs of every format, read from files; nothing that is wrong with a line stops the others."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard

from interloq.data.corpus.clean import NO_TIME, RawPost
from interloq.data.corpus.formats import READERS, guess_format, read_piece
from interloq.data.corpus.shards import Logs, read_posts
from interloq.errors import InputError
from interloq.records import Post
from tests.published_layouts import packed

NOON = 1_539_172_800_000_000  # 2018-10-10T12:00:00Z
Rejects = list[tuple[int, str]]
SQUEEZE: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def read(*paths: Path, format: str = "auto", fields: Mapping[str, str] | None = None) -> tuple[list[RawPost], Rejects]:
    """All posts, and the numbers of bad lines with what is wrong."""
    rejects: Rejects = []
    posts = [
        post
        for shard in Logs(list(paths), format, fields or {}).shards()
        for piece in shard.pieces
        for post in read_piece(piece, lambda number, _, error: rejects.append((number, error.what)))
    ]
    return posts, rejects


def lines(path: Path, *values: Any) -> Path:
    path.write_bytes(b"".join(v if isinstance(v, bytes) else json.dumps(v).encode() + b"\n" for v in values))
    return path


# ---- Interloq's own form and tables ----------------------------------------------------------------------------------

OWN = {"id": "2", "user": "ann", "text": "hi", "time": "2018-10-10T12:00:00Z", "reply_to": "1", "lang": "en"}


def test_own_posts_with_and_without_a_header(tmp_path: Path) -> None:
    whole = RawPost("2", "ann", "hi", NOON, "1", "en")
    assert read(lines(tmp_path / "a.jsonl", {"kind": "posts", "schema": 1}, OWN)) == ([whole], [])
    assert read(lines(tmp_path / "b.jsonl", OWN)) == ([whole], [])
    with pytest.raises(InputError, match="the file holds samples, expected posts"):
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
        InputError, match="no field for the user of a post; say which it is: --field user=NAME; there are"
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


# ---- X ---------------------------------------------------------------------------------------------------------------

V1: dict[str, Any] = {
    "id": 2,
    "id_str": "2",
    "created_at": "Wed Oct 10 12:00:00 +0000 2018",
    "text": "cut…",
    "user": {"id_str": "77", "screen_name": "ann"},
    "in_reply_to_status_id_str": "1",
    "lang": "en",
}
V2: dict[str, Any] = {
    "id": "2",
    "author_id": "77",
    "text": "hi",
    "created_at": "2018-10-10T12:00:00.000Z",
    "lang": "en",
    "referenced_tweets": [{"type": "replied_to", "id": "1"}],
}


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


# ---- Reddit ----------------------------------------------------------------------------------------------------------


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
    assert rejects == [(4, "neither body nor title")]


# ---- IRC -------------------------------------------------------------------------------------------------------------

IRC = """\
[23:58] <ann> how do I print?
=== bob has joined #help
[23:59] <bob> ann: with lpr
[00:01] <ann> bob, thanks a lot
* ann waves
what is this
[00:02] <cat> everyone: hello
"""


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
    assert rejects == [(6, "no line of IRC: 'what is this'")]


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


# ---- chat programs ---------------------------------------------------------------------------------------------------


def test_telegram(tmp_path: Path) -> None:
    message = {
        "id": 1,
        "type": "message",
        "date": "2018-10-10T12:00:00",
        "from": "Ann",
        "from_id": "user5",
        "text": "hi",
    }
    link = {"reply_to_message_id": 1, "text": ["see ", {"type": "link", "text": "it"}]}
    messages = [
        message,
        message | {"id": 2, "date_unixtime": "1539172800"} | link,
        {"id": 3, "type": "service", "date": "2018-10-10T12:00:00", "action": "invite"},
        message | {"id": 4, "forwarded_from": "Bob"},
        message | {"id": None},
        "text",
    ]
    export = {"name": "chat", "id": 42, "messages": messages}
    (tmp_path / "result.json").write_text(json.dumps(export, indent=1))
    posts, rejects = read(tmp_path / "result.json")
    assert posts[:2] == [RawPost("42:1", "user5", "hi", NOON), RawPost("42:2", "user5", "see it", NOON, "42:1")]
    assert [post.shape for post in posts[2:]] == ["notice", "retweet"]
    assert [number for number, _ in rejects] == [5, 6]


def test_discord(tmp_path: Path) -> None:
    message = {"id": "1", "type": "Default", "timestamp": "2018-10-10T14:00:00+02:00", "isPinned": False}
    message |= {"content": "hi <@12> <:wave:99>", "author": {"id": "77", "name": "ann"}}
    reply = message | {"id": "2", "type": "Reply", "reference": {"messageId": "1"}}
    export = {"guild": {}, "messages": [message, reply, message | {"id": "3", "type": "ChannelPinnedMessage"}]}
    (tmp_path / "chat.json").write_text(json.dumps(export))
    posts, _ = read(tmp_path / "chat.json")
    assert [(post.id, post.user, post.text.split(), post.time, post.reply_to, post.shape) for post in posts] == [
        ("1", "77", ["hi"], NOON, "", ""),
        ("2", "77", ["hi"], NOON, "1", ""),
        ("3", "77", ["hi"], NOON, "", "notice"),
    ]


def test_slack(tmp_path: Path) -> None:
    folder = tmp_path / "general"
    folder.mkdir()
    first = {"type": "message", "user": "U1", "ts": "1539172800.000100", "text": "hi <@U2> <https://x.org|x>"}
    answer = {
        "type": "message",
        "user": "U2",
        "ts": "1539172801.000200",
        "thread_ts": "1539172800.000100",
        "text": "yes",
    }
    joined = {"type": "message", "subtype": "channel_join", "user": "U3", "ts": "1539172802.000300", "text": "joined"}
    (folder / "2018-10-10.json").write_text(json.dumps([first, answer, joined], indent=2))
    posts, _ = read(folder / "2018-10-10.json")
    assert posts[0].text == "hi   https://x.org"
    assert posts[1].reply_to == posts[0].id == "general:1539172800.000100"
    assert posts[0].time == NOON + 100
    assert [post.shape for post in posts] == ["", "", "notice"]


def test_whatsapp(tmp_path: Path) -> None:
    chat = tmp_path / "chat.txt"
    chat.write_text(
        "10/9/18, 11:00 AM - Messages are encrypted.\n"
        "10/9/18, 11:59 PM - Ann: hello\nand more\n"
        "10/10/18, 12:00 AM - Bob: hi Ann: all well?\n"
        "10/13/18, 1:05 PM - Ann: yes\n"
    )
    posts, rejects = read(chat)
    name = f"{tmp_path.name}/chat"
    assert rejects == []
    assert posts[0].shape == "notice"
    assert [(post.user, post.text, post.reply_to) for post in posts[1:]] == [
        ("Ann", "hello\nand more", ""),
        ("Bob", "hi Ann: all well?", f"{name}:2"),
        ("Ann", "yes", ""),  # days later
    ]
    assert posts[2].time == NOON - 12 * 3600 * 1_000_000
    chat.write_text("[31.12.18, 22:15:02] Ann: hi\n[2019-01-01, 08:00:00] Bob: yo\n")
    assert [post.time for post in read(chat)[0]] == [NOON + 7_121_702_000_000, NOON + 7_156_800_000_000]


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_compressed_files(tmp_path: Path, suffix: str) -> None:
    data = json.dumps(OWN).encode() + b"\r\n"
    squeeze = SQUEEZE[suffix]
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(squeeze(b"\xef\xbb\xbf" + data))
    assert [post.id for post in read(path)[0]] == ["2"]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_broken_file_is_named(tmp_path: Path, suffix: str) -> None:
    data = "".join(json.dumps(OWN | {"id": str(i), "text": f"{i * 7919}"}) + "\n" for i in range(5000)).encode()
    squeeze = SQUEEZE[suffix]
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(squeeze(data)[:-2000])
    with pytest.raises(InputError, match=r"a\.jsonl.*damaged or cut off"):
        read(path)


def test_a_json_list_is_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([OWN, OWN | {"id": "3"}, 5], indent=1))
    posts, rejects = read(tmp_path / "a.json")
    assert ([post.id for post in posts], rejects) == (["2", "3"], [(3, "expected a JSON object, got int")])


def test_folders_and_archives_pass_over_what_is_no_log(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "day").mkdir(parents=True)
    (folder / "LICENSE.txt").write_text("Everybody may use this.")
    (folder / "README.md").write_text("# Logs")
    (folder / ".hidden.jsonl").write_text("{}")
    (folder / "day" / "2018-10-10.ascii.txt").write_text(IRC)
    (folder / "day" / "2018-10-10.raw.txt").write_text(IRC)
    (folder / "day" / "2018-10-10.tok.txt").write_text("<s> how </s>")
    (folder / "day" / "2018-10-10.annotation.txt").write_text("0 2 -\n0 3 -\n")
    lines(folder / "more.jsonl", OWN | {"id": "9"})
    for path in (folder, packed(folder), packed(folder, ".tar.xz")):
        logs = Logs([path])
        posts = [p for s in logs.shards() for piece in s.pieces for p in read_piece(piece, lambda *_: None)]
        said = {post.id: post.reply_to for post in posts if not post.shape}
        first = "day/2018-10-10"
        assert said == {
            f"{first}:0": "",
            f"{first}:2": f"{first}:0",
            f"{first}:3": f"{first}:0",
            f"{first}:6": "",
            "9": "1",
        }
        assert [Path(name).name for name in logs.passed_over] == ["LICENSE.txt"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "just prose\n", "cannot tell what kind of log this is"),
        ("a.csv", "id,words\n1,2\n", "no field for the user of a post"),
    ],
)
def test_files_that_are_no_logs(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_file_in_utf_16_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("id,user,text\n1,ann,hello\n", encoding="utf-16")
    with pytest.raises(InputError, match="the file is in UTF-16; save it as UTF-8"):
        read(tmp_path / name)


def test_a_broken_export_is_set_aside_whole(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"messages": [\n{"from_id"')
    posts, rejects = read(tmp_path / "result.json", lines(tmp_path / "a.jsonl", OWN))
    assert [post.id for post in posts] == ["2"]
    assert [(number, what[:22]) for number, what in rejects] == [(1, "line 2: not valid JSON")]
    (tmp_path / "result.json").write_text('{"about": 5}')
    assert read(tmp_path / "result.json", format="telegram") == ([], [(1, "no 'messages' in it")])


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file or folder"):
        read(tmp_path / "nowhere.jsonl")


def test_formats_are_told_by_the_first_lines() -> None:
    assert guess_format(b'{"id": "1", "user": "a", "text": "b"}\n', ".jsonl") == "posts"
    assert guess_format(json.dumps(V1).encode(), ".json") == "twitter"
    assert guess_format(b"{broken\n" + json.dumps(V2).encode(), "") == "twitter"
    assert guess_format(b"[" + json.dumps(V2).encode() + b"]", "") == "twitter"
    assert guess_format(b"[12:00] <ann> hi", ".txt") == "irc"
    assert guess_format(b"", ".tsv") == "table"
    assert guess_format(b"prose", ".txt") == ""
    assert {"posts", "twitter", "reddit", "irc"} <= set(READERS)


def test_posts_as_records(tmp_path: Path) -> None:
    bad: list[int] = []
    log = lines(tmp_path / "a.jsonl", OWN, b"broken\n")
    found = list(read_posts([log], reject=lambda number, *_: bad.append(number)))
    assert found == [Post("2", "ann", "hi", "2018-10-10T12:00:00Z", "1", "en")]
    assert bad == [2]
    with pytest.raises(InputError, match="unknown format 'tweets'"):
        next(read_posts([log], format="tweets", reject=lambda *_: None))
