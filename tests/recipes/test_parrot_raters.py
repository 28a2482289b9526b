"""Weights of replies by several raters."""

from __future__ import annotations

import numpy as np
from parrot_raters import correlate
from rated_sets import RatedSet

from interloq import Sample


def test_other_raters_are_compared_with_the_first() -> None:
    human = np.arange(40.0)
    samples = [Sample(f"{i}", [f"context {i // 2}"], "yes") for i in range(40)]
    rated = RatedSet(samples, np.arange(40), human)
    assert correlate([human, -human], rated) == ["1.000", "-1.000", "-2.000 [-2.000, -2.000]"]
