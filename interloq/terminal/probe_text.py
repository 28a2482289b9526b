# SPDX-License-Identifier: Apache-2.0
"""The table of a probed metric."""

from __future__ import annotations

from interloq.score.probe import Probe
from interloq.terminal.console import interval, number


def probe_table(probed: Probe) -> tuple[list[str], list[list[str]]]:
    """Columns and rows: the effect of each perturbation."""
    fell = "fell" if probed.direction == "neither" else "worse"
    rows = [
        [r.perturbation, r.expected, number(r.change), interval(r.ci), number(r.worse, 2), str(r.n), r.verdict]
        for r in probed.rows
    ]
    return ["reply", "expected", "change", "95 % interval", fell, "n", "verdict"], rows
