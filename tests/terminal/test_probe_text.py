"""The table of a probed metric."""

from __future__ import annotations

import pytest

from interloq.score.perturb import PERTURBATIONS
from interloq.score.probe import probe
from interloq.terminal.probe_text import probe_table


@pytest.mark.parametrize(("metric", "fell"), [("chrf", "worse"), ("length", "fell")])
def test_one_row_per_perturbation(metric: str, fell: str) -> None:
    columns, rows = probe_table(probe(metric, n_bootstrap=0))
    assert columns == ["reply", "expected", "change", "95 % interval", fell, "n", "verdict"]
    assert [row[:2] for row in rows] == [[p.name, p.expected] for p in PERTURBATIONS]
    assert all(len(row) == len(columns) for row in rows)
