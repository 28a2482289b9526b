"""A small share of the simulations: wide bounds, fixed seeds. `make decisions` measures the rates."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.decisions.rankings import CONTESTS, Contest
from tests.decisions.trials import try_contest, try_decisions
from tests.decisions.worlds import LABELLED, WORLDS, World

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "decisions.md"
REPEATS, PERMUTATIONS = 24, 200
MOST_FALSE = 6 / REPEATS  # 5 % are 1.2
LEAST_COVERED = 0.85  # of intervals of 95 %


@pytest.mark.parametrize("world", [*WORLDS, *LABELLED], ids=lambda world: world.name)
def test_decisions_are_rarely_wrong(world: World) -> None:
    found = try_decisions(world, REPEATS, n_permutations=PERMUTATIONS)
    for wrong in (found.false_verdicts, found.false_slices, found.wrong_pass, found.wrong_regression):
        assert wrong <= MOST_FALSE
    if world.undecided:
        assert found.decided == 0
    else:
        assert found.covered >= LEAST_COVERED
        assert found.found > 0.1  # careful, but not blind
        assert found.decided > 0.5


@pytest.mark.parametrize("contest", CONTESTS, ids=lambda contest: contest.name)
def test_all_ranges_hold_together(contest: Contest) -> None:
    found = try_contest(contest, REPEATS // 4)
    assert found.together >= 0.5
    assert math.isnan(found.covered) or found.covered >= LEAST_COVERED
    assert math.isnan(found.disjoint) or found.disjoint <= 0.5


def test_the_documentation_shows_every_setting() -> None:
    rows = {line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text("utf-8").splitlines()}
    assert {setting.name for setting in (*WORLDS, *LABELLED, *CONTESTS)} <= rows
