"""Coefficients per row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from interloq.statistics import correlation
from interloq.statistics.correlation import BY_ROW, kendall_rows

SCIPY: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


@pytest.mark.parametrize("name", BY_ROW)
def test_rows_equal_scipy_row_by_row(name: str) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 4, (50, 9)).astype(float), rng.integers(0, 3, (50, 9)).astype(float)
    x[0], y[1] = 0.1, 0.7
    x[2, 3] = np.nan
    found = BY_ROW[name](x, y)
    assert np.isnan(found[:3]).all()
    expected = [SCIPY[name](a, b).statistic for a, b in zip(x[3:], y[3:], strict=True)]
    np.testing.assert_allclose(found[3:], expected, atol=1e-12)


def test_kendall_rows_do_not_depend_on_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 30, 7))
    whole = kendall_rows(x, y)
    monkeypatch.setattr(correlation, "BLOCK", 100)
    np.testing.assert_array_equal(kendall_rows(x, y), whole)
