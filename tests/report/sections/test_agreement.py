"""The table of agreement with people."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from scipy.stats import spearmanr

from interloq import Sample, write
from interloq.agree.agreement import meta_evaluate
from interloq.metrics.metric import Array
from interloq.report.build import Evidence
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.report.text import interval, number
from tests.made_users import judged, scores
from tests.report.made_report import mean_rating, read_scores, values_of
from tests.report.parsed_html import parse, rendered, report


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
    judgments = {sample.key: mean_rating(sample) for sample in samples}
    page = rendered(Evidence(samples, read_scores(folder), judgments=judgments, table=table))
    shown = page.one("table", cls="agreement")
    assert [head.text for head in shown.one("thead").all("th")][1] == "mine"
    assert [value.text for value in shown.one("tbody", cls="rows").all("b")][1::2] == ["0.250"] * len(table.rows)


def corr(x: Array, y: Array) -> float:
    return 0.25


def test_the_split_between_and_within_users_is_shown_and_warned_about(folder: Path) -> None:
    rated, means, _ = judged()
    own = [replace(s, ratings=(replace(s.ratings[0], aspect="overall"),)) for s in rated]
    write("samples.jsonl", own, kind="samples")
    write("scores.jsonl", scores(own, {"learned": means}), kind="scores")
    report_file(["scores.jsonl"], "report.html", ReportOptions(samples="samples.jsonl", n_bootstrap=50))
    page = parse((folder / "report.html").read_text())
    split = page.one("table", cls="estimates").one("tbody").all("tr")[0]
    _, coefficient, _, between, *rest = [cell.text for cell in split.all("td")]
    assert coefficient == "Pearson r"
    assert between.startswith("1.000")
    assert rest == ["n/a", "n/a", "20 (0 averaged)"]
    warning = "learned orders users, not replies: it gives every reply to a user the same score"
    assert warning in [notice.text.strip() for notice in page.all("div", cls="notice")]
    assert "Between users and within them" in page.one(id="agreement").text


def test_the_heat_map_is_scipys_spearman(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    heat = page.one("table", cls="heat")
    assert [cell.text for cell in heat.one("thead").all("th")] == ["1", "2", "people"]
    lengths = values_of(read_scores(folder), "length")
    rho = spearmanr([lengths[s.id] for s in samples], [mean_rating(s) for s in samples]).statistic
    cells = [[cell.text for cell in row.all("td")] for row in heat.one("tbody").all("tr")]
    assert cells[1][2] == cells[2][1] == number(float(rho), 2)
    assert [cells[i][i] for i in range(3)] == ["1.00"] * 3
    shade = heat.one("tbody").all("tr")[1].all("td")[2].attributes["class"]
    assert shade == f"{'above' if rho >= 0 else 'below'}{abs(round(rho * 10))}"
