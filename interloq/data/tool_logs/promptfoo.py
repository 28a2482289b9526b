# SPDX-License-Identifier: Apache-2.0
"""Results of promptfoo (`promptfoo eval -o results.json` or `.jsonl`): a dialogue per test and provider.

Assertions are checked by programs, so their scores are facts; a verdict of a person in its pages is a rating. The test
is the dialogue's occasion, by which providers are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from interloq.data.tool_logs.exchange import Exchange, automatic, pick, pick_conversation, pick_name
from interloq.records import OUTSIDER, Rating

NAME = "promptfoo"
KEEPS = "prompts and outputs; conversation in the test's metadata; provider, latency, cost, tokens; assertions"
WITHIN = (("results", "results"), ("results",))


def matches(value: Mapping[str, Any]) -> bool:
    """Return whether a value is of this tool."""
    return "promptIdx" in value or ("gradingResult" in value and "provider" in value)


def exchanges(value: Mapping[str, Any], _: Mapping[str, Any]) -> Iterator[Exchange]:
    """Yield the exchange of one result."""
    grading = value.get("gradingResult") or {}
    ratings = []
    for component in pick(grading, "componentResults") or []:
        if pick(component, "assertion.type") == "human":
            comment = pick_name(grading, "comment") or pick_name(component, "comment")
            ratings.append(Rating(float(component["score"]), role=OUTSIDER, comment=comment))
    scores = {"pass": int(bool(value.get("success"))), "score": value.get("score"), **(value.get("namedScores") or {})}
    latency = value.get("latencyMs")
    place = [pick_name(value, name) for name in ("testIdx", "promptIdx")]
    provider = pick_name(value, "provider.label") or pick_name(value, "provider.id", "provider")
    has_output = "output" in (value.get("response") or {})  # then the error is of an assertion
    yield Exchange(
        id=pick_name(value, "id") or "/".join([provider, *place]),
        whole=True,
        prompt=pick(value, "prompt.raw"),
        reply=pick(value, "response.output"),
        conversation=pick_conversation(value, "testCase.metadata", "metadata"),
        system=provider,
        ratings=ratings,
        occasion=f"test {place[0]}" if place[0] else "",
        failure=pick_name(value, "response.error") or ("" if has_output else pick_name(value, "error")),
        facts={
            "latency": latency / 1000 if isinstance(latency, int | float) else None,
            "cost": pick(value, "cost"),
            "prompt_label": pick(value, "prompt.label"),
            "input_tokens": pick(value, "response.tokenUsage.prompt"),
            "output_tokens": pick(value, "response.tokenUsage.completion"),
            **automatic(scores),
        },
    )
