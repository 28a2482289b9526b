"""A few openings."""

from __future__ import annotations

from interloq.play.openings import Opening


def openings(n: int) -> list[Opening]:
    return [Opening(f"opening-{i}", (f"hello {i}", f"hi {i}")) for i in range(1, n + 1)]
