"""Exports of chats: Telegram, Discord, Slack, WhatsApp."""

from __future__ import annotations

import json
from pathlib import Path

from interloq.data.corpus.clean import RawPost
from tests.data.corpus.made_logs import OWN, lines, read

NOON = 1_539_172_800_000_000  # 2018-10-10T12:00:00Z


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


def test_a_broken_export_is_set_aside_whole(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"messages": [\n{"from_id"')
    posts, rejects = read(tmp_path / "result.json", lines(tmp_path / "a.jsonl", OWN))
    assert [post.id for post in posts] == ["2"]
    assert [(number, what[:22]) for number, what in rejects] == [(1, "line 2: not valid JSON")]
    (tmp_path / "result.json").write_text('{"about": 5}')
    assert read(tmp_path / "result.json", format="telegram") == ([], [(1, "the file has no 'messages'")])
