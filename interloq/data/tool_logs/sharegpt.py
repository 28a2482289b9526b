# SPDX-License-Identifier: Apache-2.0
"""Conversations in ShareGPT's form, or as lists of messages: one value is a whole conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from interloq.data.tool_logs.exchange import Exchange, pick_name

NAME = "sharegpt"
KEEPS = "all messages; model"


def matches(value: Mapping[str, Any]) -> bool:
    """Return whether a value is of this tool."""
    return any(isinstance(value.get(name), list) for name in ("conversations", "conversation", "messages"))


def exchanges(value: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[Exchange]:
    """Yield a conversation."""
    messages = next(value[name] for name in ("conversations", "conversation", "messages") if value.get(name))
    system = pick_name(value, "model")
    if isinstance(value.get("system"), str) and value["system"]:
        messages = [{"role": "system", "content": value["system"]}, *messages]
    split = len(messages)  # what is known is about the last reply
    while split and not _is_person(messages[split - 1]):
        split -= 1
    id = pick_name(value, "id", "conversation_id")
    yield Exchange(id=id, prompt=messages[:split], reply=messages[split:], system=system, whole=True)


def _is_person(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role", message.get("from")) in ("user", "human")
