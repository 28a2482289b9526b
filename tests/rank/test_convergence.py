"""How many dialogues a ranking needs."""

from __future__ import annotations

import numpy as np
import pytest

from interloq.agree.dialogue_scores import DialogueScore
from interloq.rank.convergence import DRAWS, list_sizes, measure_convergence, share_in_order
from interloq.rank.rank import rank


def rows(means: dict[str, float], n: int, *, spread: float = 1.0) -> list[DialogueScore]:
    rng = np.random.default_rng(0)
    made = []
    for system, mean in means.items():
        for i in range(n):
            value = mean + spread * float(rng.standard_normal())
            made.append(
                DialogueScore(f"{system}{i}", system, "p", value, f"{system}{i}", pairing="none", metric="length")
            )
    return made


def test_shares_count_pairs_in_the_same_order_and_ties_half() -> None:
    first = np.array([[1.0, 2, 3], [1, 2, 3], [1, 2, 3]])
    second = np.array([[4.0, 5, 6], [6, 5, 4], [1, 1, 2]])
    assert share_in_order(first, second).tolist() == pytest.approx([1, 0, 2.5 / 3])


def test_sizes_go_up_to_half_of_the_dialogues() -> None:
    assert list_sizes(1) == [1]
    assert list_sizes(20) == [1, 2, 5, 10, 20]
    assert list_sizes(36) == [1, 2, 5, 10, 20, 36]


def test_more_dialogues_agree_better_with_systems_that_differ() -> None:
    points = measure_convergence(rows({"a": 0, "b": 1, "c": 2}, 80))
    assert [point.dialogues for point in points] == [1, 2, 5, 10, 20, 40]
    values = [point.agreement.value for point in points]
    assert values == sorted(values)
    assert values[0] < 0.85
    assert values[-1] > 0.99
    assert {point.agreement.n for point in points} == {DRAWS}


def test_equal_systems_agree_by_chance() -> None:
    points = measure_convergence(rows(dict.fromkeys("abcdef", 0), 400), seed=3)
    assert points[0].agreement.value == pytest.approx(0.5, abs=0.03)


def test_a_single_system_or_dialogue_gives_no_points() -> None:
    assert measure_convergence(rows({"a": 0}, 10)) == ()
    assert measure_convergence([*rows({"a": 0}, 10), *rows({"b": 0}, 1)]) == ()


def test_a_ranking_has_it_only_if_it_was_asked_for() -> None:
    scored = rows({"a": 0, "b": 3}, 6)
    plain = rank(scored, lower_is_better=False, n_bootstrap=0, n_permutations=0)
    with_points = rank(scored, lower_is_better=False, n_bootstrap=0, n_permutations=0, convergence=True)
    assert plain.convergence == ()
    assert [point.dialogues for point in with_points.convergence] == [1, 2, 3]
    assert with_points.standings == plain.standings
