"""The metrics that a user chose: specs, lists of specs, specs with a short label (`uBLEU=vbleu(…)`).

The label stays in front of the spec wherever a metric is named, also in score files, so the name identifies the metric,
its direction, and that two labels are two metrics.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from interloq.errors import SpecError
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


def choose(texts: Iterable[str]) -> tuple[list[Chosen], list[str]]:
    """Distinct metrics from specs, and a note on each that was given twice."""
    found: dict[str, Chosen] = {}
    notes = []
    for text in [part for given in texts for part in split_specs(given)]:
        chosen = _chosen(text)
        first = found.setdefault(chosen.label or chosen.name, chosen)
        if first.metric != chosen.metric:
            what = f"{spec(first.metric)} and {spec(chosen.metric)} are both"
            called = f"labelled {chosen.label!r}" if chosen.label else f"called {chosen.name}"
            raise SpecError(f"{what} {called}; give each its own label: LABEL=SPEC")
        if first is not chosen:
            notes.append(f"{text} is the same metric as an earlier one: scored once")
    return list(found.values()), notes


def _chosen(text: str) -> Chosen:
    label, written = split_label(text)
    metric = create(written, kind="metric")
    named = named_class(label, kind="metric") if label else None
    if named and named is not type(metric):
        raise SpecError(f"{label!r} is the name of a metric other than {written!r}; choose another label")
    return Chosen(label, metric)
