# SPDX-License-Identifier: Apache-2.0
"""Messages of chat exports as turns: what was said, and everything else as turns of another kind.

Read are messages of OpenAI (chat and Responses), Anthropic, ShareGPT, LangChain, Inspect and OpenTelemetry, whose names
overlap: a message has a role, and text or parts; a part is text, a tool call, a tool's result, reasoning, or a file.
Files are named, never copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from interloq.errors import InputError
from interloq.records import ATTACHMENT, REASONING, SYSTEM_PROMPT, TOOL_CALL, TOOL_RESULT, Turn

ASSISTANTS = ("assistant", "gpt", "chatgpt", "bot", "model", "bard", "claude", "ai")
KINDS_OF_SPEAKERS = dict.fromkeys(("system", "developer"), SYSTEM_PROMPT) | dict.fromkeys(
    ("tool", "function", "function_response", "observation", "ipython"), TOOL_RESULT
)
KINDS_OF_SPEAKERS["function_call"] = TOOL_CALL
KIND_NAMES = {SYSTEM_PROMPT: "system prompt", ATTACHMENT: "non-text part", REASONING: "reasoning part"}
_TEXTS = ("text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text")
_REASONING = ("reasoning", "thinking", "redacted_thinking")
_CALLS = ("tool_use", "server_tool_use", "tool_call", "function_call", "custom_tool_call", "mcp_call")
_RESULTS = ("tool_result", "tool_call_response", "function_call_output", "custom_tool_call_output")
_LANGCHAIN = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
_LONGEST_ADDRESS = 500  # of a file; longer ones have the file in them


def is_message(value: Any) -> bool:
    """Return whether a value is a message of a chat export, and not a turn of ours."""
    return (
        isinstance(value, dict)
        and "text" not in value
        and ("role" in value or "from" in value)
        and any(name in value for name in ("content", "value", "parts", "tool_calls", "function_call"))
    )


def message_turns(value: Any, number: int = 1) -> list[Turn]:
    """Return the turns of a message, or of an item such as a call of a function; text alone is the user's."""
    if isinstance(value, str):
        return [Turn(value, "user")]
    if not isinstance(value, dict):
        raise InputError(f"message {number} must be an object, got {value!r:.60}", hint='write {"role": …}')
    if isinstance(value.get("kwargs"), dict) and value.get("lc"):  # a message that LangChain serialised
        value = value["kwargs"]
    speaker = value.get("role", value.get("from", value.get("sender")))
    if speaker is None and value.get("type") in (*_CALLS, *_RESULTS, *_REASONING):
        return [turn for turn in _part_turns([value], "assistant", "") if turn.kind]
    if speaker is None and isinstance(value.get("type"), str):
        speaker = _LANGCHAIN.get(value["type"], value["type"])
    if not isinstance(speaker, str):
        raise InputError(f"the role of message {number} must be text, got {speaker!r:.60}", hint='write "role": "user"')
    content = value.get("content", value.get("value", value.get("parts")))
    if not isinstance(content, str | list | None):
        what = f"the content of message {number} must be text or a list of parts, got {content!r:.60}"
        raise InputError(what, hint='write "content": "…"')
    kind = KINDS_OF_SPEAKERS.get(speaker.lower(), "")
    parts = [content] if isinstance(content, str) else list(content or [])
    if isinstance(value.get("refusal"), str):
        parts.append(value["refusal"])
    for name in ("reasoning", "reasoning_content"):
        if isinstance(value.get(name), str):
            parts.insert(0, {"type": "reasoning", "text": value[name]})
    calls = [{"type": "tool_call", **call} for call in value.get("tool_calls") or [] if isinstance(call, dict)]
    if isinstance(value.get("function_call"), dict):
        calls.append({**value["function_call"], "type": "tool_call"})
    for call in calls:
        call["type"] = "tool_call"  # OpenAI says "function"
    return _part_turns([*parts, *calls], speaker, kind)


def _part_turns(parts: list[Any], speaker: str, kind: str) -> list[Turn]:
    """Return the text of all parts as one turn, and each other part as one of its own, in their order."""
    turns: list[Turn] = []
    texts: list[str] = []
    place = 0
    for part in parts:
        fields = part if isinstance(part, Mapping) else {"type": "text", "text": part}
        type = fields.get("type", "text" if "text" in fields else "")
        text = _first_text(fields, "text", "content", "refusal")
        if type in _TEXTS and text is not None:
            place = place if texts else len(turns)
            texts.append(text)
        elif type in _CALLS:
            turns.append(Turn(_format_call(fields), speaker, kind=TOOL_CALL))
        elif type in _RESULTS or str(type).endswith("_tool_result"):
            turns.append(Turn(_format_result(fields), "tool", kind=TOOL_RESULT))
        elif type in _REASONING:
            text = _first_text(fields, "text", "thinking", "reasoning", "content")
            turns.append(Turn(text if text is not None else _join(fields.get("summary")), speaker, kind=REASONING))
        else:
            turns.append(Turn(_format_file(fields, str(type)), speaker, kind=ATTACHMENT))
    text = "\n".join(texts)
    if text or not turns:  # with calls, an empty text is not a reply
        turns.insert(place, Turn(text, speaker, kind=kind))
    return turns


def _first_text(fields: Mapping[str, Any], *names: str) -> str | None:
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), None)


def _format_call(fields: Mapping[str, Any]) -> str:
    """Return `search {"query":"trains"}`."""
    called = fields.get("function")
    call = called if isinstance(called, Mapping) else {"name": called, **fields}
    name = call.get("name") or "tool"
    arguments = next((call[key] for key in ("arguments", "args", "input") if call.get(key) is not None), "")
    return f"{name} {arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()}".strip()


def _format_result(fields: Mapping[str, Any]) -> str:
    for name in ("content", "response", "result", "output"):
        if fields.get(name) is not None:
            return _join(fields[name])
    return ""


def _join(value: Any) -> str:
    """Return a value as text: the texts of a list of parts, or JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in value):
        return "\n".join(part["text"] for part in value)
    return orjson.dumps(value).decode()


def _format_file(fields: Mapping[str, Any], type: str) -> str:
    """Return the type of a file, and its address if it has one."""
    address = fields.get(type, fields)
    if isinstance(address, Mapping):
        address = _first_text(address, "url", "uri", "file_id", "filename")
    if isinstance(address, str) and len(address) <= _LONGEST_ADDRESS and not address.startswith("data:"):
        return f"{type} {address}".strip()
    return type


def assistant_systems(speakers: Iterable[str], system: str) -> dict[str, str]:
    """Return the system of each speaker that is an assistant; others are people."""
    return {name: system for name in sorted(set(speakers)) if name.lower() in ASSISTANTS}
