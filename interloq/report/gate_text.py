# SPDX-License-Identifier: Apache-2.0
"""Verdicts of a gate as a table, Markdown and JUnit XML."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

from interloq.errors import count
from interloq.meta.gate import Gate, Verdict
from interloq.metrics.metric_names import labels
from interloq.report.comparison_text import Table, comparison_markdown, markdown_table
from interloq.report.console import interval, number

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def verdict_table(gate: Gate) -> Table:
    """One row per metric, then one per slice if slices are gated."""
    short = labels(list(dict.fromkeys(v.metric for v in gate.verdicts)))
    columns = ["metric", "verdict", "gain", "95 % interval", "margin", "in", "n", "needed"]
    rows = []
    for v in gate.verdicts:
        known = None if math.isnan(v.ci[0]) else v.ci
        gain = [number(v.gain, 4), interval(known, 4), f"{v.margin:g}", f"{v.scale}s"]
        rows.append(
            [", ".join(filter(None, (short[v.metric], v.slice))), v.outcome, *gain, count(v.n, v.counted), _needed(v)]
        )
    return Table(f"gate: {gate.outcome}", columns, rows)


def reason_lines(gate: Gate) -> list[str]:
    """Reasons of all metrics, and of the slices that did not pass."""
    shown = [verdict for verdict in gate.verdicts if not verdict.slice or verdict.outcome != "pass"]
    return [f"{verdict.name}: {verdict.outcome}: {verdict.reason}" for verdict in shown]


def _needed(verdict: Verdict) -> str:
    if verdict.outcome != "undecided" or verdict.doubt or verdict.constant is not None:
        return ""
    return count(verdict.needed, verdict.needed_of) if verdict.needed else "too many"


def noise_table(gate: Gate) -> Table:
    """Where the variation of scores comes from, one row per metric."""
    columns = ["variance of", "prompts", "bot", "judge", "share of bot", "share of judge", "what helps most"]
    rows = []
    for n in gate.noise:
        shares = ["n/a" if math.isnan(share) else f"{share:.0%}" for share in n.shares or ()]
        rows.append([n.metric, number(n.prompts, 4), number(n.bot, 4), number(n.judge, 4), *shares, n.advice])
    return Table("repeats: where the variation comes from", columns, rows)


def gate_markdown(gate: Gate) -> str:
    """Verdicts and the comparison as Markdown."""
    tables = [verdict_table(gate), *([noise_table(gate)] if gate.noise else [])]
    return "\n\n".join([*map(markdown_table, tables), comparison_markdown(gate.comparison)])


def gate_junit(gate: Gate) -> bytes:
    """Verdicts as JUnit XML: one test case per metric and gated slice.

    A regression is a failure. An undecided case is an error, or skipped if it does not count.
    """
    kinds = [_case(verdict, gate) for verdict in gate.verdicts]
    counts = {kind: str(kinds.count(kind)) for kind in ("failure", "error", "skipped")}
    suite = ET.Element(
        "testsuite",
        name="interloq gate",
        tests=str(len(kinds)),
        failures=counts["failure"],
        errors=counts["error"],
        skipped=counts["skipped"],
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
    """The element of a test case that did not pass; empty if it did."""
    if verdict.outcome == "pass":
        return ""
    return "failure" if verdict.outcome == "regression" else "error" if gate.counts(verdict) else "skipped"


def _xml(text: str) -> str:
    """Text with characters that XML cannot contain replaced."""
    return _NOT_XML.sub("\ufffd", text)
