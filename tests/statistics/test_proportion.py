# SPDX-License-Identifier: Apache-2.0
"""Exact intervals and tests of proportions, against values that can be computed by hand."""

from __future__ import annotations

import math

import pytest

from interloq.statistics.proportion import Proportion, beta_interval


def test_exact_intervals_and_tests() -> None:
    none = Proportion(0, 10)
    assert none.ci == pytest.approx((0, 1 - 0.025 ** (1 / 10)))  # the upper limit solves (1 − p)^10 = 0.025
    eight = Proportion(8, 10)
    assert eight.value == 0.8
    assert eight.p(0.5) == pytest.approx(2 * (45 + 10 + 1) / 1024)


def test_without_answers_nothing_is_known() -> None:
    unknown = Proportion(0, 0)
    assert math.isnan(unknown.value)
    assert math.isnan(unknown.p(0.5))
    assert unknown.ci is None


@pytest.mark.parametrize("yes", [0, 1, 3, 9, 10])
def test_the_interval_of_a_share_is_the_exact_one_for_whole_numbers(yes: int) -> None:
    assert beta_interval(yes / 10, 10) == pytest.approx(Proportion(yes, 10).ci)


def test_the_interval_of_a_share_lies_between_those_of_the_neighbouring_numbers() -> None:
    low, high = beta_interval(0.35, 10)
    (low_3, high_3), (low_4, high_4) = beta_interval(0.3, 10), beta_interval(0.4, 10)
    assert low_3 < low < low_4
    assert high_3 < high < high_4
