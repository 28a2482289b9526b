# SPDX-License-Identifier: Apache-2.0
"""The metrics that a user chose: specs, lists of specs, specs with a short label (`uBLEU=vbleu(…)`), `@FILE`.

The label stays in front of the spec wherever a metric is named, even in score files, so the name identifies the metric
and its direction, and two labels are two metrics. A function in a file, `my_metric.py:fn`, is loaded only with trust,
and so is a metric written in a file if it does more than compute (see trust.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from interloq.data.files.opening import read_json
from interloq.errors import InputError, SpecError
from interloq.metrics.function import is_file_metric, load_metric
from interloq.metrics.metric import Metric, MetricLike, as_metric
from interloq.registry import Component, create, find_class, spec, title
from interloq.spec_text import split_label, split_specs
from interloq.trust import Trust, check_effects, check_trust

C = TypeVar("C", bound=Any)


@dataclass(frozen=True)
class Chosen:
    """A metric and its label, which may be empty."""

    label: str
    metric: Metric

    @property
    def name(self) -> str:
        """The name in score files."""
        name = title(self.metric)
        return f"{self.label}={name}" if self.label else name


def choose(
    given: Iterable[str | MetricLike], *, trust: Trust = None, where: str = ""
) -> tuple[list[Chosen], list[str]]:
    """Return distinct metrics from specs or metrics, and a note on each metric that was given twice.

    `trust` allows functions in files, which are executed, and metrics in files that do more than compute; it is called
    with what those metrics do. `where` is the file that the specs come from; it is empty if the user gave them.
    """
    distinct: dict[str, Chosen] = {}
    notes = []
    for metric, source in _with_sources(given, where):
        if isinstance(metric, str):
            written, chosen = metric, _load(metric, trust, source)
        else:
            written, chosen = spec(metric), Chosen("", as_metric(metric))
        first = distinct.setdefault(chosen.label or chosen.name, chosen)
        if first.metric != chosen.metric:
            what = f"{spec(first.metric)} and {spec(chosen.metric)} are both"
            called = f"labelled {chosen.label!r}" if chosen.label else f"called {chosen.name}"
            raise SpecError(f"{what} {called}; give each its own label: LABEL=SPEC")
        if first is not chosen:
            notes.append(f"{written} is the same metric as an earlier one: scored once")
    return list(distinct.values()), notes


def allow_any_language(component: C) -> C:
    """Return a metric, or a part of one, with the field `any_language` set wherever there is one."""
    changes: dict[str, object] = {}
    for field in fields(component) if is_dataclass(component) else ():
        value = getattr(component, field.name)
        if field.name == "any_language":
            changes[field.name] = True
        elif field.init and isinstance(value, Component):
            changes[field.name] = allow_any_language(value)
        elif field.init and isinstance(value, tuple) and any(isinstance(part, Component) for part in value):
            changes[field.name] = tuple(map(allow_any_language, value))
    return replace(component, **changes) if changes else component


def spec_files(given: Iterable[str | MetricLike]) -> list[str]:
    """Return the files named by `@FILE` among metrics."""
    return [part[1:] for part in _split_all(given) if part[:1] == "@"]


def file_metrics(given: Iterable[str | MetricLike]) -> list[str]:
    """Return the functions in files among metrics, `[LABEL=]FILE.py:NAME`."""
    return [part for part in _split_all(given) if is_file_metric(split_label(part)[1])]


def _split_all(given: Iterable[str | MetricLike]) -> Iterator[str]:
    """Yield each spec, label and `@FILE` among metrics."""
    for metric in given:
        if isinstance(metric, str):
            yield from split_specs(metric)


def refuse_functions(given: Iterable[str | MetricLike]) -> None:
    """Refuse functions in files where the chosen metric is stored: they have no spec."""
    if functions := file_metrics(given):
        what = f"{functions[0]} cannot be chosen: a function of a file has no spec to store"
        raise InputError(what, hint="score the samples with it and compare the scores: interloq meta")


def _with_sources(given: Iterable[str | MetricLike], where: str) -> Iterator[tuple[str | MetricLike, str]]:
    """Yield each spec or metric with its file; `@FILE` stands for the specs that `interloq choose` wrote to it."""
    for metric in given:
        if not isinstance(metric, str):
            yield metric, where
            continue
        for part in split_specs(metric):
            if part.startswith("@"):
                path = part[1:]
                hint = "make one: interloq choose RATED -o FILE"
                specs = read_json(path, hint=hint).get("metrics")
                if not isinstance(specs, list) or not specs or not all(isinstance(text, str) for text in specs):
                    raise InputError("the file names no metrics", hint=hint, where=path)
                for written in specs:
                    yield written, path
            else:
                yield part, where


def _load(text: str, trust: Trust, where: str) -> Chosen:
    label, written = split_label(text)
    if is_file_metric(written):
        if where:
            check_effects({label or written: f"executes {written.rpartition(':')[0]}"}, where, trust)
        metric = load_metric(written, trust=trust is not None)
    else:
        metric = create(written, kind="metric")
        if where:
            check_trust({label or written: metric}, where, trust)
    named = find_class(label, kind="metric") if label else None
    if named and named is not type(metric):
        raise SpecError(f"{label!r} is the name of a metric other than {written!r}; choose another label")
    return Chosen(label, metric)
