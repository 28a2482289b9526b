"""From records and results to the page."""

from __future__ import annotations

import pytest

from interloq import InputError, Score
from interloq.report.build import columns


def test_columns_leave_out_unscored_samples_and_refuse_contradictions() -> None:
    scores = [Score("1", "m", 0.5), Score("2", "m", None), Score("1", "k", 1.0), Score("1", "m", 0.5)]
    assert columns(scores) == {"m": {("1", ""): 0.5}, "k": {("1", ""): 1.0}}
    with pytest.raises(InputError, match=r"m gives '2' two different scores: None and 0\.1"):
        columns([*scores, Score("2", "m", 0.1)])
