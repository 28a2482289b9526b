from __future__ import annotations

import math
from pathlib import Path

import pytest

from interloq import write
from interloq.reliability.curve import AgreementCurve, AgreementPoint
from interloq.reliability.curve_file import curve_file
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.report.sections.reference_curves import reference_curve
from interloq.score.score_file import score_file
from tests.reliability.made_queries import rated_samples

NONE = (math.nan, math.nan)


def point(level: str, size: int, foreign: int, value: float) -> AgreementPoint:
    return AgreementPoint(level, size, foreign, value, (value - 0.1, value + 0.1), 0.0, NONE, 9)  # type: ignore[arg-type]


def curve(*points: AgreementPoint) -> AgreementCurve:
    return AgreementCurve("bleu_star", "kendall", points, 9, 36, {})


def test_both_arms_are_drawn_and_both_levels_listed() -> None:
    made = reference_curve(
        curve(point("query", 1, 0, 0.1), point("query", 2, 0, 0.3), point("query", 2, 1, 0.0), point("all", 2, 0, 0.2))
    )
    assert [dot.title for dot in made.clean] == [
        "1 reference: 0.100 [0.000, 0.200]", "2 references: 0.300 [0.200, 0.400]",
    ]  # fmt: skip
    assert [dot.title for dot in made.noisy][1:] == [
        "2 references, 1 of them of other queries: 0.000 [\N{MINUS SIGN}0.100, 0.100]"
    ]
    assert made.clean[0].y > made.clean[1].y  # pictures count downwards
    assert [tick.label for tick in made.x_ticks] == ["1", "2"]
    assert [row[:2] for row in made.rows] == [("1", "0"), ("2", "0"), ("2", "1")]
    assert made.rows[1][2:] == ("0.300 [0.200, 0.400]", "0.200 [0.100, 0.300]")
    assert made.rows[0][3] == "n/a"
    assert made.y_title == "Kendall, mean over queries"


def test_undefined_points_are_not_drawn_and_one_arm_is_enough() -> None:
    made = reference_curve(curve(point("query", 3, 0, math.nan)))
    assert (made.clean, made.noisy) == ((), ())
    assert "n/a" in made.rows[0][2]


def test_the_report_draws_curves(folder: Path) -> None:
    write("samples.jsonl", rated_samples(8, references=4), kind="samples")
    score_file("samples.jsonl", ["length"], "scores.jsonl", n_bootstrap=0)
    curve_file("samples.jsonl", ["bleu_star", "rouge_l"], "curves.jsonl", sizes=[1, 2, 4], own=2, n_bootstrap=5)
    made = report_file(
        ["scores.jsonl"], "report.html", ReportOptions(samples="samples.jsonl", curves=["curves.jsonl"], n_bootstrap=0)
    )
    assert [found.metric for found in made.page.reference_curves] == ["bleu_star", "rouge_l"]
    page = (folder / "report.html").read_text()
    assert page.count("then those of other queries") == 2
    assert '<a href="#references">References</a>' in page
    assert "--curve curves.jsonl" in made.page.command
    assert "curves.jsonl" in [source.name for source in made.page.sources]


@pytest.mark.parametrize("sizes", [[2], [1, 2, 3]])
def test_without_foreign_references_there_is_one_line(folder: Path, sizes: list[int]) -> None:
    write("samples.jsonl", rated_samples(8, references=4), kind="samples")
    (found,) = curve_file("samples.jsonl", ["bleu_star"], sizes=sizes, n_bootstrap=5)
    made = reference_curve(found)
    assert len(made.clean) == len(sizes)
    assert made.noisy == ()
