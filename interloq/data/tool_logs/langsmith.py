# SPDX-License-Identifier: Apache-2.0
"""Exports of LangSmith: root runs with their feedback, or feedback in a file of its own.

The conversation is the thread in the metadata of a run; `session_id` of a run is its project. Feedback of models and
evaluators are facts. Runs within other runs are steps of the same reply, and are not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from interloq.data.tool_logs.exchange import (
    Exchange,
    Feedback,
    as_number,
    automatic,
    pick,
    pick_conversation,
    pick_name,
)
from interloq.records import INTERLOCUTOR, OUTSIDER, Rating

NAME = "langsmith"
KEEPS = "all messages; thread, user; model, revision, latency, cost, tokens, tags, errors; feedback by its source"
WITHIN = (("runs",), ("data",))
_METADATA = ("extra.metadata", "metadata")


def matches(value: Mapping[str, Any]) -> bool:
    """Return whether a value is of this tool."""
    return ("run_type" in value and "inputs" in value) or ("run_id" in value and "key" in value)


def exchanges(value: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[Exchange | Feedback]:
    """Yield the exchange of a root run with its feedback, or one feedback."""
    if "run_id" in value and "key" in value:
        yield _feedback(value, pick_name(value, "run_id"))
        return
    if value.get("parent_run_id"):
        return
    id = pick_name(value, "id")
    yield Exchange(
        id=id,
        prompt=value.get("inputs"),
        reply=_generations(value.get("outputs")),
        conversation=pick_conversation(value, *_METADATA),
        user=pick_name(value, "extra.metadata.user_id", "extra.metadata.user", "metadata.user_id"),
        start=pick(value, "start_time"),
        end=pick(value, "end_time"),
        system=pick_name(
            value, "extra.metadata.ls_model_name", "extra.invocation_params.model", "outputs.llm_output.model_name"
        ),
        failure=pick_name(value, "error"),
        facts={
            "cost": as_number(pick(value, "total_cost")),
            "input_tokens": pick(value, "prompt_tokens"),
            "output_tokens": pick(value, "completion_tokens"),
            "version": pick(value, "extra.metadata.revision_id", "extra.metadata.version"),
            "name": pick(value, "name"),
            "tags": ",".join(map(str, value.get("tags") or [])),
        },
    )
    for feedback in value.get("feedback") or []:
        yield _feedback(feedback, id)


def _generations(outputs: Any) -> Any:
    """Return the message of a model's run; the outputs of other runs are as the user's program has them."""
    generations = pick(outputs, "generations.0.0", "generations.0")
    return pick(generations, "message", "text") or outputs


def _feedback(feedback: Mapping[str, Any], of: str) -> Feedback:
    key, score, value = str(feedback.get("key")), feedback.get("score"), feedback.get("value")
    source = pick_name(feedback, "feedback_source.type") or "api"
    if source in ("model", "auto_eval"):
        return Feedback(of=of, facts=automatic({key: value if score is None else score}))
    texts = [value if isinstance(value, str) else None, pick(feedback, "comment"), pick(feedback, "correction")]
    rater = pick_name(feedback, "feedback_source.user_id", "feedback_source.metadata.user_id")
    role = OUTSIDER if source == "app" else INTERLOCUTOR
    return Feedback(
        of=of, rating=Rating(as_number(score), rater, key, role, comment="; ".join(str(each) for each in texts if each))
    )
