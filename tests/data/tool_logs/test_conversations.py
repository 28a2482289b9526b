"""Requests by conversation, on disk."""

from __future__ import annotations

from contextlib import closing

from interloq.data.tool_logs.conversations import NOTHING_SAID, Conversations
from interloq.data.tool_logs.exchange import Exchange, Feedback
from interloq.records import Dialogue, Rating


def join(*items: Exchange | Feedback) -> list[Dialogue]:
    with closing(Conversations()) as conversations:
        for item in items:
            conversations.add(item)
        return list(conversations.dialogues())


def said(dialogue: Dialogue) -> list[str]:
    return [turn.text for turn in dialogue.turns]


def test_times_give_the_order_and_without_them_the_file() -> None:
    late = Exchange(id="b", prompt="more", reply="b", conversation="c", start="2026-01-01T10:01:00Z")
    early = Exchange(id="a", prompt="hi", reply="a", conversation="c", start="2026-01-01T10:00:00+00:00")
    assert said(join(late, early)[0]) == ["hi", "a", "more", "b"]
    late.start = None
    assert said(join(late, early)[0]) == ["more", "b", "hi", "a"]


def test_dialogues_come_in_the_order_of_their_first_requests() -> None:
    items = [Exchange(id=str(i), prompt="hi", conversation=chat) for i, chat in enumerate("zazb")]
    assert [dialogue.id for dialogue in join(*items)] == ["z", "a", "b"]


def test_a_part_of_the_history_is_recognised() -> None:
    def messages(*texts: str, first: str) -> list[dict[str, str]]:
        roles = ["user", "assistant"] if first == "user" else ["assistant", "user"]
        return [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]

    items = [
        Exchange(id="1", prompt=messages("u1", first="user"), reply="a1", conversation="c"),
        Exchange(id="2", prompt=messages("u1", "a1", "u2", first="user"), reply="a2", conversation="c"),
        Exchange(id="3", prompt=messages("a2", "u3", first="assistant"), reply="a3", conversation="c"),
    ]
    assert said(join(*items)[0]) == ["u1", "a1", "u2", "a2", "u3", "a3"]


def test_feedback_may_come_first_and_is_of_a_reply_or_of_a_conversation() -> None:
    thumb, stars = Rating(1.0, aspect="thumbs"), Rating(4.0, aspect="stars")
    items: list[Exchange | Feedback] = [
        Feedback(of="b", rating=thumb),
        Feedback(of="c", rating=stars),
        Feedback(of="c", rating=stars),
        Feedback(of="t", facts={"score.x": 0.5, "none": None}),
        Exchange(id="a", prompt="hi", reply="a", conversation="c", facts={"trace_id": "t"}),
        Exchange(id="b", prompt="more", reply="b", conversation="c"),
    ]
    (dialogue,) = join(*items)
    assert dialogue.ratings == (stars,)
    assert [turn.ratings for turn in dialogue.turns] == [(), (), (), (thumb,)]
    assert (dialogue.turns[1].fields or {})["score.x"] == 0.5


def test_what_was_never_answered_is_kept() -> None:
    (failed,) = join(Exchange(id="a", failure="timed out"))
    assert (failed.turns, failed.failure) == ((), "timed out")
    (prompt,) = join(Exchange(id="a", prompt=[{"role": "system", "content": "Be kind."}]))
    assert (len(prompt.unspoken), prompt.failure) == (1, NOTHING_SAID)
