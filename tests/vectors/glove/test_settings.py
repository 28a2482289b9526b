"""Settings of GloVe."""

from __future__ import annotations

from typing import Any

import pytest

from interloq.errors import InputError
from interloq.vectors.glove.settings import Glove


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dimensions": 0}, "dimensions must be above 0, got 0"),
        ({"window": -1}, "window must be above 0, got -1"),
        ({"alpha": -0.5}, "alpha must be at least 0, got -0.5"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Glove(**options)
