from __future__ import annotations

import pytest

from interloq import InputError
from interloq.cli.options import option_names
from interloq.scorers.judge.settings import Frozen, JudgeSettings


def test_every_setting_is_an_option() -> None:
    assert option_names(Frozen()) == ["scorer"]
    assert option_names(JudgeSettings()) == ["least"]


def test_a_count_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="least must be above 0, got 0"):
        JudgeSettings(least=0)
