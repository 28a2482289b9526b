"""Made versions of a system."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interloq.compare.match_versions import Unit, Version

METRIC = "chrf"


def version(
    name: str,
    values: Sequence[float] | NDArray[np.float64],
    *,
    metric: str = METRIC,
    ratings: Sequence[float] = (),
    prefix: str = "",
    topics: Sequence[str] = (),
    dialogue: int = 1,
) -> Version:
    """One unit per value with ids 0, 1, …; `dialogue` is the number of units per dialogue, 0 if it is unknown."""
    units = []
    for i, value in enumerate(values):
        units.append(
            Unit(
                id=f"{prefix}{i}",
                values={metric: float(value)},
                keys={"id": f"{prefix}{i}"},
                dialogue=f"d{i // dialogue}" if dialogue else "",
                rating=ratings[i] if i < len(ratings) else math.nan,
                fields={"topic": topics[i % len(topics)]} if topics else {},
                prompt=f"prompt {i}",
                text=f"{name} {i}",
            )
        )
    return Version(name, "sample", tuple(units))


def drawn(shift: float = 0.0, n: int = 40, seed: int = 0) -> list[float]:
    """Scores that differ from those of another shift by little noise."""
    shared = np.random.default_rng(1).normal(size=n)
    return list(shared + shift + 0.1 * np.random.default_rng(seed).normal(size=n))
