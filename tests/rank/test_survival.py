"""Survival curves of systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from interloq.agree.dialogue_scores import DialogueScore, dialogue_scores
from interloq.rank.rank import rank
from interloq.rank.survival import NO_PROBABILITIES, Survival, survival_curves, survival_notes
from interloq.records import Dialogue, Score, Turn

NAN = math.nan


def rows(*turns: Sequence[float], system: str = "a") -> list[DialogueScore]:
    return [DialogueScore(f"{system}{i}", system, "p", 0.5, str(i), turns=tuple(t)) for i, t in enumerate(turns)]


def curves(given: Sequence[DialogueScore], **options: int) -> list[Survival]:
    return list(survival_curves(given, [row.dialogue for row in given], **options))


def values(curve: Survival) -> list[float]:
    return [estimate.value for estimate in curve.turns]


def test_a_curve_is_the_mean_of_the_products() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((30, 4))
    (curve,) = curves(rows(*p.tolist()), n_bootstrap=200)
    expected = np.cumprod(p, axis=1).mean(axis=0)
    assert values(curve) == pytest.approx(expected.tolist())
    assert (curve.expected.value, curve.horizon) == pytest.approx((expected.sum(), 4))
    for estimate in (*curve.turns, curve.expected):
        low, high = estimate.ci or (1, 0)
        assert low < estimate.value < high


def test_short_dialogues_count_as_far_as_they_go() -> None:
    (curve,) = curves(rows([0.5, 0.5], [1.0], [0.9, NAN, 0.1]), n_bootstrap=0)
    assert values(curve) == pytest.approx([0.8, 0.8 * 0.25 / 0.5])
    assert [estimate.n for estimate in curve.turns] == [3, 1]
    assert curve.expected.ci is None


def test_a_curve_that_reached_zero_stays_there() -> None:
    (curve,) = curves(rows([0.0, 0.5], [0.0, 0.9]), n_bootstrap=10)
    assert values(curve) == [0, 0]


def test_resamples_that_are_all_equal_give_no_interval() -> None:
    (curve,) = curves(rows(*([1.0, answered, 0.0] for answered in (0.0, 0.0, 1.0, 1.0))))
    first, second, last = curve.turns
    assert (first.value, first.ci) == (1.0, None)
    assert second.value == 0.5
    assert second.ci == (0.0, 1.0)
    assert (last.value, last.ci) == (0.0, None)


def test_all_systems_have_the_same_horizon() -> None:
    first, second = curves([*rows([0.9, 0.9, 0.9]), *rows([0.5, 0.5], system="b")], n_bootstrap=0)
    assert [first.system, second.system] == ["a", "b"]
    assert (first.horizon, first.expected.value) == pytest.approx((2, 0.9 + 0.81))
    assert len(first.turns) == 3


def test_units_are_drawn_as_a_whole() -> None:
    given = rows(*[[p] for p in (0.1, 0.1, 0.1, 0.9, 0.9, 0.9)])
    (alone,) = curves(given)
    (together,) = survival_curves(given, ["x", "x", "x", "y", "y", "y"])
    assert together.turns[0].ci == pytest.approx((0.1, 0.9))
    assert alone.turns[0].ci != together.turns[0].ci


def test_scores_that_are_not_probabilities_have_no_curve() -> None:
    given = rows([0.5, 1.5])
    assert curves(given) == []
    assert survival_notes(given) == [NO_PROBABILITIES]
    assert survival_notes(rows([0.5, NAN, 0.5], [0.5])) == [
        "1 dialogue with an unscored turn: survival curves use only the turns before it"
    ]


def test_dialogues_that_the_system_opens_count_from_its_next_turn() -> None:
    """The opening answers nothing and has no score, which must not drop the dialogue."""
    turns = ["hello", "hi", "so?", "fine", "bye", "bye"]
    opened = Dialogue("d0", [Turn(text, "ab"[i % 2]) for i, text in enumerate(turns)], {"a": "bot"})
    answered = Dialogue("d1", [Turn(text, "ba"[i % 2]) for i, text in enumerate(turns)], {"a": "bot"})
    scores = [Score("d0#2", "dcp", 0.5, system="bot"), Score("d0#4", "dcp", 0.4, system="bot")]
    scores += [Score(f"d1#{t}", "dcp", 0.9, system="bot") for t in (1, 3, 5)]
    found = dialogue_scores(scores, [opened, answered])
    assert [row.opens for row in found] == [True, False]
    ranking = rank(found, n_bootstrap=0, n_permutations=0, survival=True)
    (curve,) = ranking.survival
    assert [estimate.n for estimate in curve.turns] == [2, 2, 1]
    assert values(curve)[:2] == pytest.approx([0.7, (0.2 + 0.81) / 2])
    assert any("1 dialogue opened by the system" in note for note in ranking.notes)
    unscored = replace(found[1], turns=(NAN, 0.5))
    assert any("1 dialogue without a scored first turn" in note for note in survival_notes([unscored]))


def test_a_ranking_has_the_curves_of_the_systems_own_turns() -> None:
    turns = ["hello", "hi", "so?", "fine", "bye"]
    talk = [Dialogue(f"d{i}", turns, {"": "bot"}, given=1) for i in range(3)]
    scores = [Score(f"d{i}#{t}", "dcp", 0.5, system="bot") for i in range(3) for t in (1, 2, 3) if (i, t) != (2, 2)]
    found = dialogue_scores(scores, talk)
    assert found[0].turns == pytest.approx((0.5, 0.5, 0.5, NAN), nan_ok=True)
    ranking = rank(found, n_bootstrap=10, n_permutations=0, survival=True)
    assert values(ranking.survival[0]) == [0.5, 0.25, 0.125]
    assert ranking.survival[0].turns[1].n == 2  # the third dialogue has no score of turn 2
    plain = rank(found, n_bootstrap=10, n_permutations=0)
    assert plain.survival == ()
    assert plain.signature != ranking.signature
