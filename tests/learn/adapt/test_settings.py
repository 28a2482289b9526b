"""Settings of adaptation."""

from __future__ import annotations

from typing import Any

import pytest

from interloq.errors import InputError
from interloq.learn.adapt.settings import Adaptation, SmallEncoder


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (lambda: Adaptation(mask=0.0), "mask must be between 0 and 1"),
        (lambda: Adaptation(batch=0), "batch must be above 0"),
        (lambda: Adaptation(seed=-1), "seed must not be negative"),
        (lambda: SmallEncoder(layers=0), "layers must be above 0"),
        (lambda: SmallEncoder(dimensions=10, heads=4), "10 dimensions cannot be divided among 4 heads"),
    ],
)
def test_settings_that_make_no_sense(settings: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        settings()
