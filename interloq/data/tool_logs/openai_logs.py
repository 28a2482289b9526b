# SPDX-License-Identifier: Apache-2.0
"""Logs of OpenAI's API: requests with responses (chat and Responses), files of batches, stored completions.

A batch's output has no prompts: read it with its input file. `metadata` of a request may name its conversation; replies
of the Responses API also name the response before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from interloq.data.tool_logs.exchange import Exchange, pick, pick_conversation, pick_name

NAME = "openai"
KEEPS = "all messages; user, conversation and further metadata; model, tokens, times, errors, further choices"
_CONVERSATIONS = ("request.metadata", "response.metadata", "metadata", "request", "")


def matches(value: Mapping[str, Any]) -> bool:
    """Return whether a value is of this tool."""
    body = _body(value)
    is_request = isinstance(value.get("url"), str) and isinstance(value.get("body"), dict) and "custom_id" in value
    is_stored_message = str(value.get("id")).startswith("chatcmpl-") and "role" in value
    return is_request or is_stored_message or body.get("object") in ("chat.completion", "response")


def exchanges(value: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[Exchange]:
    """Yield the request of a value and its reply, one for each choice."""
    if "role" in value and "choices" not in value:  # a message of a stored completion: chatcmpl-x-0
        yield Exchange(id=str(value.get("id")).rpartition("-")[0], prompt=[value])
        return
    request, body = _request(value), _body(value)
    prompt = [*_instructions(request or body), *_as_list(pick(request, "messages", "input") or value.get("messages"))]
    common = Exchange(
        id=pick_name(value, "custom_id", "response.body.id") or pick_name(body, "id") or pick_name(value, "id"),
        prompt=prompt or pick(body, "input_user") or (),
        conversation=pick_name(body, "conversation.id", "conversation") or pick_conversation(value, *_CONVERSATIONS),
        follows=pick_name(body, "previous_response_id"),
        user=pick_name(request, "user", "safety_identifier", "metadata.user_id") or pick_name(body, "metadata.user_id"),
        start=pick(value, "start_time", "timestamp", "created_at") or pick(body, "created", "created_at"),
        end=pick(value, "end_time") or pick(body, "completed_at"),
        system=pick_name(body, "model") or pick_name(request, "model"),
        failure=pick_name(value, "error.message", "error") or pick_name(body, "error.message"),
        facts={
            "input_tokens": pick(body, "usage.prompt_tokens", "usage.input_tokens"),
            "output_tokens": pick(body, "usage.completion_tokens", "usage.output_tokens"),
            "latency": _latency(value),
            "cost": pick(value, "cost", "cost_usd"),
            "version": pick(body, "metadata.version") or pick(value, "metadata.version", "request.metadata.version"),
        },
    )
    if "choices" not in body:
        common.reply = _as_list(body.get("output"))
        yield common
        return
    for number, choice in enumerate(body["choices"], start=1):
        reply = [choice["message"]] if isinstance(choice.get("message"), dict) else []
        if number == 1:
            yield replace(common, reply=reply)
        else:
            yield replace(common, reply=reply, id=f"{common.id}/choice-{number}", conversation="", follows="")


def _request(value: Mapping[str, Any]) -> Mapping[str, Any]:
    request = pick(value, "request.body", "request", "request_body", "body", "params")
    return request if isinstance(request, dict) else {}


def _body(value: Mapping[str, Any]) -> Mapping[str, Any]:
    body = pick(value, "response.body", "response", "response_body")
    return body if isinstance(body, dict) else value


def _instructions(request: Mapping[str, Any]) -> list[dict[str, str]]:
    text = request.get("instructions")
    return [{"role": "system", "content": text}] if isinstance(text, str) and text else []


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [{"role": "user", "content": value}]


def _latency(value: Mapping[str, Any]) -> float | None:
    milliseconds = pick(value, "latency_ms", "duration_ms")
    return milliseconds / 1000 if isinstance(milliseconds, int | float) else pick(value, "latency")
