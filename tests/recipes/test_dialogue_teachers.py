"""Sums of a judge and other scorers of dialogues, and what leaving out a rated set costs."""

from __future__ import annotations

import dialogue_teachers
import numpy as np
import pytest
import set_costs


def test_scores_on_other_scales_count_alike_in_a_sum() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200)
    noisy = {name: truth + rng.normal(size=200) for name in ("judge", "FED", "FED specific", "FULL")}
    noisy["FULL"] = 1000 * noisy["FULL"] + 7
    joined = dialogue_teachers.join(noisy)
    half = (noisy["judge"] - noisy["judge"].mean()) / noisy["judge"].std()
    other = (noisy["FULL"] - noisy["FULL"].mean()) / noisy["FULL"].std()
    assert joined["judge + FULL"] == pytest.approx(half + other)
    rows = {row[0]: row[1:] for row in dialogue_teachers.table(joined, truth)}
    assert rows["judge"][1] == "0.000 [0.000, 0.000]"
    assert float(rows["judge + FED + FULL"][0].split()[0]) > float(rows["judge"][0].split()[0])


def test_a_set_that_helps_has_a_cost() -> None:
    human = np.arange(50.0)
    rng = np.random.default_rng(1)
    every = {"FED turn": (human, human), "FED dialogue": (human, human)}
    fewer = {"FED turn": (human, human), "FED dialogue": (human, rng.permutation(human))}
    value, (low, high) = set_costs.cost(every, fewer)
    assert low <= value <= high < 0
    assert set_costs.cost(every, every) == (0, (0, 0))
