"""Messages of chat exports: nothing in them vanishes, and only what was said is spoken."""

from __future__ import annotations

from typing import Any

import pytest

from interloq.data.records.messages import is_message, message_turns
from interloq.errors import InputError

IMAGE = {"type": "image_url", "image_url": {"url": "https://host/a.png"}}
MESSAGES: list[tuple[str, Any, list[tuple[str, str, str]]]] = [
    ("plain text", "hi", [("", "user", "hi")]),
    ("ShareGPT", {"from": "gpt", "value": "hi"}, [("", "gpt", "hi")]),
    ("OpenAI, instructions", {"role": "developer", "content": "Be kind."}, [("system", "developer", "Be kind.")]),
    (
        "OpenAI, parts",
        {"role": "user", "content": [{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}]},
        [("", "user", "a\nb"), ("attachment", "user", "image_url https://host/a.png")],
    ),
    (
        "a file in the message",
        {"role": "user", "content": [{"type": "image", "source": {"data": "data:image/png;base64,AA"}}]},
        [("attachment", "user", "image")],
    ),
    (
        "OpenAI, call",
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}],
        },
        [("tool_call", "assistant", 'find {"q": 1}')],
    ),
    (
        "OpenAI, old call",
        {"role": "assistant", "content": "wait", "function_call": {"name": "f", "arguments": "{}"}},
        [("", "assistant", "wait"), ("tool_call", "assistant", "f {}")],
    ),
    ("OpenAI, refusal", {"role": "assistant", "content": None, "refusal": "No."}, [("", "assistant", "No.")]),
    ("OpenAI, result", {"role": "tool", "content": "42"}, [("tool_result", "tool", "42")]),
    (
        "Responses, text",
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
        [("", "assistant", "hi")],
    ),
    (
        "Responses, call",
        {"type": "function_call", "name": "find", "arguments": "{}"},
        [("tool_call", "assistant", "find {}")],
    ),
    ("Responses, result", {"type": "function_call_output", "output": "42"}, [("tool_result", "tool", "42")]),
    (
        "Responses, reasoning",
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        [("reasoning", "assistant", "hm")],
    ),
    (
        "Anthropic, call",
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "name": "find", "input": {"q": 1}},
            ],
        },
        [
            ("reasoning", "assistant", "hm"),
            ("", "assistant", "Let me look."),
            ("tool_call", "assistant", 'find {"q":1}'),
        ],
    ),
    (
        "Anthropic, result",
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "content": [{"type": "text", "text": "42"}]},
                {"type": "text", "text": "and now?"},
            ],
        },
        [("tool_result", "tool", "42"), ("", "user", "and now?")],
    ),
    (
        "OpenTelemetry",
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "hi"},
                {"type": "tool_call", "name": "f", "arguments": {"a": 1}},
                {"type": "tool_call_response", "response": {"b": 2}},
            ],
        },
        [("", "assistant", "hi"), ("tool_call", "assistant", 'f {"a":1}'), ("tool_result", "tool", '{"b":2}')],
    ),
    (
        "LangChain",
        {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": "hi", "type": "human"}},
        [("", "user", "hi")],
    ),
    (
        "LangChain, call",
        {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {"a": 1}, "type": "tool_call"}]},
        [("tool_call", "assistant", 'f {"a":1}')],
    ),
    (
        "Inspect",
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "hi"}],
            "tool_calls": [{"id": "1", "function": "f", "arguments": {"a": 1}}],
        },
        [("reasoning", "assistant", "hm"), ("", "assistant", "hi"), ("tool_call", "assistant", 'f {"a":1}')],
    ),
    ("nothing", {"role": "assistant", "content": None}, [("", "assistant", "")]),
]


@pytest.mark.parametrize(("value", "expected"), [case[1:] for case in MESSAGES], ids=[case[0] for case in MESSAGES])
def test_messages_become_turns(value: Any, expected: list[tuple[str, str, str]]) -> None:
    assert [(turn.kind, turn.speaker, turn.text) for turn in message_turns(value)] == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (7, "message 3 must be an object, got 7"),
        ({"content": "hi"}, "the role of message 3 must be text, got None"),
        ({"role": "user", "content": 7}, "the content of message 3 must be text or a list of parts, got 7"),
    ],
)
def test_what_is_no_message_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        message_turns(value, 3)


def test_our_own_turns_are_not_messages() -> None:
    assert not is_message({"text": "hi", "role": "user", "content": "hi"})
    assert not is_message("hi")
