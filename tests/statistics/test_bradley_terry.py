"""Strengths beside a general optimiser, closed forms and simulated systems."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

from interloq.agree.dialogue_scores import DialogueScore
from interloq.errors import InputError
from interloq.rank.rank import pair_outcomes, rank
from interloq.statistics.bradley_terry import is_connected, strengths, wins


def _optimised(won: np.ndarray, prior: float) -> np.ndarray:
    """The maximum of the likelihood, by BFGS over the logarithms."""
    won = won + prior * (1 - np.eye(len(won)))

    def loss(logs: np.ndarray) -> float:
        gaps = logs[:, None] - logs[None, :]
        return float((won * np.logaddexp(0, -gaps)).sum() + logs.sum() ** 2)

    return np.asarray(minimize(loss, np.zeros(len(won)), tol=1e-12).x)


@given(hnp.arrays(np.float64, (4, 4), elements=st.integers(0, 20).map(float)))
@settings(max_examples=30, deadline=None)
def test_strengths_are_the_maximum_of_the_likelihood(won: np.ndarray) -> None:
    np.fill_diagonal(won, 0)
    found = strengths(won, prior=0.5)
    assert found == pytest.approx(_optimised(won, 0.5), abs=1e-3)
    assert found.sum() == pytest.approx(0, abs=1e-9)


def test_two_systems_have_a_closed_form() -> None:
    found = strengths(np.array([[0.0, 30.0], [10.0, 0.0]]), prior=0)
    assert found[0] - found[1] == pytest.approx(math.log(3))


def test_many_tables_at_once_are_the_same_as_one_by_one() -> None:
    tables = np.random.default_rng(0).integers(0, 9, size=(5, 3, 3)).astype(float)
    for table, found in zip(tables, strengths(tables), strict=True):
        assert found == pytest.approx(strengths(table), abs=1e-6)


def test_a_system_that_lost_everything_has_a_finite_strength() -> None:
    found = strengths(np.array([[0.0, 50.0], [0.0, 0.0]]))
    assert np.isfinite(found).all()
    assert found[0] > found[1] + 3


def test_known_strengths_are_found_again() -> None:
    rng, true = np.random.default_rng(1), np.array([-1.0, -0.25, 0.25, 1.0])
    won = np.zeros((4, 4))
    for i, j in combinations(range(4), 2):
        won[i, j] = rng.binomial(4000, 1 / (1 + math.exp(true[j] - true[i])))
        won[j, i] = 4000 - won[i, j]
    assert strengths(won) == pytest.approx(true, abs=0.06)


def _rows(values: dict[str, list[float]]) -> list[DialogueScore]:
    return [DialogueScore(f"{s}{i}", s, "p", v, f"p|{i}") for s, column in values.items() for i, v in enumerate(column)]


def test_wins_are_counted_over_shared_occasions_and_ties_are_halves() -> None:
    rows = _rows({"a": [1, 2, 3, math.nan], "b": [0, 2, 4, 5], "c": [9]})
    table = wins(pair_outcomes(rows), "abc", np.zeros(5, dtype=np.intp))[0]
    assert table.tolist() == [[0, 1.5, 0], [1.5, 0, 0], [1, 1, 0]]


def test_two_systems_that_talk_to_each_other_are_compared_in_their_dialogue() -> None:
    rows = [DialogueScore("d", "a", "b", 1, "b|1"), DialogueScore("d", "b", "a", 2, "a|1")]
    (found,) = pair_outcomes(rows)
    assert (found.first, found.second, found.win) == ("a", "b", 0)


def test_chains_of_comparisons_join() -> None:
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=float)
    assert is_connected(chain)
    assert not is_connected(chain * np.array([[1], [0], [0]]))


def test_ranking_by_wins_ignores_how_large_a_difference_is() -> None:
    """One huge success does not outweigh many small defeats."""
    rows = _rows({"a": [100.0] + [0.0] * 19, "b": [1.0] * 20})
    by_mean, by_wins = (rank(rows, method=method) for method in ("mean", "bradley-terry"))
    assert [s.system for s in by_mean.standings] == ["a", "b"]
    assert [s.system for s in by_wins.standings] == ["b", "a"]
    gap = by_wins.standings[0].score - by_wins.standings[1].score
    assert gap == pytest.approx(math.log(19.1 / 1.1))
    assert by_wins.standings[0].ci
    assert by_wins.standings[0].ci[0] > 0
    assert by_wins.differences[0].p is not None
    assert by_wins.differences[0].p < 0.01


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    rng, hits = np.random.default_rng(3), 0
    true = math.log(0.7 / 0.3)
    for trial in range(50):
        won = rng.random(80) < 0.7
        rows = _rows({"a": list(won.astype(float)), "b": list((~won).astype(float))})
        ci = rank(rows, method="bradley-terry", n_bootstrap=200, n_permutations=0, seed=trial).differences[0].ci
        low, high = sorted(abs(end) * math.copysign(1, end) for end in ci or (0, 0))
        hits += low <= true <= high
    assert 44 <= hits <= 50


def test_nothing_shared_is_refused_and_nothing_connected_is_noted() -> None:
    apart = [DialogueScore(f"{s}{i}", s, s * 2, float(i), f"{s}|{i}") for s, i in product("ab", range(3))]
    with pytest.raises(InputError, match="no two systems share an occasion"):
        rank(apart, method="bradley-terry")
    islands = _rows({"a": [1.0], "b": [2.0]}) + [
        DialogueScore(f"{s}q", s, "q", v, "q|1") for s, v in (("c", 1.0), ("d", 2.0))
    ]
    assert any("never compared" in note for note in rank(islands, method="bradley-terry").notes)
