"""Settings of RUBER."""

from __future__ import annotations

from typing import Any

import pytest

from interloq.errors import InputError
from interloq.scorers.ruber.settings import Unreferenced


@pytest.mark.parametrize(
    ("field", "value"), [("hidden", 0), ("margin", 0.0), ("batch", -1), ("dev", 0), ("seed", -1), ("longest", 0)]
)
def test_settings_out_of_range_are_refused(field: str, value: float) -> None:
    changes: dict[str, Any] = {field: value}
    with pytest.raises(InputError, match=field):
        Unreferenced(**changes)
