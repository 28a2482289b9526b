"""Learning curves of judges."""

from __future__ import annotations

import json
from pathlib import Path

import judge_curve
import numpy as np
import pytest

from interloq.statistics.ridge import Head, RatedStates
from tests.made_judge import small_judge
from tests.made_relevance import small_scorer
from tests.recipes.test_relevance import write_rated_sets

START = Head(np.array([1.0, 0, 0, 0, 0]), 0.0, np.inf)  # knows one of the two dimensions that ratings depend on


def test_more_ratings_teach_more() -> None:
    rng = np.random.default_rng(0)
    states = rng.normal(size=(400, 5))
    ratings = states[:, 0] + states[:, 1] + 0.3 * rng.normal(size=400)
    rated = RatedStates(states, ratings, np.zeros(400, dtype=np.int64), np.arange(400) // 2)
    few, more, most = judge_curve.curve("made", rated, START, draws=3)
    assert (few.ratings, more.ratings, most.ratings) == (50, 100, 200), "500 would leave nothing to test on"
    assert few.learned[0] < most.learned[0]
    assert most.learned[0] > most.start[0] + 0.1
    assert most.difference[0] == pytest.approx(most.learned[0] - most.start[0])
    assert most.difference[1] <= most.difference[0] <= most.difference[2]
    assert most.used == 1


def test_from_data_to_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_rated_sets(tmp_path)
    judge = small_judge(tmp_path / "people", small_scorer(tmp_path / "model"))
    monkeypatch.setattr(judge_curve, "RATINGS", (6,))
    monkeypatch.setattr(judge_curve, "FEWEST_TESTED", 3)
    options = ["--data", str(data), "--start", str(judge), "--draws", "2"]
    assert judge_curve.main([*options, "--json"]) == 0
    points = json.loads(capsys.readouterr().out)
    assert [(point["set"], point["ratings"]) for point in points] == [(name, 6) for name in judge_curve.SETS]
    assert judge_curve.main([*options, "--judge", f"FED turn={judge}"]) == 0
    assert f"{points[0]['start'][0]:.3f} [" in capsys.readouterr().out
    assert judge_curve.main([*options, "--judge", "FED=folder"]) == 2
    assert "write SET=FOLDER with one of GRADE ConvAI2" in capsys.readouterr().err
