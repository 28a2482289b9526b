"""Records from other layouts: what was changed is noted, and rows of one sample are put together."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interloq import Dialogue, InputError, RejectedWarning, Sample, Turn, load
from interloq.data.records.jsonl import write
from interloq.errors import ReadWarning
from interloq.records import Rating
from tests.made_files import put

OPENAI = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    {"role": "tool", "content": "{}"},
    {"role": "assistant", "content": [{"type": "text", "text": "hello"}, {"type": "image_url"}, "you"]},
]


def write_chat(folder: Path, *values: Any) -> Path:
    return put(folder / "chat.jsonl", "".join(json.dumps(value) + "\n" for value in values))


def test_ratings_of_an_unknown_shape_do_not_cost_the_dialogue(tmp_path: Path) -> None:
    path = write_chat(tmp_path, {"id": "1", "turns": ["a", "b"], "ratings": {"overall": 4}})
    with pytest.warns(ReadWarning, match="ratings of 1 record are an object and were not read"):
        assert load(path, kind="dialogues") == [Dialogue("1", ["a", "b"])]


def test_a_speaker_without_a_system_may_be_null(tmp_path: Path) -> None:
    (dialogue,) = load(write_chat(tmp_path, {"turns": ["a"], "systems": {"bot": "x", "user": None}}), kind="dialogues")
    assert dialogue.systems == {"bot": "x"}


def test_fields_that_differ_between_rows_of_one_sample_are_of_the_raters(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", "id,response,rater,rating,topic,minute\n1,x,ann,4,food,5\n1,x,bob,2,food,9\n")
    with pytest.warns(ReadWarning, match="minute"):
        (sample,) = load(path)
    assert sample.fields == {"topic": "food"}
    assert [rating.rater for rating in sample.ratings] == ["ann", "bob"]


def test_openai_messages(tmp_path: Path) -> None:
    path = write_chat(tmp_path, {"id": "a", "model": "gpt", "messages": OPENAI})
    with pytest.warns(ReadWarning) as caught:
        (dialogue,) = load(path, kind="dialogues")
    assert dialogue.turns == (Turn("hi", "user"), Turn("hello\nyou", "assistant"))
    assert dialogue.systems == {"assistant": "gpt"}
    assert [(turn.kind, turn.speaker, turn.text) for turn in dialogue.all_turns()] == [
        ("system", "system", "Be kind."),
        ("", "user", "hi"),
        ("tool_call", "assistant", "tool"),
        ("tool_result", "tool", "{}"),
        ("", "assistant", "hello\nyou"),
        ("attachment", "assistant", "image_url"),
    ]
    assert str(caught[0].message) == (
        f"{path}: 'messages' is read as 'turns'; "
        "kept, but not read by metrics: 1 non-text part, 1 system prompt, 2 tool messages"
    )


def test_what_nobody_said_is_no_context(tmp_path: Path) -> None:
    turns = [{"text": "hi"}, {"text": "{}", "kind": "tool_result"}, {"text": "so", "kind": "filler"}]
    path = write_chat(tmp_path, {"id": "a", "context": turns, "response": "hello"})
    with pytest.warns(ReadWarning, match="skipped as not part of the dialogue: 1 tool message"):
        assert load(path) == [Sample("a", ["hi", "so"], "hello")]


def test_turns_of_another_kind_are_written_where_they_were(tmp_path: Path) -> None:
    good = Rating(1.0, "ann", "thumbs", comment="quick")
    turns = [
        Turn("Be kind.", "system", kind="system"),
        Turn("hi", "user"),
        Turn("search x", "bot", kind="tool_call"),
        Turn("hello", "bot", ratings=(good,), fields={"latency": 0.5, "kind": "greeting"}),
        Turn("{}", "tool", kind="tool_result"),
    ]
    dialogue = Dialogue("a", turns, {"bot": "b"})
    assert [turn.text for turn in dialogue.turns] == ["hi", "hello"]
    path = tmp_path / "a.jsonl"
    write(path, [replace(dialogue, occasion="x")], kind="dialogues")
    assert [turn["text"] for turn in json.loads(path.read_text().splitlines()[1])["turns"]] == [
        turn.text for turn in turns
    ]
    (again,) = load(path, kind="dialogues")
    assert again.all_turns() == turns
    assert again.turns[1].ratings == (good,)
    assert again.turns[1].fields == {"latency": 0.5, "kind": "greeting"}


def test_sharegpt_conversations(tmp_path: Path) -> None:
    turns = [{"from": "system", "value": "x"}, {"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]
    with pytest.warns(ReadWarning, match="'conversations' is read as 'turns'; kept, .*: 1 system prompt"):
        (dialogue,) = load(write_chat(tmp_path, {"id": "a", "conversations": turns}), kind="dialogues")
    assert dialogue.turns == (Turn("hi", "human"), Turn("hello", "gpt"))
    assert dialogue.unspoken == ((0, Turn("x", "system", kind="system")),)


@pytest.mark.parametrize("name", ["utterances", "dialogue", "conversation"])
def test_other_names_of_turns(tmp_path: Path, name: str) -> None:
    with pytest.warns(ReadWarning):
        assert load(write_chat(tmp_path, {name: ["hi", "hello"]}), kind="dialogues") == [Dialogue("1", ["hi", "hello"])]


def test_messages_are_the_context_of_a_sample(tmp_path: Path) -> None:
    path = write_chat(tmp_path, {"messages": OPENAI[:2], "response": "hello"})
    with pytest.warns(ReadWarning):
        assert load(path) == [Sample("1", [Turn("hi", "user")], "hello")]


def test_a_speaker_named_system_is_no_system_prompt(tmp_path: Path) -> None:
    turns = [{"speaker": "System", "text": "hi"}, {"speaker": "User", "text": "hello"}]
    (dialogue,) = load(write_chat(tmp_path, {"turns": turns}), kind="dialogues")
    assert len(dialogue.turns) == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"id": "x"}, "the dialogue has no turns; the record has 'id'"),
        ({"id": "x", "turns": []}, "the dialogue has no turns"),
        ({"id": "x", "messages": OPENAI[:1]}, "the dialogue has no turns"),
        ({"id": "x", "messages": [{"role": 3, "content": "hi"}]}, "the role of message 1 must be text, got 3"),
        ({"id": "x", "messages": [{"role": "user", "content": 3}]}, "the content of message 1 must be text or a list"),
        *(({"turns": ["a"], "systems": {"s": s}}, "systems['s'] must be text") for s in (["a"], {"name": "a"}, 7)),
        ({"id": "x", "messages": "hi", "utterances": ["hi"]}, "could both be the turns; say which: --map turns="),
    ],
)
def test_what_is_no_dialogue_is_set_aside(tmp_path: Path, value: Any, message: str) -> None:
    path = write_chat(tmp_path, {"id": "good", "turns": ["hi"]}, value)
    with pytest.warns((RejectedWarning, ReadWarning)) as caught:
        assert [dialogue.id for dialogue in load(path, kind="dialogues")] == ["good"]
    assert message in str(caught[0].message)
    with pytest.raises(InputError, match=r"chat\.jsonl:2"):
        load(path, kind="dialogues", strict=True)


def test_a_dialogue_that_failed_at_once_says_so(tmp_path: Path) -> None:
    path = write_chat(tmp_path, {"id": "a", "failure": "a: timed out at turn 1"})
    assert load(path, kind="dialogues") == [Dialogue("a", failure="a: timed out at turn 1")]
