# SPDX-License-Identifier: Apache-2.0
"""Result of choosing a metric, as plain values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from interloq.data.records.jsonl import to_json
from interloq.errors import count
from interloq.signature import Signature
from interloq.statistics.estimate import Estimate
from interloq.tabular import Row, Tabular, bounds

Kind = Literal["metric", "blend", "baseline"]
KIND = "metrics"  # of the file with the chosen metric
LABEL = "chosen"
ALPHA = 0.05
FAR = 100  # times the present number of samples, above which two candidates count as practically equal


@dataclass(frozen=True, slots=True)
class Candidate:
    """One metric, blend or baseline: its agreement with people on samples that it was not learned from."""

    name: str
    kind: Kind
    agreement: (
        Estimate  # Spearman's ρ over samples; a baseline's is positive, since its sign is chosen on these samples
    )
    over: Mapping[str, Estimate]  # baseline → how much higher the agreement is than the baseline's
    by_system: Estimate | None  # Spearman's ρ over systems; None for fewer than three
    p: float | None = None  # of the difference to the best candidate, adjusted; None for the best itself
    needed: int | None = None  # rated samples that would tell it from the best; None if over FAR times the present

    @property
    def as_good(self) -> bool:
        """Whether it cannot be distinguished from the best candidate."""
        return self.kind != "baseline" and (self.p is None or self.p > ALPHA)


@dataclass(frozen=True, slots=True, repr=False)
class Choice(Tabular):
    """Candidates sorted by agreement with people, the chosen one, and what choosing in this way is expected to give."""

    aspect: str
    rows: tuple[Candidate, ...]
    chosen: str  # name of a row
    spec: str  # that `interloq score` runs
    expected: Estimate  # agreement of a metric chosen in this way, on samples that it was not chosen on
    ceiling: Estimate | None  # √reliability of the mean judgment; None if no sample was judged twice
    samples: int  # rated samples, or dialogues, that all candidates scored
    contexts: int
    systems: int
    signature: Signature
    unit: str = "sample"
    excluded: Mapping[str, str] = field(default_factory=dict)  # metrics that are not candidates, and why
    notes: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()

    @property
    def best(self) -> Candidate:
        """Return the row of the chosen candidate."""
        return next(row for row in self.rows if row.name == self.chosen)

    def to_file(self) -> dict[str, Any]:
        """Return the contents of the file that `interloq score -m @FILE` reads."""
        facts = {"aspect": self.aspect, self.unit + "s": self.samples, "expected": self.expected.value}
        return {
            "kind": KIND,
            "schema": 1,
            "metrics": [f"{LABEL}={self.spec}"],
            **facts,
            "signature": to_json(self.signature),
        }

    def summary(self) -> list[str]:
        """Return what can be expected of the chosen metric, in sentences."""
        lines = [
            f"expected: a metric chosen in this way has ρ = {_figure(self.expected)} on contexts it was not chosen on "
            "(nested cross-validation); the figure of the chosen one itself may be optimistic"
        ]
        if self.expected.ci and self.expected.ci[0] <= 0:
            lines.append(f"warning: agreement with people is not shown: rate more {self.unit}s, or try other metrics")
        for name, margin in self.best.over.items():
            if margin.ci and margin.ci[0] <= 0:
                lines.append(f"warning: the chosen metric is not shown to agree better than {name} alone")
        limit = "unknown: no sample was judged twice"
        if self.ceiling and self.ceiling.note:
            limit = f"unknown: {self.ceiling.note}"
        elif self.ceiling:
            limit = f"{self.ceiling.value:.3f}"
        return [*lines, f"ceiling set by the raters' reliability (√reliability): {limit}"]

    def _title(self) -> str:
        return f"agreement with {self.aspect!r} by people, {count(self.samples, 'rated ' + self.unit)}"

    def _table_rows(self) -> list[Row]:
        """Return one row per candidate."""
        rows: list[Row] = []
        unknown = Estimate(math.nan, 0)
        for row in self.rows:
            facts: dict[str, object] = {"candidate": row.name, "kind": row.kind, "agreement": row.agreement.value}
            facts |= bounds(row.agreement.ci)
            for name in self.best.over:
                facts[f"over_{name}"] = row.over.get(name, unknown).value
            facts |= {"by_system": (row.by_system or unknown).value, "p": row.p, "needed": row.needed}
            rows.append(facts)
        return rows


def paper(choice: Choice) -> str:
    """Return a short text for a paper."""
    best, others = choice.best, [row for row in choice.rows if row.kind != "baseline"]
    kinds = Counter(row.kind for row in others)
    compared = count(kinds["metric"], "metric")
    if kinds["blend"]:
        compared += f" and {count(kinds['blend'], 'blend')} of them"
    group = [row.name for row in others if row.as_good and row.name != choice.chosen]
    parts = [
        f"We compared {compared} with human judgments ({choice.aspect}) of "
        f"{count(choice.samples, choice.unit)} in {count(choice.contexts, 'context')}. "
        f"We chose {best.name} (Spearman's ρ = {_figure(best.agreement)})."
    ]
    if kinds["blend"]:
        parts.append("Blends are tested on contexts that they were not learned from.")
    if group:
        verb = "is" if len(group) == 1 else "are"
        parts.append(f"{', '.join(group)} {verb} not distinguishable from it (permutation tests, Holm, α = {ALPHA:g}).")
    parts += [f"Its margin over {name} is {_figure(margin, '+')}." for name, margin in best.over.items()]
    if len(others) > 1:
        parts.append(
            f"Because the best of several is chosen on the same {choice.unit}s, its own figure may be optimistic: "
            f"choosing in this way on other contexts (nested cross-validation) gives ρ = {_figure(choice.expected)}."
        )
    if choice.ceiling and not math.isnan(choice.ceiling.value):
        parts.append(f"The raters' reliability limits any metric to about {choice.ceiling.value:.2f}.")
    return " ".join(parts)


def _figure(estimate: Estimate, sign: str = "") -> str:
    figure = f"{estimate.value:{sign}.2f}"
    if estimate.ci:
        figure += f", 95 % interval [{estimate.ci[0]:.2f}, {estimate.ci[1]:.2f}]"
    return figure
