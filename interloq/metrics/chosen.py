# SPDX-License-Identifier: Apache-2.0
"""The metrics that a user chose: specs, lists of specs, specs with a short label (`uBLEU=vbleu(…)`), `@FILE`.

The label stays in front of the spec wherever a metric is named, also in score files, so the name identifies the metric,
its direction, and that two labels are two metrics. A function of a file, `my_metric.py:fn`, is loaded only if trusted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from interloq.data.files import read_json
from interloq.errors import InputError, SpecError
from interloq.metrics.function import is_file_metric, load_metric
from interloq.metrics.metric import Metric
from interloq.registry import create, named_class, spec, title
from interloq.spec_text import split_label, split_specs


@dataclass(frozen=True)
class Chosen:
    """A metric and its label, which may be empty."""

    label: str
    metric: Any

    @property
    def name(self) -> str:
        """Name in score files."""
        return f"{self.label}={title(self.metric)}" if self.label else title(self.metric)


def choose(given: Iterable[str | Metric], *, trust: bool = False) -> tuple[list[Chosen], list[str]]:
    """Distinct metrics from specs or metrics, and a note on each that was given twice.

    `trust` allows functions of files, which are executed.
    """
    found: dict[str, Chosen] = {}
    notes = []
    for one in [part for each in given for part in (_specs(each) if isinstance(each, str) else [each])]:
        chosen = _chosen(one, trust) if isinstance(one, str) else Chosen("", one)
        first = found.setdefault(chosen.label or chosen.name, chosen)
        if first.metric != chosen.metric:
            what = f"{spec(first.metric)} and {spec(chosen.metric)} are both"
            called = f"labelled {chosen.label!r}" if chosen.label else f"called {chosen.name}"
            raise SpecError(f"{what} {called}; give each its own label: LABEL=SPEC")
        if first is not chosen:
            notes.append(
                f"{one if isinstance(one, str) else spec(one)} is the same metric as an earlier one: scored once"
            )
    return list(found.values()), notes


def spec_files(given: Iterable[str | Metric]) -> list[str]:
    """The files named by `@FILE` among metrics."""
    return [part[1:] for each in given if isinstance(each, str) for part in split_specs(each) if part[:1] == "@"]


def file_metrics(given: Iterable[str | Metric]) -> list[str]:
    """The functions of files among metrics, `[LABEL=]FILE.py:NAME`."""
    parts = [part for each in given if isinstance(each, str) for part in split_specs(each)]
    return [part for part in parts if is_file_metric(split_label(part)[1])]


def _specs(text: str) -> list[str]:
    """Specs separated by commas; `@FILE` stands for those in a file written by `interloq choose`."""
    return [each for part in split_specs(text) for each in (_from_file(part[1:]) if part[:1] == "@" else [part])]


def _from_file(path: str) -> list[str]:
    hint = "make one: interloq choose RATED -o FILE"
    found = read_json(path, hint=hint).get("metrics")
    if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
        raise InputError("the file names no metrics", hint=hint, where=path)
    return found


def _chosen(text: str, trust: bool) -> Chosen:
    label, written = split_label(text)
    metric = load_metric(written, trust=trust) if is_file_metric(written) else create(written, kind="metric")
    named = named_class(label, kind="metric") if label else None
    if named and named is not type(metric):
        raise SpecError(f"{label!r} is the name of a metric other than {written!r}; choose another label")
    return Chosen(label, metric)
