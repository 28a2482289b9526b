"""Secrets are replaced in many forms, and what only looks like them a little stays."""

from __future__ import annotations

import pytest

from interloq.data.tool_logs.redaction import Redaction
from interloq.records import Dialogue, Rating, Turn

SECRETS = [
    ("ann@example.com", "<email>"),
    ("a.b+c@mail.example.co.uk!", "<email>!"),
    ("写信给 li@例子.中国", "写信给 <email>"),
    ("(bob_1@x.org)", "(<email>)"),
    ("+49 30 123456", "<phone>"),
    ("+49 (0)30 123456", "<phone>"),
    ("+1 (555) 123-4567", "<phone>"),
    ("tel:+1-555-123-4567", "tel:<phone>"),
    ("+81-90-1234-5678", "<phone>"),
    ("+447911123456", "<phone>"),
    ("(555) 123-4567.", "<phone>."),
    ("555-123-4567", "<phone>"),
    ("555.123.4567", "<phone>"),
    ("03-1234-5678", "<phone>"),
    ("09012345678", "<phone>"),
    ("01 23 45 67 89", "<phone>"),
    ("07911 123 456", "<phone>"),
    ("sk-proj-abcdefghijklmnop1234", "<key>"),
    ("sk-ant-api03-abcdefghijk_LMNOP", "<key>"),
    ("key=AKIAIOSFODNN7EXAMPLE", "key=<key>"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "<key>"),
    ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "Authorization: Bearer <key>"),
    ("https://user:pa55@host/x", "https://<key>@host/x"),
    ("?api_key=hunter22&x=1", "?api_key=<key>&x=1"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "<key>"),
    ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nbye", "<key>\nbye"),
    ("-----BEGIN PRIVATE KEY-----\ncut off", "<key>"),
    ("xoxb-1234567890-abcdef", "<key>"),
    ("pk-lf-12345678-abcd-1234-abcd-1234567890ab", "<key>"),
    ("lsv2_pt_abcdef0123456789abcdef0123456789_0123456789", "<key>"),
]
HARMLESS = [
    "2024-05-01 12:30:45", "12.05.2024", "05/12/2024", "10:30-11:45", "2024-05-01T12:30:45.123456Z", "1:23:45",
    "$1,234,567.89", "1 000 000 000", "50 000 000 people", "3.14159265358979", "0.123456789", "x = 0123456789012345",
    "192.168.100.200", "2001:db8::1", "v1.2.3-4567", "order 1234567890", "ISBN 978-3-16-148410-0", "12345678901",
    "uuid 123e4567-e89b-12d3-a456-426614174000", "#0301234567", "1234 5678 9012 3456", "page 123-456", "2019-2024",
    "@ann thanks", "a @ b", "user@localhost", "https://host:8080/a", "room 0123", "0800", "+5 points", "555-1234",
    "task-based sk-learn", "risk-free-of-everything-here", "token based", "the password is wrong", "a bearer of news",
]  # fmt: skip


@pytest.mark.parametrize(("text", "clean"), SECRETS)
def test_privates_are_replaced(text: str, clean: str) -> None:
    redaction = Redaction()
    assert redaction.text(text) == clean
    assert redaction.text(f"Call or write: {text}") == f"Call or write: {clean}"
    assert redaction.replaced.total() == 2


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_private_stays(text: str) -> None:
    assert Redaction().text(text) == text


def test_kinds_that_are_kept_are_counted() -> None:
    redaction = Redaction(("key",))
    text = "ann@example.com, 555-123-4567, sk-abcdefghijklmnop1234"
    assert redaction.text(text) == "ann@example.com, 555-123-4567, <key>"
    assert (redaction.replaced, redaction.kept) == ({"key": 1}, {"email": 1, "phone": 1})


def test_nothing_of_a_dialogue_is_left_out() -> None:
    private = "ann@example.com"
    rating = Rating(1, rater=private, comment=private)
    turns = [
        Turn(private, private, ratings=(rating,), fields={"name": private}),
        Turn(private, private, kind="tool_result", fields={"name": private}),
    ]
    dialogue = Dialogue(private, turns, {private: private}, [rating], 0, private, private, fields={"name": private})
    clean = Redaction().dialogue(dialogue)
    assert private not in repr(clean)
    assert clean.systems.keys() == {clean.turns[0].speaker}


def test_different_names_stay_different() -> None:
    redaction = Redaction()
    first, second, again = (redaction.dialogue(Dialogue(f"{who}@x.org", ["hi"])).id for who in ("a", "b", "a"))
    assert first == again != second
