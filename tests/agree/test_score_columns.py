"""Scores as columns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from interloq import InputError, Sample, Score
from interloq.agree.judgments import collect
from interloq.agree.score_columns import score_columns
from interloq.score.selection import SampleFilter

SAMPLES = [Sample(id, (), "x", (), system, [1.0]) for id, system in (("1", "a"), ("1", "b"), ("2", "a"))]


def columns(*scores: Score, selection: SampleFilter | None = None) -> tuple[dict[str, list[float]], list[str]]:
    found, notes = score_columns(scores, collect(SAMPLES), selection or SampleFilter())
    return {name: column.tolist() for name, column in found.items()}, notes


def test_a_column_has_the_order_of_the_judgments() -> None:
    found, notes = columns(
        Score("2", "m", 3.0, system="a"), Score("1", "m", 1.0, system="a"), Score("1", "l", 5.0, system="b")
    )
    assert list(found) == ["l", "m"]
    assert found["m"] == pytest.approx([1, math.nan, 3], nan_ok=True)
    assert found["l"] == pytest.approx([math.nan, 5, math.nan], nan_ok=True)
    assert notes == []


def test_a_score_without_a_system_belongs_to_the_only_sample_with_its_id() -> None:
    assert columns(Score("2", "m", 3.0))[0]["m"][2] == 3


def test_stray_scores_are_noted_unless_their_system_was_left_out() -> None:
    given = Score("1", "m", 1.0, system="a"), Score("9", "m", 1.0, system="z")
    assert "m: scores without a sample, not used: 1" in columns(*given)[1][0]
    assert columns(*given, selection=SampleFilter(without=["z"]))[1] == []


def test_contradictions_and_infinity_are_refused() -> None:
    one = Score("2", "m", 1.0)
    columns(one, one, Score("1", "m", None, "why", system="a"), Score("1", "m", None, "why", system="a"))
    for other in (2.0, None):
        with pytest.raises(InputError, match="twice"):
            columns(one, Score("2", "m", other))
    with pytest.raises(InputError, match="inf"):
        columns(Score("2", "m", math.inf))


def test_no_scores_or_none_that_fit_are_refused() -> None:
    with pytest.raises(InputError, match="no scores"):
        columns()
    with pytest.raises(InputError, match="no score belongs to a sample"):
        columns(Score("9", "m", 1.0))


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_extreme_scores_keep_their_proportions(scale: float) -> None:
    column = columns(Score("1", "m", 1 * scale, system="a"), Score("2", "m", 3 * scale))[0]["m"]
    assert column[2] / column[0] == pytest.approx(3)
    assert 1e-100 < np.nanmax(column) < 1e100
