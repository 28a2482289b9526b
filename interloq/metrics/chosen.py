"""The metrics that a user asked for: specs, lists of specs, specs with a short label (`uBLEU=vbleu(…)`).

The label stays before the spec wherever a metric is named, in score files too, so a name tells all there is to know of
it: which metric it is, which way it counts, and that two labels are two metrics.
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
    """A metric and its label, empty where it has none."""

    label: str
    metric: Any

    @property
    def name(self) -> str:
        """What score files call it."""
        return f"{self.label}={title(self.metric)}" if self.label else title(self.metric)


def choose(texts: Iterable[str]) -> tuple[list[Chosen], list[str]]:
    """The metrics of some texts, each once, and a note on each that was given twice."""
    found: dict[str, Chosen] = {}
    notes = []
    for text in [part for given in texts for part in split_specs(given)]:
        chosen = _chosen(text)
        first = found.setdefault(chosen.label or chosen.name, chosen)
        if first.metric != chosen.metric:
            what = f"{spec(first.metric)} and {spec(chosen.metric)} are both"
            called = f"labelled {chosen.label!r}" if chosen.label else f"called {chosen.name}"
            raise SpecError(f"{what} {called}; give each a label of its own: -m LABEL=SPEC")
        if first is not chosen:
            notes.append(f"{text} is the same metric as one before it: scored once")
    return list(found.values()), notes


def _chosen(text: str) -> Chosen:
    label, written = split_label(text)
    metric = create(written, kind="metric")
    named = named_class(label, kind="metric") if label else None
    if named and named is not type(metric):
        raise SpecError(f"{label!r} is the name of another metric than {written!r}; choose another label")
    return Chosen(label, metric)
