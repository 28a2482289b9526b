# SPDX-License-Identifier: Apache-2.0
"""Comparisons and gates in the report: the verdict in words, tables, and the units that got worse side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from interloq.meta.comparison import NOT_SHOWN, Change, Comparison, Worse
from interloq.meta.gate import Gate, Outcome
from interloq.metrics.metric_names import labels
from interloq.report import text
from interloq.report.comparison_text import Table, comparison_tables
from interloq.report.elements import Folded
from interloq.report.gate_text import noise_table, verdict_table

Tone = Literal["good", "bad", "open"]
SHOWN = 5  # reasons listed with a verdict
GATES: dict[Outcome, tuple[Tone, str, str]] = {
    "pass": ("good", "Pass", "{new} is not worse than {old} by more than the margin"),
    "regression": ("bad", "Regression", "{new} is worse than {old} by more than the margin"),
    "undecided": ("open", "Undecided", "it is open whether {new} is worse than {old} by more than the margin"),
}


@dataclass(frozen=True, slots=True)
class VersionText:
    """The text of one version, with its score."""

    version: str
    text: Folded
    score: str


@dataclass(frozen=True, slots=True)
class WorseCard:
    """A unit that got worse, with its old version beside it."""

    id: str
    metric: str
    difference: str
    prompt: Folded
    sides: tuple[VersionText, VersionText]  # old, new


@dataclass(frozen=True, slots=True)
class Decision:
    """A comparison or a gate: the verdict first, then its numbers."""

    tone: Tone
    verdict: str
    sentence: str
    reasons: tuple[str, ...]
    old: str
    new: str
    tables: tuple[Table, ...]
    worse: tuple[WorseCard, ...]
    unit: str
    notes: tuple[str, ...]
    signature: str


def decision(found: Comparison | Gate) -> Decision:
    """The section on one comparison or gate."""
    compared = found.comparison if isinstance(found, Gate) else found
    tone, verdict, sentence, reasons = _gate(found) if isinstance(found, Gate) else _comparison(found)
    gated = [verdict_table(found), *([noise_table(found)] if found.noise else [])] if isinstance(found, Gate) else []
    return Decision(
        tone=tone,
        verdict=verdict,
        sentence=sentence,
        reasons=tuple(reasons[:SHOWN] + ([f"and {len(reasons) - SHOWN} more"] if len(reasons) > SHOWN else [])),
        old=compared.old,
        new=compared.new,
        tables=(*gated, *comparison_tables(compared)),
        worse=tuple(_worse(unit, compared) for unit in compared.worse),
        unit=compared.unit,
        notes=compared.notes,
        signature=str(compared.signature),
    )


def _gate(found: Gate) -> tuple[Tone, str, str, list[str]]:
    """Tone, verdict, sentence, and the metrics and slices that decided it."""
    tone, verdict, sentence = GATES[found.outcome]
    same = [one for one in found.verdicts if one.outcome == found.outcome]
    decisive = same if found.outcome == "regression" else [one for one in same if found.counts(one)]
    filled = sentence.format(old=found.comparison.old, new=found.comparison.new)
    return tone, verdict, f"{filled}.", [f"{one.name}: {one.reason}" for one in decisive]


def _comparison(found: Comparison) -> tuple[Tone, str, str, list[str]]:
    """Tone, verdict, sentence, and the change by each metric."""
    changes = found.overall()
    short = labels([change.metric for change in changes])
    by = {verdict: [short[c.metric] for c in changes if c.verdict == verdict] for verdict in ("better", "worse")}
    parts = [f"{verdict} by {', '.join(metrics)}" for verdict, metrics in by.items() if metrics]
    reasons = [_reason(change, short[change.metric]) for change in changes]
    if len(parts) == 2:
        return "open", "Mixed", f"compared with {found.old}, {found.new} is {' and '.join(parts)}.", reasons
    if not parts:
        sentence = f"the data do not show whether {found.new} is better or worse than {found.old}, or equal."
        return "open", "No significant difference", sentence, reasons
    tone: Tone
    tone, verdict = ("good", "better") if by["better"] else ("bad", "worse")
    sentence = f"{found.new} is {verdict} than {found.old} by {', '.join(by[verdict])}."
    return tone, verdict.capitalize(), sentence, reasons


def _reason(change: Change, name: str) -> str:
    digits = 3 if abs(change.difference) < 10 else 2
    gap = f"{text.signed(change.difference, digits)} {text.interval(change.ci, digits)}".rstrip()
    if change.verdict != NOT_SHOWN:
        neither = " (neither direction is better)" if change.verdict == "changed" else ""
        return f"{name}: {gap}, {change.verdict}{neither}"
    low, high = change.ci or (0.0, 0.0)
    tested = change.p_adjusted is not None and (low > 0 or high < 0)
    only_alone = f" after adjustment for all tests (p = {text.p_value(change.p_adjusted)})" if tested else ""
    size = text.number(change.detectable, digits)
    found = f"a true difference of {size} would be found with a probability of 80 %"
    return f"{name}: {gap}, not shown{only_alone}; {found}"


def _worse(unit: Worse, compared: Comparison) -> WorseCard:
    texts: Sequence[tuple[str, str, float]] = (
        (compared.old, unit.old_text, unit.old),
        (compared.new, unit.new_text, unit.new),
    )
    old, new = (VersionText(version, text.folded(reply), text.score(score)) for version, reply, score in texts)
    difference = text.signed(unit.new - unit.old)
    return WorseCard(unit.id, unit.metric, difference, text.folded(unit.prompt), (old, new))
