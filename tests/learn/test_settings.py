"""Settings of trainings."""

from __future__ import annotations

from typing import Any

import pytest

from interloq.errors import InputError
from interloq.learn.settings import Training


@pytest.mark.parametrize(
    "options", [{"epochs": 0}, {"learning_rate": -1.0}, {"clip": -1.0}, {"warmup": 1.5}, {"patience": 0}]
)
def test_settings_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        Training(**options)
