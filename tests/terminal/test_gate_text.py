"""Verdicts as tables, Markdown and XML."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

from interloq.compare.compare import compare
from interloq.compare.compare_options import Slices
from interloq.compare.gate.gate import gate
from interloq.compare.repeats import Noise
from interloq.terminal.gate_text import gate_junit, gate_markdown, noise_table, reason_lines, verdict_table
from tests.made_versions import drawn, version

FOUND = gate(compare(version("old", drawn()), version("new", drawn(seed=2)), slice_by=[]), 0.5)
(PASSED,) = FOUND.verdicts
UNDECIDED = replace(PASSED, metric="bleu\x00", outcome="undecided", needed=2000, needed_of="sample")
ALL = replace(
    FOUND,
    outcome="regression",
    verdicts=(PASSED, replace(PASSED, metric="nist", outcome="regression"), UNDECIDED),
    noise=(Noise("chrf", 1.0, 2.0, None, (1.0, 0.0), (0.75, 0.0)),),
)


def test_tables_have_one_row_per_metric() -> None:
    table = verdict_table(ALL)
    assert table.title == "gate: regression"
    assert [row[1] for row in table.rows] == ["pass", "regression", "undecided"]
    assert [row[-1] for row in table.rows] == ["", "", "2,000 samples"]
    assert verdict_table(replace(ALL, verdicts=(replace(UNDECIDED, needed=None),))).rows[0][-1] == "too many"
    assert noise_table(ALL).rows == [["chrf", "1.0000", "2.0000", "n/a", "75%", "0%", "more replies per prompt"]]


def test_markdown_starts_with_the_verdict() -> None:
    text = gate_markdown(ALL)
    assert text.startswith("**gate: regression**\n\n| metric | verdict |")
    assert "**repeats: where the variation comes from**" in text
    assert "**old → new**" in text
    assert "**repeats" not in gate_markdown(FOUND)


def test_xml_has_one_case_per_metric() -> None:
    suite = ET.fromstring(gate_junit(ALL))  # noqa: S314
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    passed, failed, undecided = suite
    assert [child.tag for child in passed] == ["system-out"]
    assert failed[0].tag == "failure"
    assert "worse by more than the margin" in (failed[0].text or "")
    assert (undecided.get("name"), undecided[0].tag) == ("bleu\ufffd", "error")
    assert "1,960 more samples" in (undecided[0].get("message") or "")


def test_slices_have_rows_and_cases_of_their_own() -> None:
    sliced = replace(ALL, verdicts=(PASSED, replace(UNDECIDED, metric="chrf", slice="topic: food")), outcome="pass")
    assert [row[0] for row in verdict_table(sliced).rows] == ["chrf", "chrf, topic: food"]
    passed = replace(PASSED, slice="topic: art")
    lines = reason_lines(replace(sliced, verdicts=(*sliced.verdicts, passed)))
    assert [line.partition(": gain")[0] for line in lines] == ["chrf: pass", "chrf, topic: food: undecided"]
    cases: list[tuple[Slices, str]] = [("no-regression", "skipped"), ("pass", "error")]
    for slices, element in cases:
        found = replace(sliced, slices=slices)
        suite = ET.fromstring(gate_junit(found))  # noqa: S314
        assert (suite[1].get("name"), suite[1][0].tag) == ("chrf, topic: food", element)
        assert (suite.get("errors"), suite.get("skipped")) == (("0", "1") if element == "skipped" else ("1", "0"))
        assert "chrf, topic: food" in gate_markdown(found)
