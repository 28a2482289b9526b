# SPDX-License-Identifier: Apache-2.0
"""Logs of Inspect, `.eval` or `.json`: a dialogue per sample and epoch, which is also its occasion.

Texts that Inspect keeps beside the messages (`attachment://…`) are put back. Scores by scorers are facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from interloq.data.tool_logs.exchange import Exchange, automatic, pick, pick_name

NAME = "inspect"
KEEPS = "all messages; model, times, tokens, errors; target, metadata and scores"
WITHIN = (("samples",),)
_REFERENCE = "attachment://"
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partly, no answer: as Inspect counts them


def matches(value: Mapping[str, Any]) -> bool:
    """Return whether a value is of this tool."""
    return "epoch" in value and "messages" in value and "target" in value


def exchanges(value: Mapping[str, Any], log: Mapping[str, Any]) -> Iterator[Exchange]:
    """Yield the conversation of one sample."""
    messages = _resolve(value.get("messages") or [], value.get("attachments") or {})
    if not messages:
        messages = (
            [{"role": "user", "content": value["input"]}] if isinstance(value.get("input"), str) else value["input"]
        )
    split = len(messages)
    while split and messages[split - 1].get("role") == "assistant":
        split -= 1
    tokens = list((value.get("model_usage") or {}).values())
    metadata = {f"metadata.{name}": item for name, item in (value.get("metadata") or {}).items()}
    place = sample_id(value)
    yield Exchange(
        id=place,
        whole=True,
        prompt=messages[:split],
        reply=messages[split:],
        start=pick(value, "started_at"),
        end=pick(value, "completed_at"),
        system=pick_name(value, "output.model") or pick_name(log, "eval.model", "model"),
        occasion=place,
        failure=pick_name(value, "error.message"),
        facts={
            **metadata,
            "latency": pick(value, "working_time", "total_time"),
            "input_tokens": sum(each.get("input_tokens", 0) for each in tokens) or None,
            "output_tokens": sum(each.get("output_tokens", 0) for each in tokens) or None,
            "target": value["target"] if isinstance(value["target"], str) else "\n".join(map(str, value["target"])),
            **automatic(dict(sample_scores(value))),
        },
    )


def sample_id(value: Mapping[str, Any]) -> str:
    """Return the name of a sample's epoch."""
    return f"{value.get('id')}/epoch-{value.get('epoch')}"


def sample_scores(value: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Yield each score with its scorer; a score with several values has one per name. None is no number."""
    for scorer, score in (value.get("scores") or {}).items():
        item = score.get("value")
        parts = {f"{scorer}.{name}": part for name, part in item.items()} if isinstance(item, dict) else {scorer: item}
        for name, part in parts.items():
            yield name, _as_number(part)


def _as_number(value: Any) -> float | None:
    if isinstance(value, str):
        return _LETTERS.get(value)
    return float(value) if isinstance(value, int | float) else None


def _resolve(value: Any, attachments: Mapping[str, str]) -> Any:
    if isinstance(value, str) and value.startswith(_REFERENCE):
        return attachments.get(value.removeprefix(_REFERENCE), value)
    if isinstance(value, list):
        return [_resolve(item, attachments) for item in value]
    if isinstance(value, dict):
        return {name: _resolve(item, attachments) for name, item in value.items()}
    return value
