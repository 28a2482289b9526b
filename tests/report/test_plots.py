"""Curves in the report: survival, predicted replies, and agreement by number of references."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from interloq import InputError, write
from interloq.agree.continuity import evaluate_continuity
from interloq.agree.continuity_table import ContinuityTable
from interloq.data.records.jsonl import to_json
from interloq.rank.survival import Survival
from interloq.reliability.curve import AgreementCurve, AgreementPoint
from interloq.reliability.curve_file import curve_file
from interloq.reliability.reliability_options import CurveOptions
from interloq.report.build import Evidence
from interloq.report.marks import Mark
from interloq.report.plots import AxisScale, LinePlot, continuity_plot, line_plot, scale, survival_plot, whole_scale
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from interloq.statistics.estimate import Estimate
from tests.made_continuity import informed, part
from tests.made_dialogues import made_dialogues, write_dialogues
from tests.reliability.made_queries import rated_samples
from tests.report.parsed_html import Element, parse, rendered

NONE = (math.nan, math.nan)


def point(level: str, size: int, foreign: int, value: float) -> AgreementPoint:
    return AgreementPoint(level, size, foreign, value, (value - 0.1, value + 0.1), 0.0, NONE, 9)  # type: ignore[arg-type]


def curve(*points: AgreementPoint) -> AgreementCurve:
    return AgreementCurve("bleu_star", "kendall", points, 9, 36, {})


def figure(*points: AgreementPoint) -> Element:
    return rendered(Evidence([], [], curves=[curve(*points)])).one("section", id="references").one("figure")


def numbers(figure: Element) -> list[list[str]]:
    return [[cell.text for cell in row.all("td")] for row in figure.one("tbody").all("tr")]


def titles(figure: Element, line: str) -> list[str]:
    return [title.text for group in figure.all("g", cls=line) for title in group.all("title")]


def test_both_arms_are_drawn_and_both_levels_listed() -> None:
    made = figure(
        point("query", 1, 0, 0.1), point("query", 2, 0, 0.3), point("query", 2, 1, 0.0), point("all", 2, 0, 0.2)
    )
    assert titles(made, "dev") == ["1 reference: 0.100 [0.000, 0.200]", "2 references: 0.300 [0.200, 0.400]"]
    assert titles(made, "train")[1:] == ["2 references, 1 of them of other queries: 0.000 [\N{MINUS SIGN}0.100, 0.100]"]
    first, second = made.one("g", cls="dev").all("use")
    assert float(first.attributes["y"]) > float(second.attributes["y"])  # pictures count downwards
    axis = made.one("g", cls="axis").all("text")
    assert [text.text for text in axis if text.attributes["text-anchor"] == "middle"][:2] == ["1", "2"]
    assert axis[-1].text == "Kendall, mean over queries"
    assert [row[:2] for row in numbers(made)] == [["1", "0"], ["2", "0"], ["2", "1"]]
    assert numbers(made)[1][2:] == ["0.300 [0.200, 0.400]", "0.200 [0.100, 0.300]"]
    assert numbers(made)[0][3] == "n/a"


def test_undefined_points_are_not_drawn_and_one_arm_is_enough() -> None:
    made = figure(point("query", 3, 0, math.nan))
    assert not made.all("use")[1:]  # only the key
    assert "n/a" in numbers(made)[0][2]


def test_the_report_draws_curves(folder: Path) -> None:
    write("samples.jsonl", rated_samples(8, references=4), kind="samples")
    score_file("samples.jsonl", ["length"], "scores.jsonl", ScoreOptions(n_bootstrap=0))
    curve_file(
        "samples.jsonl", ["bleu_star", "rouge_l"], "curves.jsonl", CurveOptions(sizes=[1, 2, 4], own=2, n_bootstrap=5)
    )
    options = ReportOptions(samples="samples.jsonl", curves=["curves.jsonl"], n_bootstrap=0)
    made = report_file(["scores.jsonl"], "report.html", options)
    assert [found.metric for found in made.page.curves] == ["bleu_star", "rouge_l"]
    page = (folder / "report.html").read_text()
    assert page.count("then those of other queries") == 2
    assert '<a href="#references">References</a>' in page
    assert "--curve curves.jsonl" in made.page.command
    assert "curves.jsonl" in [source.name for source in made.page.sources]


@pytest.mark.parametrize("sizes", [[2], [1, 2, 3]])
def test_without_foreign_references_there_is_one_line(folder: Path, sizes: list[int]) -> None:
    write("samples.jsonl", rated_samples(8, references=4), kind="samples")
    (found,) = curve_file("samples.jsonl", ["bleu_star"], options=CurveOptions(sizes=sizes, n_bootstrap=5))
    made = figure(*found.points)
    assert len(titles(made, "dev")) == len(sizes)
    assert titles(made, "train") == []


TEST = part("t", 40, seed=2)


def table(groups: int = 2) -> ContinuityTable:
    dev = part("d", 40, seed=1)
    scores = [*informed(TEST, "mine=dcp(model='x')"), *informed(dev, "mine=dcp(model='x')")]
    return evaluate_continuity(scores, TEST, train=part("a", 200), dev=dev, groups=groups, n_bootstrap=10)


def test_every_row_is_shown_and_one_line_per_metric_drawn() -> None:
    given = table()
    section = rendered(Evidence([], [], continuity=[given])).one("section", id="continuity")
    heads, *rows = [[cell.text for cell in row.children if isinstance(cell, Element)] for row in section.all("tr")]
    assert heads[2:-1] == ["Accuracy", "Macro-F1", "AUC", "ECE", "Brier"]
    assert [row[0] for row in rows][2:4] == ["mine", "mine"]
    assert rows[2][2].startswith(f"{given.rows[2].measures['accuracy'].value:.3f}")
    assert [figure.one("figcaption").one("b").text for figure in section.all("figure")] == [
        "Accuracy by training size", "Macro-F1 by training size", "AUC by training size",
    ]  # fmt: skip
    assert [len(numbers(figure)) for figure in section.all("figure")] == [len(given.rows)] * 3
    lines = continuity_plot(given.with_labels(), "macro_f1").lines
    assert [mark.system for mark in lines] == [
        "global_majority, half", "mine, half", "private_majority, half", "turn_index, half",
    ]  # fmt: skip
    assert all(len(points) == len(given.groups) for points in lines.values())


def test_one_group_is_not_drawn() -> None:
    assert not rendered(Evidence([], [], continuity=[table(groups=1)])).all("figure")


def test_the_report_shows_a_table_that_meta_printed(folder: Path) -> None:
    (folder / "replies.json").write_bytes(orjson.dumps(to_json(asdict(table()))))
    write("test.jsonl", TEST, kind="samples")
    write("scores.jsonl", informed(TEST), kind="scores")
    options = ReportOptions(samples="test.jsonl", continuity=["replies.json"], aspect="continued", n_bootstrap=0)
    made = report_file(["scores.jsonl"], "report.html", options)
    assert made.page.continuity == (table().with_labels(),)
    assert "--continuity replies.json" in made.page.command
    page = (folder / "report.html").read_text()
    assert '<a href="#continuity">Predicted replies</a>' in page
    assert "<code>private_majority</code>" in page


MARKS = {"a": Mark("a", 0, 0), "b": Mark("b", 1, 1)}


def test_curves_start_at_one_and_the_table_has_every_turn() -> None:
    long, short = (Estimate(0.5, 9, (0.4, 0.6)), Estimate(0.25, 9)), (Estimate(0.9, 9),)
    expected = Estimate(0.5, 9, (0.4, 0.6))
    made = survival_plot([Survival("a", long, expected, 1), Survival("b", short, expected, 1)], MARKS)
    heights = [[made.picture.at_y(y) for _, y, _ in points] for points in made.lines.values()]
    assert heights == [["14.0", "177.0", "258.5"], ["14.0", "46.6"]]


def test_the_report_draws_survival(folder: Path) -> None:
    dialogues, scores = made_dialogues({"low": 0.5, "high": 0.9})
    likely = {"low": (0.4, 0.5), "high": (0.8, 0.9)}
    probable = [replace(score, value=likely[score.system][i % 3 > 0]) for i, score in enumerate(scores)]
    made, talks, samples = write_dialogues(folder, dialogues, probable)[:3]
    options = ReportOptions(samples=samples, dialogues=[talks], n_bootstrap=5)
    report = report_file([made], "report.html", replace(options, survival=True))
    low, high = report.page.rankings[0].survival
    assert "--survival" in report.page.command
    figure = parse((folder / "report.html").read_text()).one("div", cls="survival").one("figure")
    assert figure.one("b").text == "How long would people stay?"
    assert len(figure.all("polygon", cls="band")) == 2
    assert f"within 2 turns: {low.system} {low.expected.value:.2f} [" in figure.one("figcaption").text
    assert len(numbers(figure)) == max(len(low.turns), len(high.turns))
    assert numbers(figure)[0][1].startswith(f"{low.turns[0].value:.3f}")
    plain = report_file([made], "plain.html", options)
    assert plain.page.rankings[0].survival == ()
    with pytest.raises(InputError, match="survival curves need dialogues"):
        ReportOptions(samples=samples, survival=True)


def test_the_report_draws_convergence(folder: Path) -> None:
    dialogues, scores = made_dialogues({"low": 0.5, "high": 0.9})
    made, talks, samples = write_dialogues(folder, dialogues, scores)[:3]
    options = ReportOptions(samples=samples, dialogues=[talks], n_bootstrap=5, convergence=True)
    report = report_file([made], "report.html", options)
    points = report.page.rankings[0].convergence
    assert "--convergence" in report.page.command
    figure = parse((folder / "report.html").read_text()).one("div", cls="convergence").one("figure")
    assert figure.one("b").text == "Would the ranking stay the same?"
    assert [row[0] for row in numbers(figure)] == [str(point.dialogues) for point in points]
    with pytest.raises(InputError, match="convergence needs dialogues"):
        ReportOptions(samples=samples, convergence=True)


FINITE = st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(st.lists(FINITE, min_size=1, max_size=20), st.integers(2, 8))
def test_a_scale_holds_its_values_between_round_ends(values: list[float], about: int) -> None:
    axis = scale(values, about=about)
    margin = 1e-6 * axis.step
    assert axis.low - margin <= min(values) <= max(values) <= axis.high + margin
    assert all(-0.1 <= float(axis.at(value)) <= 100.1 for value in values)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= about + 3
    assert ticks[0] == pytest.approx(axis.low, abs=margin)
    assert ticks[-1] == pytest.approx(axis.high, abs=margin)
    mantissa = axis.step / 10 ** math.floor(math.log10(axis.step) + 1e-9)
    assert min(abs(mantissa - nice) for nice in (1, 2, 5)) < 1e-6


@given(st.lists(FINITE, min_size=2, max_size=20, unique=True))
def test_a_scale_labels_its_ticks_apart(values: list[float]) -> None:
    assume(max(values) - min(values) > 1e-3 * max(abs(v) for v in values))
    axis = scale(values)
    labels = [axis.label(tick) for tick in axis.ticks()]
    assert len(set(labels)) == len(labels)


EXTREMES = [1e308, -1e308, 1.7e308, -1.7e308, 5e-324, 1e-310, 0.0, 1.0]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(EXTREMES), min_size=1, max_size=5))
def test_no_number_is_too_extreme_for_an_axis(values: list[float]) -> None:
    axis = scale(values)
    assert math.isfinite(axis.low)
    assert math.isfinite(axis.high)
    assert axis.low < axis.high
    assert 1 <= len(axis.ticks()) <= 12
    assert all(-0.1 <= float(axis.at(value)) <= 100.1 for value in values)
    assert all(len(axis.label(tick)) < 320 for tick in axis.ticks())


def test_a_scale_without_values_is_a_scale_and_whole_numbers_have_whole_ticks() -> None:
    axis = scale([float("nan")])
    assert (axis.low, axis.high) == (0, 1)
    assert whole_scale([3]).ticks() == [2, 3, 4]
    assert whole_scale([1, 2, 3]).ticks() == [1, 2, 3]
    assert whole_scale([1, 40]).ticks() == [0, 10, 20, 30, 40]


def plot(*lines: Sequence[tuple[float, Estimate]]) -> LinePlot:
    return line_plot({Mark(f"m{i}", i, i): line for i, line in enumerate(lines)}, AxisScale(0, 10, 5))


def test_a_line_goes_through_its_values_and_a_band_around_its_intervals() -> None:
    made = plot([(0, Estimate(1.0, 3)), (5, Estimate(0.5, 3, (0.0, 1.0))), (10, Estimate(0.0, 3, (0.0, 0.5)))])
    ((mark, points),) = made.lines.items()
    assert mark.system == "m0"
    picture = made.picture
    assert [(picture.at_x(x), picture.at_y(y)) for x, y, _ in points] == [
        ("72.0", "14.0"), ("330.0", "177.0"), ("588.0", "340.0"),
    ]  # fmt: skip
    assert picture.band(points) == "330.0,340.0 588.0,340.0 588.0,177.0 330.0,14.0"
    assert [picture.x.label(tick) for tick in picture.x.ticks()] == ["0", "5", "10"]


def test_missing_values_are_not_drawn_and_many_lines_have_no_bands() -> None:
    points = [(0, Estimate(0.5, 3, (0.4, 0.6))), (5, Estimate(math.nan, 0)), (10, Estimate(0.5, 3, (0.4, 0.6)))]
    made = plot(points)
    assert [len(line) for line in made.lines.values()] == [2]
    assert [made.picture.band(line[:n]) == "" for line in made.lines.values() for n in (1, 2)] == [True, False]
    assert [plot(*[points] * n).has_bands for n in (4, 5)] == [True, False]
