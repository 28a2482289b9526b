"""Verdicts of a gate as a table, Markdown and JUnit XML."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from interloq.meta.gate import Gate
from interloq.report.comparison_text import Table, comparison_markdown, markdown_table
from interloq.report.console import interval, number

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def verdict_table(gate: Gate) -> Table:
    """One row per metric."""
    columns = ["metric", "verdict", "gain", "95 % interval", "margin", "in", "n", "needed"]
    rows = []
    for v in gate.verdicts:
        gain = [number(v.gain, 4), interval(v.ci, 4), f"{v.margin:g}", f"{v.scale}s"]
        needed = "" if v.outcome != "undecided" else f"{v.needed:,}" if v.needed else "too many"
        rows.append([v.metric, v.outcome, *gain, f"{v.n:,} {v.counted}s", needed])
    return Table(f"gate: {gate.outcome}", columns, rows)


def noise_table(gate: Gate) -> Table:
    """Where the variation of scores comes from, one row per metric."""
    columns = ["variance of", "prompts", "bot", "judge", "share of bot", "share of judge", "what helps most"]
    rows = []
    for n in gate.noise:
        shares = [f"{share:.0%}" for share in n.shares or ()]
        rows.append([n.metric, number(n.prompts, 4), number(n.bot, 4), number(n.judge, 4), *shares, n.advice])
    return Table("repeats: where the variation comes from", columns, rows)


def gate_markdown(gate: Gate) -> str:
    """Verdicts and the comparison as Markdown."""
    tables = [verdict_table(gate), *([noise_table(gate)] if gate.noise else [])]
    return "\n\n".join([*map(markdown_table, tables), comparison_markdown(gate.comparison)])


def gate_junit(gate: Gate) -> bytes:
    """Verdicts as JUnit XML: one test case per metric; a regression is a failure, an undecided metric an error."""
    outcomes = [verdict.outcome for verdict in gate.verdicts]
    suite = ET.Element(
        "testsuite",
        name="interloq gate",
        tests=str(len(outcomes)),
        failures=str(outcomes.count("regression")),
        errors=str(outcomes.count("undecided")),
    )
    for verdict in gate.verdicts:
        case = ET.SubElement(suite, "testcase", classname="interloq.gate", name=_xml(verdict.metric))
        text = _xml(verdict.reason)
        if verdict.outcome == "pass":
            ET.SubElement(case, "system-out").text = text
        else:
            kind = "failure" if verdict.outcome == "regression" else "error"
            ET.SubElement(case, kind, type=verdict.outcome, message=text).text = text
    data: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return data


def _xml(text: str) -> str:
    """Text with characters that XML cannot contain replaced."""
    return _NOT_XML.sub("\ufffd", text)
