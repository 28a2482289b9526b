# SPDX-License-Identifier: Apache-2.0
"""Comparisons and gates in the report: the verdict in words, tables, and the units that got worse side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interloq.compare.comparison import NOT_SHOWN, Change, Comparison, Worse
from interloq.compare.gate.gate import Gate, Outcome
from interloq.metrics.metric_names import labels
from interloq.report import text
from interloq.report.elements import Folded
from interloq.terminal.comparison_text import Table, comparison_tables
from interloq.terminal.gate_text import noise_table, verdict_table

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
class VerdictSection:
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


def decision(result: Comparison | Gate) -> VerdictSection:
    """Return the section on one comparison or gate."""
    tables: list[Table] = []
    if isinstance(result, Gate):
        compared = result.comparison
        tone, verdict, sentence, reasons = _gate(result)
        tables.append(verdict_table(result))
        if result.noise:
            tables.append(noise_table(result))
    else:
        compared = result
        tone, verdict, sentence, reasons = _comparison(result)
    if len(reasons) > SHOWN:
        reasons = [*reasons[:SHOWN], f"and {len(reasons) - SHOWN} more"]
    return VerdictSection(
        tone=tone,
        verdict=verdict,
        sentence=sentence,
        reasons=tuple(reasons),
        old=compared.old,
        new=compared.new,
        tables=(*tables, *comparison_tables(compared)),
        worse=tuple(_worse(unit, compared) for unit in compared.worse),
        unit=compared.unit,
        notes=compared.notes,
        signature=str(compared.signature),
    )


def _gate(gate: Gate) -> tuple[Tone, str, str, list[str]]:
    """Return tone, verdict, sentence, and the metrics and slices that decided it."""
    tone, title, sentence = GATES[gate.outcome]
    decisive = [verdict for verdict in gate.verdicts if verdict.outcome == gate.outcome]
    if gate.outcome != "regression":
        decisive = list(filter(gate.counts, decisive))
    reasons = [f"{verdict.name}: {verdict.reason}" for verdict in decisive]
    filled = sentence.format(old=gate.comparison.old, new=gate.comparison.new)
    return tone, title, f"{filled}.", reasons


def _comparison(comparison: Comparison) -> tuple[Tone, str, str, list[str]]:
    """Return tone, verdict, sentence, and the change by each metric."""
    old, new, changes = comparison.old, comparison.new, comparison.overall()
    short = labels([change.metric for change in changes])
    better = ", ".join(short[change.metric] for change in changes if change.verdict == "better")
    worse = ", ".join(short[change.metric] for change in changes if change.verdict == "worse")
    reasons = [_reason(change, short[change.metric]) for change in changes]
    if better and worse:
        return "open", "Mixed", f"compared with {old}, {new} is better by {better} and worse by {worse}.", reasons
    if better:
        return "good", "Better", f"{new} is better than {old} by {better}.", reasons
    if worse:
        return "bad", "Worse", f"{new} is worse than {old} by {worse}.", reasons
    sentence = f"the data do not show whether {new} is better or worse than {old}, or equal."
    return "open", "No significant difference", sentence, reasons


def _reason(change: Change, name: str) -> str:
    digits = 3 if abs(change.difference) < 10 else 2
    gap = f"{text.signed(change.difference, digits)} {text.interval(change.ci, digits)}".rstrip()
    if change.verdict != NOT_SHOWN:
        reason = f"{name}: {gap}, {change.verdict}"
        if change.verdict == "changed":
            reason += " (neither direction is better)"
        return reason
    reason = f"{name}: {gap}, not shown"
    low, high = change.ci or (0.0, 0.0)
    if change.p_adjusted is not None and (low > 0 or high < 0):  # significant only as a single test
        reason += f" after adjustment for all tests (p = {text.p_value(change.p_adjusted)})"
    size = text.number(change.detectable, digits)
    return f"{reason}; a true difference of {size} would be found with a probability of 80 %"


def _worse(unit: Worse, compared: Comparison) -> WorseCard:
    old = VersionText(compared.old, text.folded(unit.old_text), text.score(unit.old))
    new = VersionText(compared.new, text.folded(unit.new_text), text.score(unit.new))
    difference = text.signed(unit.new - unit.old)
    return WorseCard(unit.id, unit.metric, difference, text.folded(unit.prompt), (old, new))
