"""Survival curves in the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError
from interloq.rank.survival import Survival
from interloq.report.elements import Mark
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.report.sections.survival import survival_plot
from interloq.statistics.estimate import Estimate
from tests.made_dialogues import made_dialogues, write_dialogues

MARKS = {"a": Mark("a", 0, 0), "b": Mark("b", 1, 1)}


def test_curves_start_at_one_and_the_table_has_every_turn() -> None:
    long, short = (Estimate(0.5, 9, (0.4, 0.6)), Estimate(0.25, 9)), (Estimate(0.9, 9),)
    expected = Estimate(0.5, 9, (0.4, 0.6))
    found = survival_plot([Survival("a", long, expected, 1), Survival("b", short, expected, 1)], MARKS)
    assert found is not None
    assert [[dot.y for dot in line.dots] for line in found.lines] == [["14.0", "177.0", "258.5"], ["14.0", "46.6"]]
    assert found.rows == (("1", "0.500 [0.400, 0.600]", "0.900"), ("2", "0.250", "n/a"))
    assert found.caption.endswith("within 1 turn: a 0.50 [0.40, 0.60]; b 0.50 [0.40, 0.60].")
    assert survival_plot([], MARKS) is None


def test_the_report_draws_them(folder: Path) -> None:
    dialogues, scores = made_dialogues({"low": 0.5, "high": 0.9})
    likely = {"low": (0.4, 0.5), "high": (0.8, 0.9)}
    probable = [replace(score, value=likely[score.system][i % 3 > 0]) for i, score in enumerate(scores)]
    made, talks, samples = write_dialogues(folder, dialogues, probable)[:3]
    options = ReportOptions(samples=samples, dialogues=[talks], n_bootstrap=5)
    report = report_file([made], "report.html", replace(options, survival=True))
    assert report.page.rankings[0].survival is not None
    assert "--survival" in report.page.command
    page = (folder / "report.html").read_text()
    assert page.count("How long would people stay?") == 2  # title and label
    assert page.count('<polygon class="band') == 2
    plain = report_file([made], "plain.html", options)
    assert plain.page.rankings[0].survival is None
    with pytest.raises(InputError, match="survival curves need dialogues"):
        ReportOptions(samples=samples, survival=True)
