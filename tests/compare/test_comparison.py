"""Comparisons as values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from interloq.compare.compare import compare
from tests.made_versions import drawn, version


def test_verdicts_need_significance_and_a_direction() -> None:
    (change,) = compare(version("old", drawn()), version("new", drawn(0.2, seed=2)), slice_by=[]).changes
    assert change.verdict == "better"
    assert replace(change, direction="lower").verdict == "worse"
    assert replace(change, direction="neither").verdict == "changed"
    assert replace(change, p_adjusted=0.05).verdict == replace(change, p_adjusted=None).verdict == "not shown"


def test_a_comparison_is_shown_as_a_table() -> None:
    pytest.importorskip("pandas")
    found = compare(version("june", drawn()), version("july", drawn(0.2, seed=2)), slice_by=[])
    assert repr(found).startswith("Comparison: june → july\nmetric")
    assert "note: 40 samples paired by id" in repr(found)
    assert list(found.to_frame()["verdict"]) == ["better"]
