from __future__ import annotations

import math

import numpy as np
import pytest

from interloq import InputError
from interloq.meta.levels import Samples, level
from tests.meta.made_grid import grid


def test_nothing_scored_is_nan_at_every_level() -> None:
    judgments, _ = grid()
    for by in ("none", "system", "sample"):
        found = level(by, judgments).estimates(np.full(60, np.nan), judgments.mean())
        assert all(math.isnan(e.value) and e.note for e in found.values())


def test_unknown_level() -> None:
    with pytest.raises(InputError, match="cannot correlate by 'item'"):
        level("item", grid()[0])  # type: ignore[arg-type]
    assert level("none", grid()[0]) == Samples()
