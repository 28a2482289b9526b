# SPDX-License-Identifier: Apache-2.0
"""Chat exports as turns: OpenAI's `{"role", "content"}` and ShareGPT's `{"from", "value"}` messages.

Instructions to the model, tool calls and their results are not turns of the dialogue, and neither are pictures. They
are skipped and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from interloq.errors import InputError

_LEFT_OUT = {
    "system": "system prompt",
    "developer": "system prompt",
    "tool": "tool message",
    "function": "tool message",
    "function_call": "tool message",
    "function_response": "tool message",
    "observation": "tool message",
    "ipython": "tool message",
}
SYSTEM_FIELDS = ("model", "system")  # beside the messages: the assistant's name, or its prompt
ASSISTANTS = ("assistant", "gpt", "chatgpt", "bot", "model", "bard", "claude")


def is_chat(values: Any) -> bool:
    """Return whether a list has messages of a chat export: entries with a role instead of a speaker."""
    return isinstance(values, list) and any(map(_is_message, values))


def turns(values: list[Any], skipped: Counter[str]) -> list[Any]:
    """Messages as turns; `skipped` counts those that are not turns."""
    turns = []
    for i, value in enumerate(values):
        if not _is_message(value):
            turns.append(value)
            continue
        speaker = _speaker(value, i)
        text = _text(value, i, skipped)
        if why := _LEFT_OUT.get(speaker.lower()):
            skipped[why] += 1
        elif not text and (value.get("tool_calls") or value.get("function_call")):
            skipped["tool message"] += 1
        else:
            turns.append({"text": text, "speaker": speaker})
    return turns


def systems(turns: list[Any], value: Mapping[str, Any]) -> dict[str, str]:
    """Return the assistant's system: the model named with the messages, or `system` unless it is a prompt."""
    model, system = value.get("model"), value.get("system")
    if model is None and isinstance(system, str) and len(system.split()) == 1:
        model = system
    if not isinstance(model, str):
        return {}
    speakers = {turn["speaker"] for turn in turns if isinstance(turn, dict) and isinstance(turn.get("speaker"), str)}
    return {name: model for name in sorted(speakers) if name.lower() in ASSISTANTS}


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "text" not in value
        and ("role" in value or "from" in value)
        and any(name in value for name in ("content", "value", "tool_calls", "function_call"))
    )


def _speaker(value: Mapping[str, Any], i: int) -> str:
    speaker = value.get("role", value.get("from"))
    if not isinstance(speaker, str):
        raise InputError(f"the role of message {i + 1} must be text, got {speaker!r:.60}", hint='write "role": "user"')
    return speaker


def _text(value: Mapping[str, Any], i: int, skipped: Counter[str]) -> str:
    """Return the text of a message; the text parts of a list are joined by line breaks."""
    content = value.get("content", value.get("value"))
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        what = f"the content of message {i + 1} must be text or a list of parts, got {content!r:.60}"
        raise InputError(what, hint='write "content": "…"')
    texts = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(text)
        else:
            skipped["non-text part"] += 1
    return "\n".join(texts)
