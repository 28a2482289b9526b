# SPDX-License-Identifier: Apache-2.0
"""Comparisons as tables, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from interloq.compare.comparison import Change, Comparison, HumanMean
from interloq.metrics.metric_names import labels
from interloq.report.text import cut
from interloq.tabular import markdown_text
from interloq.terminal.console import interval, number, p_value, plain

SHOWN = 200  # characters of a text to read
LABELS_ALONE = "labels alone"


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
    """Yield the units that got worse most, to read."""
    for unit in comparison.worse:
        yield f"{unit.id}: {number(unit.old, 4)} → {number(unit.new, 4)} ({unit.metric})"
        for name, text in (("prompt", unit.prompt), ("old", unit.old_text), ("new", unit.new_text)):
            if text:
                yield f"  {name + ':':<8}{cut(text, SHOWN)}"


def comparison_markdown(comparison: Comparison) -> str:
    """Return the same as Markdown."""
    parts = list(map(markdown_table, comparison_tables(comparison)))
    if comparison.worse:
        lines = "\n".join(f"- {escaped(line)}" for line in worse_lines(comparison))
        parts.append(f"**Got worse most**\n\n{lines}")
    parts.append("\n".join(f"- note: {escaped(note)}" for note in comparison.notes))
    return "\n\n".join([*filter(None, parts), f"signature: `{comparison.signature.short}`"]) + "\n"


def markdown_table(table: Table) -> str:
    """Return a table as Markdown, with its title in bold."""
    rules = ["---", *["--:"] * (len(table.columns) - 1)]
    lines = [f"| {' | '.join(table.columns)} |", f"| {' | '.join(rules)} |"]
    for row in table.rows:
        cells = " | ".join(map(escaped, row))
        lines.append(f"| {cells} |")
    if table.title:
        lines = [f"**{escaped(table.title)}**", "", *lines]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return text on one line in which no character has a meaning in Markdown."""
    return markdown_text(plain(text))
