# SPDX-License-Identifier: Apache-2.0
"""Spans of OpenTelemetry's GenAI conventions: OTLP JSON, also as the collector's file exporter writes it.

Read are `gen_ai.input.messages`, `gen_ai.output.messages` and `gen_ai.system_instructions`, as attributes of a span or
of an event within it, in JSON or structured, and `gen_ai.prompt.0.content` of earlier instrumentations. Evaluation
events are facts of the reply at whose span they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from interloq.data.tool_logs.exchange import Exchange, Feedback, automatic, pick_name

NAME = "otel"
KEEPS = "all messages and parts; conversation, user; model, version of the service, times, tokens, errors; evaluations"
WITHIN = (("resourceSpans",), ("resourceLogs",))
_REPLIES = ("chat", "text_completion", "generate_content", "")  # of a model; agents' and tools' spans have them within
_EVALUATION = "gen_ai.evaluation.result"


def matches(value: Mapping[str, Any]) -> bool:
    """Return whether a value is of this tool."""
    return "scopeSpans" in value or "scopeLogs" in value or ("spanId" in value and "traceId" in value)


def exchanges(value: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[Exchange | Feedback]:
    """Yield the exchanges of all spans of a resource."""
    resource = _attributes(value.get("resource"))
    for scope in value.get("scopeSpans") or []:
        for span in scope.get("spans") or []:
            yield from _of_span(span, resource)
    for scope in value.get("scopeLogs") or []:
        for record in scope.get("logRecords") or []:
            yield from _of_event(record, _attributes(record), str(record.get("spanId", "")))
    if "spanId" in value:
        yield from _of_span(value, {})


def _of_span(span: Mapping[str, Any], resource: Mapping[str, Any]) -> Iterator[Exchange | Feedback]:
    attributes, id = _attributes(span), str(span.get("spanId", ""))
    for event in span.get("events") or []:
        inner = _attributes(event)
        if event.get("name") == _EVALUATION:
            yield from _of_event({**event, "eventName": _EVALUATION}, inner, id)
        else:
            attributes = {**inner, **attributes}
    for role, name in (("prompt", "gen_ai.input.messages"), ("completion", "gen_ai.output.messages")):
        if numbered := _numbered_messages(attributes, f"gen_ai.{role}."):
            attributes.setdefault(name, numbered)
    has_messages = "gen_ai.input.messages" in attributes or "gen_ai.output.messages" in attributes
    if not has_messages or attributes.get("gen_ai.operation.name", "") not in _REPLIES:
        return
    failed = str((span.get("status") or {}).get("code")) in ("2", "STATUS_CODE_ERROR")
    yield Exchange(
        id=id,
        prompt=[*_instructions(attributes), *_messages(attributes.get("gen_ai.input.messages"))],
        reply=_messages(attributes.get("gen_ai.output.messages")),
        conversation=pick_name({"id": attributes.get("gen_ai.conversation.id")}, "id"),
        user=pick_name(attributes, "user.id", "enduser.id"),
        start=_seconds(span.get("startTimeUnixNano")),
        end=_seconds(span.get("endTimeUnixNano")),
        system=pick_name(attributes, "gen_ai.response.model", "gen_ai.request.model"),
        failure=str((span.get("status") or {}).get("message") or attributes.get("error.type", "")) if failed else "",
        facts={
            "version": resource.get("service.version"),
            "input_tokens": attributes.get("gen_ai.usage.input_tokens"),
            "output_tokens": attributes.get("gen_ai.usage.output_tokens"),
            "trace_id": span.get("traceId"),
            "response_id": attributes.get("gen_ai.response.id"),
        },
        source={**attributes, "resource": resource, "span": span},
    )


def _of_event(event: Mapping[str, Any], attributes: Mapping[str, Any], span: str) -> Iterator[Feedback]:
    name = attributes.get("gen_ai.evaluation.name")
    if event.get("eventName", attributes.get("event.name")) == _EVALUATION and isinstance(name, str):
        score = attributes.get("gen_ai.evaluation.score.value", attributes.get("gen_ai.evaluation.score.label"))
        yield Feedback(of=span, facts=automatic({name: score}))


def _attributes(holder: Any) -> dict[str, Any]:
    """Return attributes as a plain object, from OTLP's list of keys and typed values."""
    attributes = (holder or {}).get("attributes") or {}
    if isinstance(attributes, dict):
        return attributes
    return {str(pair.get("key")): _plain(pair.get("value")) for pair in attributes}


def _plain(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, item),) = value.items()
    if kind == "intValue":
        return int(item)
    if kind == "arrayValue":
        return [_plain(each) for each in item.get("values") or []]
    if kind == "kvlistValue":
        return {str(pair.get("key")): _plain(pair.get("value")) for pair in item.get("values") or []}
    return item


def _messages(value: Any) -> list[Any]:
    return orjson.loads(value) if isinstance(value, str) and value else value or []


def _numbered_messages(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return messages that earlier instrumentations write as `gen_ai.prompt.0.role` and `gen_ai.prompt.0.content`."""
    messages: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        number, _, part = name.removeprefix(prefix).partition(".")
        if name.startswith(prefix) and number.isdecimal() and part in ("role", "content"):
            messages.setdefault(int(number), {"role": "assistant"})[part] = value
    return [messages[number] for number in sorted(messages)]


def _instructions(attributes: Mapping[str, Any]) -> list[Any]:
    parts = _messages(attributes.get("gen_ai.system_instructions"))
    return [{"role": "system", "parts": parts}] if parts else []


def _seconds(nanoseconds: Any) -> float | None:
    return int(nanoseconds) / 1e9 if nanoseconds else None
