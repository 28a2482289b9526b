"""Pytest plugin with the fixture `interloq`: reply quality as a test.

def test_reply_quality(interloq):
    interloq.gate("new.jsonl", baseline="baseline.jsonl", margin=0.02)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from interloq.meta.gate import Gate


class Quality:
    """What the fixture `interloq` offers to tests."""

    def gate(
        self,
        new: str | Path,
        *,
        margin: float,
        old: str | Path | None = None,
        baseline: str | Path | None = None,
        metrics: Sequence[str] = (),
        rated: str | Path | None = None,
    ) -> Gate:
        """Fail the test unless the new version passes; see `interloq.meta.gate_file.gate_file`."""
        from interloq.meta.compare_options import GateOptions
        from interloq.meta.gate_file import gate_file

        options = GateOptions(metrics=metrics, rated=rated)
        return self.check(gate_file(new, options, margin=margin, old=old, baseline=baseline))

    def check(self, found: Gate) -> Gate:
        """Fail the test unless a gate passed; an undecided gate fails too."""
        if found.outcome != "pass":
            reasons = "\n".join(f"{v.name}: {v.outcome}: {v.reason}" for v in found.verdicts)
            pytest.fail(f"gate: {found.outcome}\n{reasons}", pytrace=False)
        return found


@pytest.fixture
def interloq() -> Quality:
    """Gates on reply quality."""
    return Quality()
