"""Scores along a dialogue."""

from __future__ import annotations

from interloq.metrics.course import TurnScore, largest_fall


def course(*scores: float | None) -> list[TurnScore]:
    return [TurnScore(2 * i + 1, f"reply {i}", score) for i, score in enumerate(scores)]


def test_the_largest_fall_is_between_neighbours() -> None:
    found = largest_fall(course(0.9, 0.8, 0.2, 0.7))
    assert found is not None
    assert (found[0].turn, round(found[1], 9)) == (5, 0.6)


def test_unscored_replies_are_passed_over() -> None:
    found = largest_fall(course(0.9, None, 0.4))
    assert found is not None
    assert found[0].turn == 5


def test_a_score_may_never_fall() -> None:
    assert largest_fall(course(0.1, 0.1, 0.5)) is None
    assert largest_fall(course(0.5)) is None
    assert largest_fall([]) is None
