"""Points of scatter plots."""

from __future__ import annotations

import json
import re
from pathlib import Path

from scipy.stats import spearmanr

from interloq import Sample
from interloq.report.sections.scatter import MOST, TOTAL, JudgedSample, choose_points, points_per_plot
from interloq.report.text import number
from tests.report.made_report import mean_rating, read_scores, replace_id, values_of
from tests.report.parsed_html import parse, report


def test_thinning_keeps_the_same_samples_in_any_order() -> None:
    samples = [JudgedSample((str(i), ""), 0.0) for i in range(MOST + 500)]
    scores = {sample.key: 0.0 for sample in samples}
    kept = choose_points(samples, scores, MOST)
    assert len(kept) == MOST
    assert choose_points(samples[::-1], scores, MOST) == kept
    # a hash takes from everywhere, not from one end
    late = sum(int(sample.key[0]) >= len(samples) // 2 for sample in kept)
    assert 0.4 * MOST < late < 0.6 * MOST


def test_many_plots_share_the_points() -> None:
    assert [points_per_plot(plots) for plots in (0, 1, 2, 8, 1000)] == [MOST, MOST, TOTAL // 2, TOTAL // 8, 200]


def test_scatter_points_stand_where_their_values_are(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    texts = json.loads(page.one(id="rows").raw)
    lengths = values_of(read_scores(folder), "length")
    judged = {sample.id: mean_rating(sample) for sample in samples}
    marks = page.one(id="plot2").one("svg", cls="scatter").all("use")
    assert len(marks) == 6
    points = {texts[int(mark.attributes["data-text"])][0]: mark for mark in marks}
    across = sorted(judged, key=lambda sample: float(points[sample].attributes["x"]))
    assert [judged[id] for id in across] == sorted(judged.values())
    upwards = sorted(lengths, key=lambda sample: -float(points[sample].attributes["y"]))
    assert [lengths[id] for id in upwards] == sorted(lengths.values())
    for id, mark in points.items():
        assert mark.one("title").text.startswith(f"{id} · ")
        assert f"length {number(lengths[id], 4)}" in mark.one("title").text
    ticks = [tick.text for tick in page.one(id="plot2").one("g", cls="axis").all("text")]
    assert ticks[-2:] == ["mean rating (overall)", "length"]
    groups = page.one(id="plot2").all("g", cls="points")
    shapes = {group.all("use")[0].attributes["href"] for group in groups}
    assert len(groups) == len(shapes) == 2
    caption = page.one(id="plot2").one("figcaption").text
    rho = spearmanr([lengths[s.id] for s in samples], [judged[s.id] for s in samples]).statistic
    assert f"Spearman ρ {number(float(rho))} [" in caption
    assert "n = 6" in caption


def test_crowded_points_move_apart_and_say_so(folder: Path, samples: list[Sample]) -> None:
    same = [replace_id(samples[i % 6], f"{i:03}") for i in range(60)]
    page = parse(report(folder, same))
    caption = page.one(id="plot2").one("figcaption").text
    moved = re.search(r"Points are moved sideways by at most ([0-9.]+) so that", caption)
    assert moved
    marks = page.one(id="plot2").one("svg", cls="scatter").all("use")
    assert len({(mark.attributes["x"], mark.attributes["y"]) for mark in marks}) > 40
    assert "moved" not in parse(report(folder, samples)).one(id="plot2").one("figcaption").text


def test_many_samples_are_thinned_for_drawing_only(folder: Path, samples: list[Sample]) -> None:
    many = [
        Sample(f"{i:05}", s.context, s.response + " x" * (i % 7), s.references, s.system, s.ratings)
        for i in range(2100)
        for s in [samples[i % 6]]
    ]
    page = parse(report(folder, many, "--bootstrap", "0", metrics=["length"]))
    assert len(page.one(id="plot1").one("svg", cls="scatter").all("use")) == 2000
    caption = page.one(id="plot1").one("figcaption").text
    assert "2,000 of 2,100 samples are drawn" in caption
    assert "n = 2,100" in caption
