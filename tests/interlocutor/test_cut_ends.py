"""Recognising dialogues that were ended after a fixed number of turns."""

from __future__ import annotations

import numpy as np
import pytest

from interloq.interlocutor.cut_ends import cut_ends


def _natural(ending: float, *, first: int = 2, n: int = 2_000) -> list[int]:
    """Lengths of dialogues of which the same share ends after every turn."""
    return [int(length) for length in np.random.default_rng(0).geometric(ending, n) + first - 1]


@pytest.mark.parametrize("ending", [0.03, 0.15, 0.5, 0.71])
def test_natural_ends_are_not_cut(ending: float) -> None:
    assert cut_ends(_natural(ending)) is None


def test_a_fixed_number_of_turns() -> None:
    found = cut_ends([30] * 940 + [31] * 30 + list(range(5, 35)))
    assert found
    assert (found.turns, found.dialogues, found.of) == (30, 941, 1_000)
    assert str(found) == "941 of 1,000 dialogues (94%) end after exactly 30 turns"


def test_all_of_one_length() -> None:
    found = cut_ends([2] * 40)
    assert found
    assert found.turns == 2


def test_a_limit_that_half_of_natural_dialogues_reach() -> None:
    found = cut_ends(min(length, 20) for length in _natural(0.04))
    assert found
    assert found.turns == 20


def test_few_dialogues_prove_nothing() -> None:
    assert cut_ends([30] * 19) is None
    assert cut_ends([]) is None
