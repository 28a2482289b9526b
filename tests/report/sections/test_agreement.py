"""The table of agreement with people."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from interloq import Sample, write
from interloq.agree.agreement import meta_evaluate
from interloq.metrics.metric import Array
from interloq.report.elements import Name
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.report.sections.agreement import agreement
from interloq.report.text import interval, number
from tests.made_users import judged, scores
from tests.report.made_report import read_scores
from tests.report.parsed_html import parse, report


def test_the_agreement_table_shows_what_meta_evaluation_says(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    table = meta_evaluate(read_scores(folder), samples, n_bootstrap=50)
    rows = {row.metric: row for row in table.rows}
    shown = page.one("table", cls="agreement")
    for body_row in shown.one("tbody", cls="rows").all("tr"):
        row = rows[re.sub(r"^\d", "", body_row.one("code").text)]
        cells = body_row.all("span", cls="coefficient")
        for cell, coefficient in zip(cells, ("pearson", "spearman", "kendall"), strict=True):
            estimate = row.with_mean[coefficient]
            assert cell.one("b").text == number(estimate.value)
            assert cell.one("span", cls="ci").text == interval(estimate.ci)
    assert table.human is not None
    people = shown.one("tbody", cls="people").all("tr")
    assert people[1].all("b")[1].text == number(table.human.pairwise["spearman"].mean)
    assert number(table.human.alpha.value) in page.one(id="agreement").text
    comparisons = page.one("details", cls="comparisons").rows()
    assert len(comparisons) == len(table.comparisons) == 3
    assert page.one(id="agreement").all("code")[-1].text == str(table.signature)


def test_a_coefficient_of_your_own_is_shown(folder: Path, samples: list[Sample]) -> None:
    report(folder, samples)  # writes the score file
    table = meta_evaluate(read_scores(folder), samples, coefficients={"mine": corr}, n_bootstrap=0)
    names = {row.metric: Name(i, row.metric, ()) for i, row in enumerate(table.rows)}
    shown = agreement(table, names, "people")
    assert shown.columns == ("mine",)
    assert [cell.value for row in shown.rows for cell in row.cells] == ["0.250"] * len(table.rows)


def corr(x: Array, y: Array) -> float:
    return 0.25


def test_the_split_between_and_within_users_is_shown_and_warned_about(folder: Path) -> None:
    rated, means, _ = judged()
    own = [replace(s, ratings=(replace(s.ratings[0], aspect="overall"),)) for s in rated]
    write("samples.jsonl", own, kind="samples")
    write("scores.jsonl", scores(own, {"learned": means}), kind="scores")
    made = report_file(["scores.jsonl"], "report.html", ReportOptions(samples="samples.jsonl", n_bootstrap=50))
    assert made.page.agreement is not None
    pearson = made.page.agreement.users[0]
    assert (pearson.coefficient, pearson.users) == ("Pearson r", "20 (0 averaged)")
    assert [cell.value for cell in pearson.cells[1:]] == ["1.000", "n/a", "n/a"]
    page = parse((folder / "report.html").read_text())
    warning = "learned orders users, not replies: it gives every reply to a user the same score"
    assert warning in [notice.text.strip() for notice in page.all("div", cls="notice")]
    assert "Between users and within them" in page.one(id="agreement").text
