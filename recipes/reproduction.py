"""docs/reproduction.md: every claim, table and figure of the papers, and one page per paper with all measurements."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from paper_items import FINDING, Paper, PaperItem
from results import Cell, Finding, Interval, Measured, PublishedTable, Verdict
from stages import STAGES

from interloq.tabular import markdown_text

MISSING = "–"
INTRODUCTION = """\
# Reproduction

What the five papers claim, and what was measured on public data. `python recipes` measures it again and writes this
page and one page per paper with all measurements and commands.

The verdict on a claim follows from one rule. What is compared is a paired difference, or a correlation with 0, with its
95 % interval over independent units such as contexts, dialogues or users, never over the replies to one context.

- **holds**: the whole interval is above 0
- **does not hold**: the whole interval is below 0 or, if the paper published the difference, below half of it
- **cannot be told here**: anything else, for example because the data are private

"As good as" means not worse by more than the margin that the row gives: the interval is then compared with that margin
below 0. A correlation that must be above a figure is compared with it in place of 0. A claim with several parts, or
several measurements that decide, holds if all of them hold, and does not hold if one of them does not.

Each recipe names the measurement that decides a claim. It was to be chosen before its result was known, and was changed
afterwards for two reasons, which the rows give: RUBER's own scorer turned out to know nothing about replies, so that
`relevance` stands in for it, and imitations of bots do not rank as the bots do, so that they do not decide whether
all-play-all beats self-play. The data differ from the papers', most of which are private, so a claim that does not hold
here may hold there. [The papers](papers.md) has every item by number, and where Interloq has it.
"""
PAGES = {  # of all measurements, by paper
    "000": "vbleu-2023",
    "001": "vbleu-2020",
    "002": "bipartite-2022",
    "003": "interlocutor-2024",
    "004": "ream-2021",
}
MEASURED_AS = ["verdict", "measured", "published", "what was compared", "data"]


def write_pages(papers: Sequence[Paper], measured: dict[str, Measured], name: str = "reproduction") -> dict[str, str]:
    """Return the texts of the page `name`.md and of the pages of all measurements, by their paths."""
    findings = list(dict.fromkeys(finding for stage in measured.values() for finding in stage.findings))
    tables = [table for stage in measured.values() for table in stage.tables]
    pages: dict[str, str] = {}
    parts = [INTRODUCTION, _summary(papers, findings, tables)]
    for paper in papers:
        link = f"{name}/{PAGES[paper.number]}.md"
        parts += [f"## {paper.title}", _claims(paper, findings)]
        parts.append(f"[All {_count(paper, findings)} measurements of these claims]({link}).")
        parts += _tables_and_figures(paper, tables, link)
        pages[link] = _all_measurements(paper, measured, findings, tables, f"../{name}.md")
    pages[f"{name}.md"] = _join(parts)
    return pages


def _join(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def claim_verdict(findings: Iterable[Finding]) -> Verdict:
    """Return the verdict on a claim: all of its deciding findings must hold, and one that does not is enough."""
    verdicts = {finding.verdict for finding in findings if finding.decides}
    if "does not hold" in verdicts:
        return "does not hold"
    return "holds" if verdicts == {"holds"} else "cannot be told here"


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
    """Return the findings about a claim, those that decide first."""
    about = [finding for finding in findings if finding.item == item.name]
    return sorted(about, key=lambda finding: not finding.decides)


def _count(paper: Paper, findings: Sequence[Finding]) -> int:
    return sum(len(_about(item, findings)) for item in paper.claims())


def _claims(paper: Paper, findings: Sequence[Finding]) -> str:
    """Return the table of claims, with the findings that decide."""
    rows: list[list[str]] = []
    for item in paper.claims():
        deciding = [finding for finding in _about(item, findings) if finding.decides]
        verdict = f"**{claim_verdict(deciding)}**"
        if deciding:
            verdict += item.reason.removeprefix(claim_verdict(deciding))  # what else there is to say
        name = _name(item)
        if len(deciding) == 1:
            rows.append([name, verdict, *_figures(deciding[0])])
        elif deciding:
            rows.append([name, verdict, "", "", "all of these:", ""])
            rows += [["", finding.verdict, *_figures(finding)] for finding in deciding]
        else:
            rows.append([name, verdict, MISSING, MISSING, item.reason, MISSING])
    return _table(["claim", *MEASURED_AS], rows)


def _name(item: PaperItem) -> str:
    return f"{item.number}. {item.text.removeprefix(FINDING)}"


def _tables_and_figures(paper: Paper, tables: Sequence[PublishedTable], link: str) -> list[str]:
    """Return a list of all tables and figures, and those of our tables that stand beside published figures."""
    rows: list[list[str]] = []
    shown: list[str] = []
    for label, item in paper.tables_and_figures().items():
        ours = [table for table in tables if table.item == item.name]
        beside = [table for table in ours if _has_published(table)]
        places = ["below"] if beside else []
        if len(ours) > len(beside):
            rest = "more" if beside else "on another page"
            places.append(f"[{len(ours) - len(beside)} {rest}]({link}#{_anchor(label)})")
        where = f"{item.where}: {item.reason}" if item.reason else item.where
        rows.append([f"{_title(label)} ({item.number})", item.text, ", ".join(places) or "no figures", where])
        shown += [_show_table(table, f"**{_title(label)}**, ") for table in beside]
    return [_table(["table or figure", "content", "ours", "where, and what differs"], rows), *shown]


def _has_published(table: PublishedTable) -> bool:
    """Return whether the paper prints numbers in at least a fourth of the places."""
    cells = [cell for row in table.rows.values() for cell in row]
    return 4 * sum(cell.published is not None for cell in cells) >= len(cells)


def _title(label: str) -> str:
    return f"{'Table' if label.startswith('T') else 'Figure'} {label[1:]}"


def _anchor(label: str) -> str:
    return _title(label).lower().replace(" ", "-")


def _all_measurements(
    paper: Paper,
    measured: dict[str, Measured],
    findings: Sequence[Finding],
    tables: Sequence[PublishedTable],
    main: str,
) -> str:
    """Return the page of one paper: every finding by claim, the tables that the main page leaves out, the commands."""
    parts = [
        f"# {paper.title}: all measurements",
        f"Everything behind the verdicts and tables in [Reproduction]({main}), which gives the rule. Verdicts in bold "
        "decide.",
    ]
    for item in paper.claims():
        rows = []
        for finding in _about(item, findings):
            verdict = f"**{finding.verdict}**" if finding.decides else finding.verdict
            rows.append([verdict, *_figures(finding)])
        parts += [f"## {_name(item)}", _table(MEASURED_AS, rows) if rows else item.reason]
    for label, item in paper.tables_and_figures().items():
        others = [table for table in tables if table.item == item.name and not _has_published(table)]
        if others:
            parts += [f"## {_title(label)}", f"{item.text[0].upper()}{item.text[1:]}.", *map(_show_table, others)]
    stages = {stage.name for stage in STAGES if paper.number in stage.papers}
    parts += ["## Commands", _stages({name: stage for name, stage in measured.items() if name in stages})]
    return _join(parts)


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


def _show_table(table: PublishedTable, place: str = "") -> str:
    both = any(cell.published is not None for cells in table.rows.values() for cell in cells)
    rows = [[markdown_text(name), *(_cell(cell, both=both) for cell in cells)] for name, cells in table.rows.items()]
    title = markdown_text(table.title)
    if place:
        title = title.removeprefix(f"{place.strip('*, ')}: ")
    parts = [f"{place}{title}; {'published / ours' if both else 'ours'}, on {markdown_text(table.data)}:"]
    parts.append(_table(["", *map(markdown_text, table.columns)], rows))
    if table.note:
        parts.append(markdown_text(table.note[0].upper() + table.note[1:]))
    return "\n\n".join(parts)


def _cell(cell: Cell, *, both: bool) -> str:
    if cell.published is None and cell.ours is None:
        return MISSING
    ours = _with_interval(cell.ours, cell.ci)
    return f"{_number(cell.published)} / {ours}" if both else ours


def _stages(measured: dict[str, Measured]) -> str:
    rows = []
    for name, stage in measured.items():
        minutes = f"{max(1, round(stage.seconds / 60))}" if stage.seconds else MISSING  # 0: before stages were timed
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
    shown = f"{round(value, decimals) + 0.0:,.{decimals}f}".replace("-", "−")  # + 0.0: no minus before 0
    return shown.replace("0.", ".", 1) if size < 1 else shown


def _with_interval(value: float | None, ci: Interval | None) -> str:
    return _number(value) if ci is None else f"{_number(value)} [{_number(ci[0])}, {_number(ci[1])}]"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
