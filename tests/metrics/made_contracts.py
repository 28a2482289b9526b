"""What the contract suite (tests/test_contract.py) must know about a metric: `CONTRACTS` in its test file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

UNIT, POSITIVE, COSINE, REAL = (0.0, 1.0), (0.0, math.inf), (-1.0, 1.0), (-math.inf, math.inf)


@dataclass(frozen=True)
class Contract:
    """Lowest and highest value of a metric, specs beside its defaults, and values of its required fields.

    The files that specs name are those of `write_files` in tests/made_metrics.py. `referenced` says whether replies
    without references are unscored; None: as `needs` of the metric says.
    """

    range: tuple[float, float]
    variants: Sequence[str] = ()
    required: str = ""
    referenced: bool | None = None
