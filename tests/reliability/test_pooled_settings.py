"""Settings of the pooled model."""

from __future__ import annotations

import pytest

from interloq import InputError
from interloq.reliability.pooled_settings import PooledSettings


def test_sizes_are_whole_numbers() -> None:
    assert PooledSettings(sizes="1, 3,5").set_sizes == (1, 3, 5)
    for wrong in ("0,x", "", "0", "1,,2"):
        with pytest.raises(InputError, match="sizes must be whole numbers"):
            _ = PooledSettings(sizes=wrong).set_sizes
