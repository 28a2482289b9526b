"""Settings of the relevance scorer."""

from __future__ import annotations

import pytest

from interloq.errors import InputError
from interloq.scorers.relevance.settings import Reading, Relevance


def test_settings_are_checked() -> None:
    for options in ({"negatives": "random,wrong"}, {"batch": 0}, {"other": -1.0}, {"written": 2.0}, {"seed": -1}):
        with pytest.raises(InputError):
            Relevance(**options)
    with pytest.raises(InputError):
        Reading(turns=0)
