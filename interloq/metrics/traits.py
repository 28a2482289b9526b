# SPDX-License-Identifier: Apache-2.0
"""What a metric does with its input, for checks on the data; found without loading a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from interloq.data.text.tokenize import Tokenizer
from interloq.errors import InterloqError
from interloq.metrics.function import FunctionMetric
from interloq.metrics.metric import Metric, MetricLike, as_metric
from interloq.registry import create, field_value, name_of, spec
from interloq.spec_text import split_label
from interloq.trust import side_effect


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
    refuses_language: bool = False  # leaves replies that are certainly in another one unscored
    case_advice: str = ""  # how to ignore case


def traits(metric: Metric) -> tuple[Traits, ...]:
    """Return the traits of a metric, or of each of its parts."""
    return tuple(_traits(part) for part in parts(metric))


def parts(metric: Metric) -> Iterator[Metric]:
    """Yield the parts of a combined metric; otherwise the metric itself."""
    inner = metric.inner_metrics()
    if not inner:
        yield metric
    for part in inner:
        yield from parts(part)


def reads_references(metric: MetricLike | str) -> bool | None:
    """Return whether a metric or the metric of a spec reads references; None if unknown, as for a function."""
    if isinstance(metric, str):
        try:
            metric = create(split_label(metric)[1], kind="metric")
        except InterloqError:
            return None
        if side_effect(metric):  # the spec may be from a file: nothing of it is called
            return None
    if isinstance(metric, FunctionMetric):
        return None
    return any(part.reads_references for part in traits(as_metric(metric)))


def _traits(metric: Metric) -> Traits:
    tokenizer: Tokenizer | None = field_value(metric, "tokenizer")
    lowercase, case_advice = field_value(metric, "lowercase"), "set lowercase=True"
    if lowercase is None:
        lowercase, case_advice = _tokenizer_case(tokenizer)
    return Traits(
        name=name_of(metric),
        tokenizer=tokenizer,
        reads_references=metric.reads_references,
        reads_weights=metric.reads_weights,
        case_sensitive=lowercase is False or (lowercase is None and tokenizer is not None),
        tokens_needed=metric.tokens_needed(),
        language=metric.language,
        refuses_language=field_value(metric, "any_language") is False,
        case_advice=case_advice,
    )


def _tokenizer_case(tokenizer: Tokenizer | None) -> tuple[bool | None, str]:
    """Return whether a tokenizer ignores case, None if it cannot say, and how to make it ignore case."""
    lowercase = None if tokenizer is None else field_value(tokenizer, "lowercase")
    if lowercase is None:
        return None, "write both in one case first"
    lowercasing: Any = replace(cast("Any", tokenizer), lowercase=True)
    return lowercase, f"set tokenizer={spec(lowercasing)!r}"
