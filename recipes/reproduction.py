"""The page docs/reproduction.md: every claim, table and figure of the papers, with what was measured."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from paper_items import FINDING, Paper, PaperItem
from results import Cell, Finding, Interval, Measured, PublishedTable, Verdict

from interloq.tabular import markdown_text

MISSING = "–"
INTRODUCTION = """\
# Reproduction

What the five papers claim, and what was measured on public data. `python recipes` measures it again and writes this
page.

The verdict on a claim follows from one rule. What is compared is a paired difference, or a correlation with 0, with its
95 % interval over independent units such as contexts, dialogues or users, never over the replies to one context.

- **holds**: the whole interval is above 0
- **does not hold**: the whole interval is below 0 or, if the paper published the difference, below half of it
- **cannot be told here**: anything else, for example because the data are private

"As good as" means not worse by more than the margin that the row gives: the interval is then compared with that margin
below 0. A correlation that must be above a figure is compared with it in place of 0. Each claim has a measurement that
was chosen to decide before its result was known; others are listed below the claims. The data differ from the papers',
most of which are private, so a claim that does not hold here may hold there. [The papers](papers.md) has every item by
number, and where Interloq has it.
"""


def write_page(papers: Sequence[Paper], measured: dict[str, Measured]) -> str:
    """Return the page."""
    findings = [finding for stage in measured.values() for finding in stage.findings]
    tables = [table for stage in measured.values() for table in stage.tables]
    parts = [INTRODUCTION, _summary(papers, findings, tables)]
    for paper in papers:
        parts.append(f"## {paper.title}")
        parts.append("### Claims")
        parts += _claims(paper, findings)
        parts.append("### Tables and figures")
        for label, item in paper.tables_and_figures().items():
            parts.append(_table_or_figure(label, item, [table for table in tables if table.item == item.name]))
    parts += ["## How it was measured", _stages(measured)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def claim_verdict(findings: Iterable[Finding]) -> Verdict:
    """Return the verdict on a claim: that of its deciding findings if they agree."""
    verdicts = {finding.verdict for finding in findings if finding.decides}
    return verdicts.pop() if len(verdicts) == 1 else "cannot be told here"


def _summary(papers: Sequence[Paper], findings: Sequence[Finding], tables: Sequence[PublishedTable]) -> str:
    columns = ["paper", "claims", "hold", "do not hold", "cannot be told here", "tables and figures", "with ours"]
    with_figures = {table.item for table in tables}
    rows = []
    for paper in papers:
        verdicts = Counter(claim_verdict(_about(item, findings)) for item in paper.claims())
        places = paper.tables_and_figures().values()
        counts = [
            len(paper.claims()),
            verdicts["holds"],
            verdicts["does not hold"],
            verdicts["cannot be told here"],
            len(places),
            sum(item.name in with_figures for item in places),
        ]
        rows.append([paper.title, *map(str, counts)])
    return _table(columns, rows)


def _about(item: PaperItem, findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.item == item.name]


def _claims(paper: Paper, findings: Sequence[Finding]) -> list[str]:
    """Return the table of claims, and that of the findings which do not decide."""
    claims: list[list[str]] = []
    other: list[list[str]] = []
    for item in paper.claims():
        about = _about(item, findings)
        verdict = f"**{claim_verdict(about)}**"
        deciding = [finding for finding in about if finding.decides]
        name = f"{item.number}. {item.text.removeprefix(FINDING)}"
        if len(deciding) == 1:
            claims.append([name, verdict, *_figures(deciding[0])])
        elif deciding:
            claims.append([name, verdict, "", "", "all of these:", ""])
            claims += [["", finding.verdict, *_figures(finding)] for finding in deciding]
        else:
            claims.append([name, verdict, MISSING, MISSING, item.reason, MISSING])
        other += [[item.number, finding.verdict, *_figures(finding)] for finding in about if not finding.decides]
    figures = ["measured", "published", "way", "data"]
    parts = [_table(["claim", "verdict", *figures], claims)]
    if other:
        parts.append(f"<details><summary>{len(other)} other measurements of these claims</summary>")
        parts += [_table(["claim", "verdict", *figures], other), "</details>"]
    return parts


def _figures(finding: Finding) -> list[str]:
    way = finding.way
    if finding.threshold < 0:
        way += f" (margin {_number(-finding.threshold)})"
    elif finding.threshold > 0:
        way += f" (above {_number(finding.threshold)})"
    if finding.note:
        way += f"; {finding.note}"
    data = f"{finding.data}, {finding.units:,} {finding.unit}" if finding.units else finding.data
    return [
        _with_interval(finding.value, finding.ci),
        _number(finding.published),
        markdown_text(way),
        markdown_text(data),
    ]


def _table_or_figure(label: str, item: PaperItem, tables: Sequence[PublishedTable]) -> str:
    kind = "Table" if label.startswith("T") else "Figure"
    heading = f"**{kind} {label[1:]}** ({item.number}): {item.text}. {item.where}"
    parts = [f"{heading}: {item.reason}." if item.reason else f"{heading}."]
    for table in tables:
        rows = [[markdown_text(name), *map(_cell, cells)] for name, cells in table.rows.items()]
        parts.append(f"{markdown_text(table.title)}; published / ours, on {markdown_text(table.data)}:")
        parts.append(_table(["", *map(markdown_text, table.columns)], rows))
        if table.note:
            parts.append(markdown_text(table.note))
    return "\n\n".join(parts)


def _cell(cell: Cell) -> str:
    if cell.published is None and cell.ours is None:
        return MISSING
    return f"{_number(cell.published)} / {_with_interval(cell.ours, cell.ci)}"


def _stages(measured: dict[str, Measured]) -> str:
    rows = []
    for name, stage in measured.items():
        minutes = f"{stage.seconds / 60:.0f}" if stage.seconds else MISSING  # 0: recorded before stages were timed
        rows.append([name, f"`{stage.command}`", stage.date, stage.machine, minutes])
    return _table(["stage", "command", "date", "machine", "minutes"], rows)


def _number(value: float | None) -> str:
    """Return three decimals below 1, without the 0 before the point, as papers print correlations; fewer above."""
    if value is None:
        return MISSING
    size = abs(value)
    if value == int(value):
        decimals = 0
    elif size < 1:
        decimals = 3
    else:
        decimals = max(0, 2 - int(math.log10(size)))
    shown = f"{value:,.{decimals}f}".replace("-", "−")
    return shown.replace("0.", ".", 1) if size < 1 else shown


def _with_interval(value: float | None, ci: Interval | None) -> str:
    return _number(value) if ci is None else f"{_number(value)} [{_number(ci[0])}, {_number(ci[1])}]"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
