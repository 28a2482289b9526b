"""The modules of `interloq.data.corpus.logs`: chats, irc, named fields (JSON lines and tables), reddit, twitter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interloq.data.corpus.clean import NO_TIME, RawPost
from interloq.errors import InputError
from tests.data.corpus.made_logs import IRC, OWN, V1, V2, lines, read
from tests.made_files import put

NOON = 1_539_172_800_000_000  # 2018-10-10T12:00:00Z


def test_twitter_version_1(tmp_path: Path) -> None:
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


def test_twitter_version_2_alone_and_in_answers(tmp_path: Path) -> None:
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


def test_reddit_comments_and_submissions(tmp_path: Path) -> None:
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


def test_irc_without_annotation_follows_names(tmp_path: Path) -> None:
    log = put(tmp_path / "2018-10-10.txt", IRC)
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
    log = put(tmp_path / "2018-10-10.ascii.txt", IRC)
    (tmp_path / "2018-10-10.annotation.txt").write_text("0 0 -\n0 2 -\n0 3 -\n2 3 - \n6 6 -\n")
    name = f"{tmp_path.name}/2018-10-10"
    posts = [post for post in read(log)[0] if not post.shape]
    assert [post.reply_to for post in posts] == ["", f"{name}:0", f"{name}:2", ""]
    (tmp_path / "2018-10-10.annotation.txt").write_text("0 zero -\n")
    assert read(log) == ([], [(1, "expected two line numbers, got '0 zero -'")])


def test_irc_with_dates_in_its_lines(tmp_path: Path) -> None:
    log = put(tmp_path / "all.log", "2018-10-10 12:00:00 <@ann> one\n[2018-10-11 12:00:30] <bob> two\n")
    assert [(post.user, post.time - NOON) for post in read(log)[0]] == [("ann", 0), ("bob", 86_430_000_000)]
    (tmp_path / "undated.log").write_text("[12:00] <ann> one\n")
    assert [post.time for post in read(tmp_path / "undated.log")[0]] == [NO_TIME]


def test_telegram(tmp_path: Path) -> None:
    message = {"id": 1, "type": "message", "date": "2018-10-10T12:00:00", "from": "Ann", "from_id": "user5"}
    message |= {"text": "hi"}
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
    answer = {"type": "message", "user": "U2", "ts": "1539172801.000200", "thread_ts": first["ts"], "text": "yes"}
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


def test_a_broken_export_is_set_aside_whole(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"messages": [\n{"from_id"')
    posts, rejects = read(tmp_path / "result.json", lines(tmp_path / "a.jsonl", OWN))
    assert [post.id for post in posts] == ["2"]
    assert [(number, what[:22]) for number, what in rejects] == [(1, "line 2: not valid JSON")]
    (tmp_path / "result.json").write_text('{"about": 5}')
    assert read(tmp_path / "result.json", format="telegram") == ([], [(1, "the file has no 'messages'")])


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
    reasons = dict(rejects)
    assert "not valid JSON" in reasons[2]
    assert "byte 35 is not valid UTF-8" in reasons[3]
    assert reasons[4] == "expected a JSON object, got list"
    assert reasons[7] == "user must be text, got ['ann']"
    assert reasons[8] == "cannot read the time 'soon'"


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


# ---- malformed posts -------------------------------------------------------------------------------------------------


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
    posts, rejected = read(lines(tmp_path / "x.jsonl", good, good | bad, good), format="twitter")
    assert ([post.text for post in posts], [number for number, _ in rejected]) == (["hello", "hello"], [2])
    assert rejected[0][1].startswith(what)


def test_a_malformed_post_of_an_answer_costs_itself_alone(tmp_path: Path) -> None:
    good = {"id": "1", "author_id": "a", "text": "hello"}
    answer = {"data": [good, {**good, "text": {}}, 5, good], "meta": {}}
    posts, rejected = read(lines(tmp_path / "x.jsonl", answer))
    assert [post.text for post in posts] == ["hello", "hello"]
    assert [what for _, what in rejected] == ["text must be text, got {}", "expected a post, got 5"]


@pytest.mark.parametrize("text", [[["x"]], [{"text": ["x"]}], [1.5], {}])
def test_a_malformed_message_costs_itself_alone(tmp_path: Path, text: object) -> None:
    messages: list[dict[str, Any]] = [
        {"id": i, "from_id": "u", "date_unixtime": "1600000000", "text": "hello"} for i in range(1, 4)
    ]
    messages[1]["text"] = text
    path = put(tmp_path / "x.json", json.dumps({"id": 1, "messages": messages}))
    posts, rejected = read(path)
    assert ([post.text for post in posts], [number for number, _ in rejected]) == (["hello", "hello"], [2])


@pytest.mark.parametrize(
    "log",
    [
        "12/31/20, 10:15 PM - Ann: hello\n45/45/20, 10:15 PM - Ann: x\n12/31/20, 10:16 PM - Ann: hello",
        "[2020-01-01 10:00] <ann> hello\n[2020-99-99 10:00] <ann> x\n[2020-01-01 10:00] <ann> hello",
    ],
)
def test_a_date_that_does_not_exist_costs_its_line_alone(tmp_path: Path, log: str) -> None:
    path = put(tmp_path / "day-20209999.txt", log)
    posts, rejected = read(path)
    assert ([post.text for post in posts], [number for number, _ in rejected]) == (["hello", "hello"], [2])


def test_open_quotes_in_every_row_cost_no_hour(tmp_path: Path) -> None:
    path = put(tmp_path / "x.csv", "id,user,text\n1,ann,hello\n" + 'b","\n' * 20_000)
    posts, rejected = read(path)
    assert [post.text for post in posts] == ["hello"]
    assert len(rejected) == 20_000
