# SPDX-License-Identifier: Apache-2.0
"""Exports of Langfuse: traces or observations, with their scores in them or in a file of their own.

JSON, JSON lines and CSV of its pages, its API (old and new) and its storage exports. Of observations, generations are
read; others are steps of the same reply. Scores by annotators and by the API are ratings; evaluators' are facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from interloq.data.tool_logs.exchange import Exchange, Feedback, as_number, automatic, pick, pick_name
from interloq.records import INTERLOCUTOR, OUTSIDER, Rating

NAME = "langfuse"
KEEPS = "all messages; session, user; model, release, version, latency, cost, tags; scores and comments by their source"
WITHIN = (("data",), ("traces",))
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def matches(value: Mapping[str, Any]) -> bool:
    """Return whether a value is of this tool."""
    names = {_HUMP.sub("_", name).lower() for name in value}
    is_trace = {"session_id", "user_id"} <= names and bool(names & {"html_path", "bookmarked", "public", "release"})
    is_score = {"name", "value", "source"} <= names and bool(names & {"trace_id", "subject"})
    return (is_trace and "run_type" not in names) or is_score or {"trace_id", "type", "level"} <= names


def exchanges(value: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[Exchange | Feedback]:
    """Yield the exchange of a trace or generation, or the rating in a score."""
    value = {_HUMP.sub("_", name).lower(): item for name, item in value.items()}
    if "value" in value and "name" in value and "input" not in value:
        yield _feedback(value, pick_name(value, "subject.id", "observation_id", "trace_id", "session_id"))
        return
    if value.get("type") not in (None, "GENERATION"):
        return
    generation = _last_generation(value)
    id = pick_name(value, "id")
    yield Exchange(
        id=id,
        prompt=pick(value, "input") or pick(generation, "input"),
        reply=pick(value, "output") or pick(generation, "output"),
        conversation=pick_name(value, "session_id"),
        user=pick_name(value, "user_id"),
        start=pick(value, "timestamp", "start_time"),
        end=pick(value, "end_time"),
        system=pick_name(value, "model", "provided_model_name") or pick_name(generation, "model"),
        facts={
            "latency": as_number(pick(value, "latency")),
            "cost": as_number(pick(value, "total_cost", "calculated_total_cost", "cost_details.total")),
            "release": pick(value, "release"),
            "version": pick(value, "version") or pick(generation, "version"),
            "prompt_version": pick(value, "prompt_version") or pick(generation, "promptVersion", "prompt_version"),
            "name": pick(value, "name"),
            "tags": ",".join(map(str, tags)) if isinstance(tags := value.get("tags"), list) else tags,
            "trace_id": pick(value, "trace_id"),
        },
    )
    for score in value.get("scores") or []:
        if isinstance(score, dict):
            yield _feedback({_HUMP.sub("_", name).lower(): item for name, item in score.items()}, id)


def _last_generation(value: Mapping[str, Any]) -> Mapping[str, Any]:
    observations = value.get("observations")
    generations = [each for each in observations if pick(each, "type") == "GENERATION"] if observations else []
    return max(generations, key=lambda each: str(pick(each, "startTime", "start_time")), default={})


def _feedback(score: Mapping[str, Any], of: str) -> Feedback:
    number, text, name = score.get("value"), pick(score, "string_value"), str(score.get("name"))
    if isinstance(number, str):
        number, text = as_number(number), text or number
    data_type, source = pick(score, "data_type"), str(pick(score, "source") or "API").upper()
    if data_type in ("CATEGORICAL", "TEXT"):
        number = None  # the number is the category's place in a list
    if source == "EVAL":
        return Feedback(of=of, facts=automatic({name: text if number is None else number}))
    comment = "; ".join(str(part) for part in (text if number is None else None, score.get("comment")) if part)
    rater, role = pick_name(score, "author_user_id"), OUTSIDER if source == "ANNOTATION" else INTERLOCUTOR
    return Feedback(of=of, rating=Rating(as_number(number), rater, name, role, comment=comment))
