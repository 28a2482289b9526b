# SPDX-License-Identifier: Apache-2.0
"""Pytest plugin with the fixture `interloq`: reply quality as a test.

def test_reply_quality(interloq):
    interloq.gate("new.jsonl", baseline="baseline.jsonl", margin=0.02)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from interloq.compare.compare_options import GateOptions
    from interloq.compare.gate.gate import Gate
    from interloq.compare.gate.margins import Margins
    from interloq.data.records.read_options import ReadOptions


class Quality:
    """What the fixture `interloq` offers to tests."""

    def gate(
        self,
        new: str | Path,
        options: GateOptions | None = None,
        *,
        margin: Margins,
        old: str | Path | None = None,
        baseline: str | Path | None = None,
        metrics: Sequence[str] = (),
        rated: str | Path | None = None,
        reading: ReadOptions | None = None,
    ) -> Gate:
        """Fail the test unless the new version passes; see `interloq.compare.gate.gate_file.gate_file`.

        `metrics` and `rated` override the fields of `options`.
        """
        from interloq.compare.compare_options import GATE_DEFAULTS
        from interloq.compare.gate.gate_file import gate_file
        from interloq.data.records.read_options import READ_DEFAULTS
        from interloq.errors import InterloqError

        options = options or GATE_DEFAULTS
        chosen = replace(options, metrics=metrics or options.metrics, rated=rated or options.rated)
        try:
            gate = gate_file(new, chosen, margin=margin, old=old, baseline=baseline, reading=reading or READ_DEFAULTS)
            return self.check(gate)
        except InterloqError as error:
            refused = str(error)
        pytest.fail(f"gate: refused: {refused}", pytrace=False)  # outside, so that the message is printed once

    def check(self, gate: Gate) -> Gate:
        """Fail the test unless a gate passed; an undecided gate fails too."""
        if gate.outcome != "pass":
            reasons = "\n".join(f"{v.name}: {v.outcome}: {v.reason}" for v in gate.verdicts)
            pytest.fail(f"gate: {gate.outcome}\n{reasons}", pytrace=False)
        return gate


@pytest.fixture
def interloq() -> Quality:
    """Return the gates on reply quality."""
    return Quality()
