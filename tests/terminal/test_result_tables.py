"""Comparisons, gates and probes as tables, Markdown and XML."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from interloq.compare.compare import compare
from interloq.compare.compare_options import Slices
from interloq.compare.gate.gate import gate
from interloq.compare.repeats import Noise
from interloq.score.perturb import PERTURBATIONS
from interloq.score.probe import probe
from interloq.terminal.result_tables import (
    comparison_markdown,
    comparison_tables,
    escape_markdown,
    gate_junit,
    gate_markdown,
    noise_table,
    probe_table,
    reason_lines,
    verdict_table,
    worse_lines,
)
from tests.made_versions import drawn, version

COMPARED = compare(
    version("june", drawn(), topics=["food", "films"], ratings=[3.0] * 9),
    version("july", drawn(0.2, seed=2), topics=["food", "films"], ratings=[4.0] * 9),
    slice_by=["topic"],
)
GATED = gate(compare(version("old", drawn()), version("new", drawn(seed=2)), slice_by=[]), 0.5)
(PASSED,) = GATED.verdicts
UNDECIDED = replace(PASSED, metric="bleu\x00", outcome="undecided", needed=2000, needed_of="sample")
ALL = replace(
    GATED,
    outcome="regression",
    verdicts=(PASSED, replace(PASSED, metric="nist", outcome="regression"), UNDECIDED),
    noise=(Noise("chrf", 1.0, 2.0, None, (1.0, 0.0), (0.75, 0.0)),),
)


def test_tables_of_metrics_slices_and_people() -> None:
    metrics, sliced, people = comparison_tables(COMPARED)
    assert metrics.title == "june → july"
    assert metrics.rows[0][0] == "chrf"
    assert metrics.rows[0][7] == "better"
    assert metrics.rows[0][-1] == "40"
    assert [row[0] for row in sliced.rows] == ["chrf, topic: films", "chrf, topic: food"]
    assert [row[:2] for row in people.rows[:3]] == [[w, "labels alone"] for w in ("old", "new", "difference")]
    assert people.rows[3][:2] == ["old", "chrf"]
    for table in (metrics, sliced, people):
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_units_that_got_worse_are_shown_with_their_texts() -> None:
    worse = replace(COMPARED, worse=compare(version("a", [2.0, 1.0]), version("b", [1.0, 1.0])).worse)
    assert list(worse_lines(worse)) == [
        "0: 2.0000 → 1.0000 (chrf)",
        "  prompt: prompt 0",
        "  old:    a 0",
        "  new:    b 0",
    ]
    assert "**Got worse most**\n\n- 0: 2.0000 → 1.0000 (chrf)" in comparison_markdown(worse)


def test_markdown_has_the_same_numbers_and_no_markup_of_others() -> None:
    text = comparison_markdown(replace(COMPARED, old="<b>|x|</b>"))
    assert text.startswith(r"**\<b\>\|x\|\</b\> → july**" + "\n\n| metric | old | new |")
    assert "| --- | --: |" in text
    assert next(iter(comparison_tables(COMPARED))).rows[0][3] in text
    assert "- note: 40 samples paired by id" in text
    assert text.endswith(f"signature: `{COMPARED.signature.short}`\n")
    assert escape_markdown("a\nb `c`\x1b[2J") == r"a b \`c\`\\x1b[2J"


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
    assert "**repeats" not in gate_markdown(GATED)


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


@pytest.mark.parametrize(("metric", "fell"), [("chrf", "worse"), ("length", "fell")])
def test_one_row_per_perturbation(metric: str, fell: str) -> None:
    columns, rows = probe_table(probe(metric, n_bootstrap=0))
    assert columns == ["reply", "expected", "change", "95 % interval", fell, "n", "verdict"]
    assert [row[:2] for row in rows] == [[p.name, p.expected] for p in PERTURBATIONS]
    assert all(len(row) == len(columns) for row in rows)
