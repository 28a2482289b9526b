# SPDX-License-Identifier: Apache-2.0
"""Results as tables: comparisons, gates and probes, for the terminal, for Markdown and as JUnit XML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from interloq.compare.comparison import Change, Comparison, HumanMean
from interloq.compare.gate.gate import Gate, Verdict
from interloq.errors import count
from interloq.metrics.metric_names import labels
from interloq.report.text import cut
from interloq.score.probe import Probe
from interloq.tabular import markdown_text
from interloq.terminal.console import MISSING, interval, number, p_value, plain

SHOWN = 200  # characters of a text to read
LABELS_ALONE = "labels alone"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts; the first column is a name."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def comparison_tables(comparison: Comparison) -> Iterator[Table]:
    """Yield the tables of a comparison: metrics, slices, people's ratings."""
    short = labels(list(dict.fromkeys(change.metric for change in comparison.changes)))
    plural = f"{comparison.unit}s"
    columns = ["metric", "old", "new", "difference", "95 % interval", "p", "p (holm)", "verdict", "detectable", plural]
    rows = [[short[c.metric], *_cells(c)] for c in comparison.overall()]
    yield Table(f"{comparison.old} → {comparison.new}", columns, rows)
    sliced = [change for change in comparison.changes if change.slice]
    if sliced:
        rows = [[f"{short[c.metric]}, {c.slice}", *_cells(c)] for c in sliced]
        title = "by slice"
        if any(change.exploratory for change in sliced):
            title += " (exploratory)"
        yield Table(title, ["metric, slice", *columns[1:]], rows)
    if comparison.people:
        columns = ["mean human rating", "from", "value", "95 % interval", "weight", "labels", "scored"]
        yield Table("", columns, [_human(h, short.get(h.metric, LABELS_ALONE)) for h in comparison.people])


def _cells(change: Change) -> list[str]:
    numbers = [number(change.old.value, 4), number(change.new.value, 4), number(change.difference, 4)]
    tests = [interval(change.ci, 4), p_value(change.p), p_value(change.p_adjusted), change.verdict]
    sizes = dict.fromkeys(map(str, (change.old.n, change.new.n)))
    return [*numbers, *tests, number(change.detectable, 4), " / ".join(sizes)]


def _human(mean: HumanMean, source: str) -> list[str]:
    weight = "" if mean.weight is None else number(mean.weight)
    scored = str(mean.scored) if mean.scored else ""
    return [mean.which, source, number(mean.value), interval(mean.ci), weight, str(mean.labels), scored]


def worse_lines(comparison: Comparison) -> Iterator[str]:
    """Yield lines that show the units that got worse the most."""
    for unit in comparison.worse:
        yield f"{unit.id}: {number(unit.old, 4)} → {number(unit.new, 4)} ({unit.metric})"
        for name, text in (("prompt", unit.prompt), ("old", unit.old_text), ("new", unit.new_text)):
            if text:
                yield f"  {name + ':':<8}{cut(text, SHOWN)}"


def comparison_markdown(comparison: Comparison) -> str:
    """Return the tables, the units that got worse the most and the notes as Markdown."""
    parts = list(map(markdown_table, comparison_tables(comparison)))
    if comparison.worse:
        lines = "\n".join(f"- {escape_markdown(line)}" for line in worse_lines(comparison))
        parts.append(f"**Got worse most**\n\n{lines}")
    parts.append("\n".join(f"- note: {escape_markdown(note)}" for note in comparison.notes))
    return "\n\n".join([*filter(None, parts), f"signature: `{comparison.signature.short}`"]) + "\n"


def markdown_table(table: Table) -> str:
    """Return a table as Markdown, with its title in bold."""
    rules = ["---", *["--:"] * (len(table.columns) - 1)]
    lines = [f"| {' | '.join(table.columns)} |", f"| {' | '.join(rules)} |"]
    for row in table.rows:
        cells = " | ".join(map(escape_markdown, row))
        lines.append(f"| {cells} |")
    if table.title:
        lines = [f"**{escape_markdown(table.title)}**", "", *lines]
    return "\n".join(lines)


