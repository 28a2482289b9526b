from __future__ import annotations

from typing import Any

import blend
import numpy as np
import pytest


def made(*, seed: int, signs: tuple[int, ...] = (1, 1)) -> Any:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=200)
    return blend.ranked([sign * human + rng.normal(size=200) for sign in signs], human)


def test_the_tested_sets_ratings_do_not_matter() -> None:
    sets = {name: made(seed=i) for i, name in enumerate("abc")}
    other = sets | {"a": blend.Ranked(sets["a"].scores, -sets["a"].human)}
    first, second = blend.blend(sets, "a"), blend.blend(other, "a")
    assert first.weights.tolist() == second.weights.tolist()
    assert first.scores.tolist() == second.scores.tolist()


def test_a_blend_is_better_than_its_parts_and_turns_a_scorer_round() -> None:
    sets = {name: made(seed=i, signs=(1, -1)) for i, name in enumerate("abcd")}
    found = blend.blend(sets, "a")
    assert found.weights[0] > 0.1 > -0.1 > found.weights[1]
    alone = np.corrcoef(sets["a"].scores[:, 0], sets["a"].human)[0, 1]
    assert np.corrcoef(found.scores, sets["a"].human)[0, 1] > alone + 0.05


def test_sets_with_ratings_of_the_same_dialogues_are_not_learned_from() -> None:
    sets = {name: made(seed=i) for i, name in enumerate(("FED turn", "FED dialogue", "x", "y"))}
    other = sets | {"FED dialogue": made(seed=9, signs=(-1, -1))}
    assert blend.blend(sets, "FED turn").weights.tolist() == blend.blend(other, "FED turn").weights.tolist()
    assert blend.blend(sets, "x").weights.tolist() != blend.blend(other, "x").weights.tolist()


def test_weights_solve_the_ridge_equation() -> None:
    own = made(seed=3)
    n, strength = len(own.human), 0.3
    stacked = np.vstack([own.scores, np.sqrt(n * strength / 3) * np.eye(2)])
    wanted = np.linalg.lstsq(stacked, np.concatenate([own.human, [0, 0]]), rcond=None)[0]
    assert blend.fitted([own], strength) == pytest.approx(wanted)


def test_a_mean_of_ranks_ignores_scales() -> None:
    found = blend.mean_of_ranks([np.array([1.0, 2.0, 3.0]), np.array([0.0, -1e6, 1.0])])
    assert found == pytest.approx([-1 / 3, -1 / 3, 2 / 3])
