# SPDX-License-Identifier: Apache-2.0
"""Answers of an LLM judge: only what fits the schema counts, whatever else the text says."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

Schema = Mapping[str, Sequence[Any]]  # values allowed for each key, all of one type
LEAST = 0.5  # probability that possible answers must have together: below, the model wants to say something else
_FENCE = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL)


def response_format(schema: Schema) -> dict[str, Any]:
    """The schema as chat servers take it."""
    properties = {name: {"enum": list(allowed)} for name, allowed in schema.items()}
    shape = {"type": "object", "properties": properties, "required": list(schema), "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "judgment", "strict": True, "schema": shape}}


def read_object(text: str, schema: Schema) -> tuple[Any, ...] | str:
    """Values of a JSON object that fits the schema exactly, or what is wrong with it; a code fence is removed."""
    fenced = _FENCE.fullmatch(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return "the judgment is not JSON"
    if not isinstance(value, dict) or value.keys() != schema.keys():
        return "the judgment does not have the keys of the schema"
    for name, allowed in schema.items():
        if type(value[name]) is not type(allowed[0]) or value[name] not in allowed:
            return "the judgment has a value outside the schema"
    return tuple(value[name] for name in schema)


def read_choice(candidates: Sequence[tuple[str, float]], choices: Sequence[str]) -> tuple[float, ...] | str:
    """Probability of each choice as the first token, with or without spaces around it, or why it is not used."""
    probabilities = dict.fromkeys(choices, 0.0)
    for token, log_probability in candidates:
        if token.strip() in probabilities:
            probabilities[token.strip()] += math.exp(min(log_probability, 0.0))
    values = tuple(probabilities[choice] for choice in choices)
    if sum(values) >= LEAST:
        return values
    return f"possible answers have less than {LEAST} of the probability"  # also if one is NaN
