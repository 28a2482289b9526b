# SPDX-License-Identifier: Apache-2.0
"""Proportions of independent yes-or-no answers: exact intervals (Clopper and Pearson, 1934) and binomial tests."""

from __future__ import annotations

import math
from dataclasses import dataclass

from interloq.statistics.clustered import LEVEL


def beta_interval(share: float, n: float) -> tuple[float, float]:
    """The exact 95 % interval of a share of `n` independent answers; neither needs to be a whole number."""
    from scipy import stats

    yes, tail = share * n, (1 - LEVEL) / 2
    low = float(stats.beta.ppf(tail, yes, n - yes + 1)) if yes > 0 else 0.0
    high = float(stats.beta.ppf(1 - tail, yes + 1, n - yes)) if yes < n else 1.0
    return low, high


@dataclass(frozen=True, slots=True)
class Proportion:
    """How many of `n` answers were yes."""

    yes: int
    n: int

    @property
    def value(self) -> float:
        """The share; NaN without answers."""
        return self.yes / self.n if self.n else math.nan

    @property
    def ci(self) -> tuple[float, float] | None:
        """The exact 95 % interval; None without answers."""
        if not self.n:
            return None
        interval = self._test(0.5).proportion_ci(LEVEL, method="exact")
        return float(interval.low), float(interval.high)

    def p(self, chance: float) -> float:
        """Two-sided p-value of the exact binomial test against a probability; NaN without answers."""
        return float(self._test(chance).pvalue) if self.n else math.nan

    def _test(self, chance: float):  # type: ignore[no-untyped-def]
        from scipy import stats

        return stats.binomtest(self.yes, self.n, chance)
