# SPDX-License-Identifier: Apache-2.0
"""Numbers as text."""

from __future__ import annotations

from interloq.web.sections import interval, number


def test_numbers() -> None:
    assert [number(one) for one in (-0.126, -0.001, float("nan"))] == ["−0.13", "0.00", "–"]
    assert (interval((0, 1)), interval(None)) == ("0.00 to 1.00", "–")
