from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import reference_gain as recipe
from reference_pool import pairs_by_log, pool, sets_with_one_reference
from results import load_measured
from vbleu_tables import bleu_scores

from interloq import load
from interloq.retrieve.log_overlap import LogOverlap
from tests.recipes.test_reference_pool import write_all


def make_point(name: str, log: str, reply: float, gain: float) -> recipe.Point:
    overlap = LogOverlap(50, reply / 2, (0.0, 1.0), reply, (0.0, 1.0))
    resampled = gain + np.random.default_rng(0).normal(size=200) / 100
    return recipe.Point(name, log, 1000, overlap, {recipe.BLEU: gain}, {recipe.BLEU: resampled})


def make_points() -> list[recipe.Point]:
    """Gains that rise with the overlap by the same line in every set."""
    points = []
    for name in ("a", "b", "c"):
        points += [make_point(name, f"log {i}", 0.45 + i / 20, i / 10 - 0.1) for i in range(5)]
    return points


def test_gains_that_rise_with_the_overlap_are_predicted() -> None:
    points = make_points()
    finding = recipe.order_of_logs(points, "reply", recipe.BLEU)
    assert finding.value == pytest.approx(1.0)
    assert (finding.units, finding.verdict) == (150, "holds")
    saved = recipe.gain_of_prediction(points, "reply", recipe.BLEU)
    assert (saved.units, saved.verdict) == (150, "holds")
    by_line, by_mean = recipe.prediction_errors(points, "reply", recipe.BLEU)
    assert by_line == pytest.approx(0, abs=1e-9)
    assert saved.value == pytest.approx(by_mean)
    assert by_mean > 0.1


def test_the_table_has_the_points_of_each_overlap() -> None:
    rows = recipe.gains_by_overlap(make_points(), recipe.BLEU)
    assert [(row[1], row[2], row[3]) for row in rows] == [
        ("0.00 to 0.50", "3", "3"),
        ("0.50 to 0.55", "3", "3"),
        ("0.55 to 0.60", "3", "3"),
        ("0.60 to 1.00", "6", "3"),
    ]
    assert rows[0][4].startswith("-0.1")
    assert rows[-1][5] == "0.200 to 0.300"


def test_a_log_in_which_nothing_could_be_measured_is_left_out() -> None:
    points = [
        *make_points(),
        recipe.Point("a", "empty", 0, LogOverlap(0, None, None, None, None), {recipe.BLEU: 0.0}, {}),
    ]
    assert len(recipe.by_set(points, recipe.BLEU)["a"]) == 5


def test_every_set_is_measured_with_every_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, work = write_all(tmp_path / "data"), tmp_path / "work"
    monkeypatch.setattr(recipe, "FEWEST", 10)
    monkeypatch.setattr(recipe, "score", lambda given, *_: bleu_scores(given))
    arguments = ["--data", str(data), "--work", str(work), "--resamples", "20"]
    assert recipe.main([*arguments, "--measured", str(tmp_path / "gain.json")]) == 0
    assert "gains by overlap of replies" in capsys.readouterr().out
    logs = pairs_by_log(pool(data, work))
    large = [log for log, path in logs.items() if len(load(path, kind="pairs")) >= 10]
    assert large
    points = list(recipe.measure_points(sets_with_one_reference(data), pool(data, work), [], 20))
    assert len(points) == 6 * (3 + len(large))
    assert {point.log for point in points} == {recipe.WHOLE, recipe.THREE_TURNS, recipe.OWN_MANNER, *large}
    assert len(load_measured(tmp_path / "gain.json").findings) == 4
