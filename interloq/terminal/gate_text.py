# SPDX-License-Identifier: Apache-2.0
"""Verdicts of a gate as a table, Markdown and JUnit XML."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

from interloq.compare.gate.gate import Gate, Verdict
from interloq.errors import count
from interloq.metrics.metric_names import labels
from interloq.terminal.comparison_text import Table, comparison_markdown, markdown_table
from interloq.terminal.console import interval, number

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def verdict_table(gate: Gate) -> Table:
    """One row per metric, then one per slice if slices are gated."""
    short = labels(list(dict.fromkeys(verdict.metric for verdict in gate.verdicts)))
    columns = ["metric", "verdict", "gain", "95 % interval", "margin", "in", "n", "needed"]
    rows = []
    for verdict in gate.verdicts:
        name = ", ".join(filter(None, (short[verdict.metric], verdict.slice)))
        ci = "" if math.isnan(verdict.ci[0]) else interval(verdict.ci, 4)
        gain = [number(verdict.gain, 4), ci, f"{verdict.margin:g}", f"{verdict.scale}s"]
        rows.append([name, verdict.outcome, *gain, count(verdict.n, verdict.counted), _needed(verdict)])
    return Table(f"gate: {gate.outcome}", columns, rows)


def reason_lines(gate: Gate) -> list[str]:
    """Return the reasons of all metrics, and of the slices that did not pass."""
    lines = []
    for verdict in gate.verdicts:
        if verdict.slice and verdict.outcome == "pass":
            continue
        lines.append(f"{verdict.name}: {verdict.outcome}: {verdict.reason}")
    return lines


def _needed(verdict: Verdict) -> str:
    if verdict.outcome != "undecided" or verdict.doubt or verdict.constant is not None:
        return ""
    return count(verdict.needed, verdict.needed_of) if verdict.needed else "too many"


def noise_table(gate: Gate) -> Table:
    """Return where the variation of scores comes from, one row per metric."""
    columns = ["variance of", "prompts", "bot", "judge", "share of bot", "share of judge", "what helps most"]
    rows = []
    for n in gate.noise:
        shares = ["n/a" if math.isnan(share) else f"{share:.0%}" for share in n.shares or ()]
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
