# SPDX-License-Identifier: Apache-2.0
"""Comparisons and gates in the report: the verdict in words, tables, and the units that got worse side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interloq.compare.comparison import NOT_SHOWN, Change, Comparison
from interloq.compare.gate.gate import Gate, Outcome
from interloq.metrics.metric_names import labels
from interloq.report import text
from interloq.terminal.result_tables import Table, comparison_tables, noise_table, verdict_table

Tone = Literal["good", "bad", "open"]
SHOWN = 5  # reasons listed with a verdict
GATES: dict[Outcome, tuple[Tone, str, str]] = {
    "pass": ("good", "Pass", "{new} is not worse than {old} by more than the margin"),
    "regression": ("bad", "Regression", "{new} is worse than {old} by more than the margin"),
    "undecided": ("open", "Undecided", "it is open whether {new} is worse than {old} by more than the margin"),
}


@dataclass(frozen=True, slots=True)
class Decision:
    """A comparison or a gate: the verdict in words, then its numbers."""

    tone: Tone
    verdict: str
    sentence: str
    reasons: tuple[str, ...]
    tables: tuple[Table, ...]
    comparison: Comparison


def decision(result: Comparison | Gate) -> Decision:
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
    return Decision(
        tone=tone,
        verdict=verdict,
        sentence=sentence,
        reasons=tuple(reasons),
        tables=(*tables, *comparison_tables(compared)),
        comparison=compared,
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
    digits = text.digits(change.difference, 3)
    gap = f"{text.format_signed(change.difference, digits)} {text.interval(change.ci, digits)}".rstrip()
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
