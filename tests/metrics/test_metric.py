"""Rows of metrics whose score of a set is a mean."""

from __future__ import annotations

import numpy as np
import pytest

from interloq import Sample
from interloq.metrics.metric import (
    NO_REFERENCES,
    Array,
    details,
    is_mean,
    mean_parts,
    mean_value,
    needs_references,
    score_rows,
)


def test_rows_add_up_to_the_mean() -> None:
    rows = score_rows(np.array([0.2, np.nan, 0.6]))
    assert np.isnan(rows[1]).all()
    assert mean_value(rows)[[0, 2]].tolist() == [0.2, 0.6]
    assert mean_value(np.nansum(rows, axis=0)) == pytest.approx(0.4)
    assert np.isnan(mean_value(np.zeros(2))), "the mean of nothing is missing, not 0"


def test_parts_follow_the_score() -> None:
    rows = score_rows(np.array([0.2, 0.6]), np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    assert mean_parts(rows.sum(axis=0), "p", "r") == {"p": 2.0, "r": 0.5}


def test_what_a_metric_does_not_say_is_the_usual() -> None:
    class Bare:
        pass

    class Told:
        is_mean = False

        def details(self, total: Array) -> dict[str, float]:
            return {"p": float(total[1])}

    assert (is_mean(Bare()), is_mean(Told())) == (True, False)
    assert (details(Bare(), np.zeros(2)), details(Told(), np.ones(2))) == ({}, {"p": 1.0})


def test_references_are_needed() -> None:
    assert needs_references(Sample("1", (), "x")) == NO_REFERENCES
    assert needs_references(Sample("1", (), "x", [""])) is None
