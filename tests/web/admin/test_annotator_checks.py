# SPDX-License-Identifier: Apache-2.0
"""Suspicious annotators among constructed ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from interloq.web.admin.annotator_checks import Annotator, annotators
from interloq.web.admin.collected import FinishedPage
from interloq.web.messages import render
from tests.web.admin.test_monitor import choose, rate

ITEMS = 30


def reasons(annotator: Annotator) -> Any:
    """Return the reasons in English."""
    return render(annotator.reasons, "en")


def check_crowd(*others: FinishedPage) -> dict[int, Annotator]:
    """Check two careful people (1 and 2) whose ratings differ by at most one, and others."""
    quality = np.random.default_rng(3).integers(1, 5, size=(ITEMS, 2))
    careful = [
        rate(p, item, (quality[item] + (item + p) % 2).tolist(), seconds=15 + item)
        for item in range(ITEMS)
        for p in (1, 2)
    ]
    return {one.person: one for one in annotators([*careful, *others], ["overall"], least_seconds=2)}


def test_careful_people_are_not_suspicious() -> None:
    found = check_crowd()
    assert {person: one.reasons for person, one in found.items()} == {1: (), 2: ()}
    assert found[1].seconds == pytest.approx(29.5)
    assert found[1].correlation > 0.5


def test_a_straight_liner() -> None:
    reason = reasons(check_crowd(*(rate(3, item, (3, 3 if item else 4)) for item in range(ITEMS)))[3])[0]
    assert reason.startswith("overall: answered 3 in 59 of 60; the others in ")


def test_an_answer_that_nearly_everybody_gives_is_not_straight_lining() -> None:
    pages = [rate(p, item, (5, 5 if item % 15 else 1)) for item in range(ITEMS) for p in (1, 2, 3)]
    assert [one.reasons for one in annotators(pages, ["overall"], least_seconds=2)] == [(), (), ()]


def test_somebody_who_always_clicks_the_left_reply() -> None:
    left = [choose(1, item, "ab"[item % 2], order=(item % 2, 1 - item % 2)) for item in range(ITEMS)]
    fair = [choose(2, item, "ab"[item % 3 == 0], order=(item % 2, 1 - item % 2)) for item in range(ITEMS)]
    first, second = annotators([*left, *fair], ["overall"], least_seconds=2)
    assert reasons(first) == ["overall: answered first in 30 of 30; the others in 50%"]
    assert "1 つ目" in render(first.reasons, "ja")[0]
    assert second.reasons == ()


def test_a_random_clicker() -> None:
    random = np.random.default_rng(7).integers(1, 6, size=(ITEMS, 2))
    found = check_crowd(*(rate(3, item, random[item].tolist()) for item in range(ITEMS)))
    (reason,) = reasons(found[3])
    assert reason.startswith("agrees with the others no better than chance: r = ")
    assert found[1].reasons == found[2].reasons == ()


def test_people_who_judge_equally_well_are_not_named_because_they_judged_little() -> None:
    random = np.random.default_rng(0)
    quality = random.normal(size=15)
    noisy = np.clip(np.rint(3 + 0.8 * (quality + 1.6 * random.normal(size=(20, 2, 15)))), 1, 5)
    pages = [rate(p, item, noisy[p, :, item].tolist()) for p in range(20) for item in range(15)]
    assert sum(bool(one.reasons) for one in annotators(pages, ["overall"], least_seconds=2)) == 0


def test_a_fast_one() -> None:
    pages = [rate(3, item, (1 + item % 4, 1 + item % 5), seconds=0.5 if item < 8 else 9) for item in range(ITEMS)]
    assert "8 of 30 pages in less than 2 seconds" in reasons(check_crowd(*pages)[3])


def test_failed_attention_checks() -> None:
    checks = [rate(1, 90 + i, (value, value), correct={"overall": [4.0, 5.0]}) for i, value in enumerate((1, 2, 5))]
    found = check_crowd(*checks, rate(2, 90, (4, 4), correct={"overall": [4.0, 5.0]}))
    assert (found[1].checks, found[1].failed, found[1].pages) == (3, 2, ITEMS)
    assert reasons(found[1]) == ["failed 2 of 3 attention checks"]
    assert (found[2].failed, found[2].reasons) == (0, ())