def escape_markdown(text: str) -> str:
    """Return text on one line in which no character has a meaning in Markdown."""
    return markdown_text(plain(text))


def verdict_table(gate: Gate) -> Table:
    """Return the verdicts: one row per metric, then one per slice if slices are gated."""
    short = labels(list(dict.fromkeys(verdict.metric for verdict in gate.verdicts)))
    columns = ["metric", "verdict", "gain", "95 % interval", "margin", "in", "n", "needed"]
    rows = []
    for verdict in gate.verdicts:
        name = ", ".join(filter(None, (short[verdict.metric], verdict.slice)))
        ci = "" if math.isnan(verdict.ci[0]) else interval(verdict.ci, 4)
        gain = [number(verdict.gain, 4), ci, f"{verdict.margin:g}", f"{verdict.scale}s"]
        rows.append([name, verdict.outcome, *gain, count(verdict.n, verdict.counted), _format_needed(verdict)])
    return Table(f"gate: {gate.outcome}", columns, rows)


def reason_lines(gate: Gate) -> list[str]:
    """Return the reasons of all metrics, and of the slices that did not pass."""
    lines = []
    for verdict in gate.verdicts:
        if verdict.slice and verdict.outcome == "pass":
            continue
        lines.append(f"{verdict.name}: {verdict.outcome}: {verdict.reason}")
    return lines


def _format_needed(verdict: Verdict) -> str:
    if verdict.outcome != "undecided" or verdict.doubt or verdict.constant is not None:
        return ""
    if not verdict.needed:
        return "too many"
    return count(verdict.needed, verdict.needed_of)


def noise_table(gate: Gate) -> Table:
    """Return where the variation of scores comes from, one row per metric."""
    columns = ["variance of", "prompts", "bot", "judge", "share of bot", "share of judge", "what helps most"]
    rows = []
    for n in gate.noise:
        shares = [MISSING if math.isnan(share) else f"{share:.0%}" for share in n.shares or ()]
        rows.append([n.metric, number(n.prompts, 4), number(n.bot, 4), number(n.judge, 4), *shares, n.advice])
    return Table("repeats: where the variation comes from", columns, rows)


def gate_markdown(gate: Gate) -> str:
    """Return the verdicts and the comparison as Markdown."""
    parts = [markdown_table(verdict_table(gate))]
    if gate.noise:
        parts.append(markdown_table(noise_table(gate)))
    return "\n\n".join([*parts, comparison_markdown(gate.comparison)])


def gate_junit(gate: Gate) -> bytes:
    """Return the verdicts as JUnit XML: one test case per metric and gated slice.

    A regression is a failure. An undecided case is an error, or skipped if it does not count.
    """
    kinds = [_case(verdict, gate) for verdict in gate.verdicts]
    suite = ET.Element(
        "testsuite",
        name="interloq gate",
        tests=str(len(kinds)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
    )
    for verdict, kind in zip(gate.verdicts, kinds, strict=True):
        case = ET.SubElement(suite, "testcase", classname="interloq.gate", name=_xml(verdict.name))
        text = _xml(verdict.reason)
        if kind:
            ET.SubElement(case, kind, type=verdict.outcome, message=text).text = text
        else:
            ET.SubElement(case, "system-out").text = text
    data: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return data


def _case(verdict: Verdict, gate: Gate) -> str:
    """Return the element of a test case that did not pass; empty if it did."""
    if verdict.outcome == "pass":
        return ""
    if verdict.outcome == "regression":
        return "failure"
    return "error" if gate.counts(verdict) else "skipped"


def _xml(text: str) -> str:
    """Return text with characters that XML cannot contain replaced."""
    return _NOT_XML.sub("\ufffd", text)


def probe_table(probed: Probe) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows: the effect of each perturbation."""
    fell = "fell" if probed.direction == "neither" else "worse"
    rows = []
    for row in probed.rows:
        numbers = [number(row.change), interval(row.ci), number(row.worse, 2), str(row.n)]
        rows.append([row.perturbation, row.expected, *numbers, row.verdict])
    return ["reply", "expected", "change", "95 % interval", fell, "n", "verdict"], rows
