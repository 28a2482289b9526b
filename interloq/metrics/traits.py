# SPDX-License-Identifier: Apache-2.0
"""What a metric does with its input, for checks on the data; found without loading a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from interloq.data.text.tokenize import Tokenizer
from interloq.errors import InterloqError
from interloq.metrics.function import FunctionMetric
from interloq.metrics.metric import NO_REFERENCES
from interloq.needs import SENTENCE_ENCODER
from interloq.records import Sample
from interloq.registry import create, name_of, spec
from interloq.spec_text import split_label
from interloq.trust import side_effect

_BARE = Sample("bare", ["a context"], "a reply")


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits of a metric, or of one part of a combined metric."""

    name: str
    tokenizer: Tokenizer | None
    reads_references: bool
    reads_weights: bool
    case_sensitive: bool
    tokens_needed: int  # a reply with fewer scores 0 whatever it says
    language: str = ""  # the only one its network knows
    case_advice: str = ""  # how to ignore case


def traits(metric: Any) -> tuple[Traits, ...]:
    """Traits of a metric, or of each of its parts."""
    return tuple(_traits(part) for part in parts(metric))


def parts(metric: Any) -> Iterator[Any]:
    """Parts of a combined metric; otherwise the metric itself."""
    inner: list[Any] = []
    for item in fields(metric):
        if item.metadata.get("kind") == "metric":
            value = getattr(metric, item.name)
            inner += value if isinstance(value, tuple) else (value,)
    if hasattr(metric, "metric"):
        inner.append(metric.metric())
    if not inner:
        yield metric
    for each in inner:
        yield from parts(each)


def reads_references(metric: Any) -> bool | None:
    """Return whether a metric or the metric of a spec reads references; None if it cannot be told, as of a function."""
    if isinstance(metric, str):
        try:
            metric = create(split_label(metric)[1], kind="metric")
        except InterloqError:
            return None
        if side_effect(metric):  # the spec may be from a file: nothing of it is called
            return None
    if isinstance(metric, FunctionMetric):
        return None
    return any(part.reads_references for part in traits(metric))


def _traits(metric: Any) -> Traits:
    tokenizer = getattr(metric, "tokenizer", None)
    lowercase = getattr(metric, "lowercase", getattr(tokenizer, "lowercase", None))
    return Traits(
        name=name_of(metric),
        tokenizer=tokenizer,
        reads_references=_reads_references(metric),
        reads_weights=bool(getattr(metric, "reads_weights", False)),
        case_sensitive=lowercase is False or (lowercase is None and tokenizer is not None),
        tokens_needed=metric.tokens_needed() if hasattr(metric, "tokens_needed") else 0,
        language=_language(metric),
        case_advice=_case_advice(metric, tokenizer),
    )


def _case_advice(metric: Any, tokenizer: Tokenizer | None) -> str:
    """Return which field makes a metric ignore case, and its value."""
    if hasattr(metric, "lowercase"):
        return "set lowercase=True"
    if tokenizer is not None and hasattr(tokenizer, "lowercase"):
        lowercasing: Any = replace(cast("Any", tokenizer), lowercase=True)
        return f"set tokenizer={spec(lowercasing)!r}"
    return "write both in one case first"


def _language(metric: Any) -> str:
    """Return the only language that the metric's network knows, as far as that is known."""
    if language := getattr(metric, "language", ""):
        return str(language)
    if SENTENCE_ENCODER in (getattr(metric, "model", ""), getattr(metric, "encoder", "")):
        return "English"
    return ""


def _reads_references(metric: Any) -> bool:
    if hasattr(metric, "reads_references"):
        return bool(metric.reads_references)
    return bool(metric.unscorable(_BARE) == NO_REFERENCES)
