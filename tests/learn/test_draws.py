"""Draws from mixed numbers."""

from __future__ import annotations

import numpy as np

from interloq.learn.draws import mixed


def test_mixing_has_no_collisions_and_even_bits() -> None:
    bits = mixed(np.arange(100_000), 0, 0)
    assert len(np.unique(bits)) == 100_000
    ones = [float(((bits >> np.uint64(i)) & np.uint64(1)).mean()) for i in range(64)]
    assert all(abs(share - 0.5) < 0.01 for share in ones)
