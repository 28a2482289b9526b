# SPDX-License-Identifier: Apache-2.0
"""Logs of Anthropic's API: requests with responses, and files of message batches (input and results)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from interloq.data.tool_logs.exchange import Exchange, pick, pick_conversation, pick_name

NAME = "anthropic"
KEEPS = "all messages and blocks; user, conversation; model, tokens, times, errors"


def matches(value: Mapping[str, Any]) -> bool:
    """Return whether a value is of this tool."""
    is_request = "custom_id" in value and isinstance(value.get("params"), dict) and "messages" in value["params"]
    return is_request or "type" in _result(value) or _message(value).get("type") == "message"


def exchanges(value: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[Exchange]:
    """Yield the request of a value and its reply."""
    request = pick(value, "request", "params", "request_body") or {}
    message = _message(value)
    instructions = pick(request, "system")
    prompt = [{"role": "system", "content": instructions}] if instructions else []
    yield Exchange(
        id=pick_name(value, "custom_id") or pick_name(message, "id") or pick_name(value, "id"),
        prompt=[*prompt, *(pick(request, "messages") or [])],
        reply=[message] if message.get("role") else (),
        conversation=pick_conversation(value, "request.metadata", "metadata", ""),
        user=pick_name(request, "metadata.user_id"),
        start=pick(value, "start_time", "timestamp", "created_at"),
        end=pick(value, "end_time"),
        system=pick_name(message, "model") or pick_name(request, "model"),
        failure=pick_name(_result(value), "error.error.message", "error.message") or pick_name(value, "error.message"),
        facts={
            "input_tokens": pick(message, "usage.input_tokens"),
            "output_tokens": pick(message, "usage.output_tokens"),
            "latency": pick(value, "latency"),
            "cost": pick(value, "cost", "cost_usd"),
        },
    )


def _result(value: Mapping[str, Any]) -> Mapping[str, Any]:
    result = value.get("result")
    is_of_batch = isinstance(result, dict) and result.get("type") in ("succeeded", "errored", "canceled", "expired")
    return result if is_of_batch and isinstance(result, dict) else {}


def _message(value: Mapping[str, Any]) -> Mapping[str, Any]:
    message = pick(_result(value), "message") or pick(value, "response.body", "response", "response_body")
    if isinstance(message, dict):
        return message
    return value if value.get("type") == "message" and "usage" in value else {}
