"""The heat map of metrics."""

from __future__ import annotations

from pathlib import Path

from scipy.stats import spearmanr

from interloq import Sample
from interloq.report.text import number
from tests.report.made_report import mean_rating, read_scores, values_of
from tests.report.parsed_html import parse, report


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
