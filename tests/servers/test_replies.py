"""Replies are checked: text or a failure, and always writable."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq.play.bot import checked, crashed
from interloq.servers.replies import Reply, one_line


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", "\u2003"])
def test_blank_text_is_empty(text: str) -> None:
    assert checked(Reply(text)) == Reply("", "empty")


def test_a_known_failure_is_kept_when_text_is_empty() -> None:
    assert checked(Reply("", "timed out")) == Reply("", "timed out")


def test_long_text_is_cut_with_a_note() -> None:
    assert checked(Reply("x" * 4_000)) == Reply("x" * 4_000)
    assert checked(Reply("x" * 4_001)) == Reply("x" * 4_000, "too long")
    assert checked(Reply("abc"), longest=2) == Reply("ab", "too long")
    assert checked(Reply("  abc"), longest=2) == Reply("", "too long")


def test_what_no_json_can_hold_is_replaced() -> None:
    reply = checked(Reply("a\0b\ud83dc"))
    assert reply.text == "a\ufffdb\ufffdc"
    assert "cannot be written" in reply.failure
    assert checked(Reply("\x1b[31mred\x07 😀\u202e")) == Reply(
        "\x1b[31mred\x07 😀\u202e"
    )  # shown escaped, kept as it is


@given(st.text(st.characters()) | st.text("\0\ud800\udfff a;\n", max_size=20), st.text(max_size=50))
def test_a_checked_reply_has_text_or_a_failure_and_can_be_written(text: str, failure: str) -> None:
    reply = checked(Reply(text, failure))
    assert orjson.loads(orjson.dumps([reply.text, reply.failure])) == [reply.text, reply.failure]
    assert reply.text.strip() or (reply.text == "" and reply.failure)
    assert checked(reply) == reply
    assert "\n" not in reply.failure


@pytest.mark.parametrize("wrong", [None, 7, "text", b"bytes", ["text"], Reply(None), Reply(b"x"), Reply("x", 3)])  # type: ignore[arg-type]
def test_wrong_types_are_failures(wrong: Any) -> None:
    reply = checked(wrong)
    assert reply.text == ""
    assert reply.failure.startswith("the bot gave")


def test_messages_stand_on_one_line() -> None:
    assert one_line("a\n\x1b[0m b\u2028c; d\ud800") == "a [0m b c, d"
    assert one_line("x" * 1_000) == "x" * 299 + "…"
    assert crashed(ValueError("")) == Reply("", "crashed: ValueError")
