# SPDX-License-Identifier: Apache-2.0
"""The samples on which a metric and people disagree most.

Metrics and people have different scales, so ranks are compared: each value becomes its percentile,
100 · (rank − ½) / n with tied values sharing their mean rank, among the n samples that have both.
If lower is better, the lowest score has the highest rank. The difference is between −100 and 100.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interloq.errors import InputError
from interloq.records import Key


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One sample with a metric's score and people's mean judgment."""

    key: Key
    score: float
    judgment: float  # people's mean
    rank: float  # of the score, from 1 to n (best)
    judgment_rank: float
    n: int

    @property
    def percentile(self) -> float:
        """Percentile of the metric's score, from 0 to 100."""
        return 100 * (self.rank - 0.5) / self.n

    @property
    def judgment_percentile(self) -> float:
        """Percentile of the mean judgment, from 0 to 100."""
        return 100 * (self.judgment_rank - 0.5) / self.n

    @property
    def difference(self) -> float:
        """In percentile points; positive if the metric ranks the reply higher than people do."""
        return 100 * (self.rank - self.judgment_rank) / self.n  # ranks are halves: equal differences are exactly equal


@dataclass(frozen=True, slots=True)
class Disagreements:
    """Largest disagreements of one metric with people, the largest first."""

    over: tuple[Disagreement, ...]  # rated higher by the metric
    under: tuple[Disagreement, ...]
    n: int  # samples with a score and a judgment


def disagreements(
    scores: Mapping[Key, float], judgments: Mapping[Key, float], *, worst: int = 10, lower_is_better: bool = False
) -> Disagreements:
    """Return the `worst` samples: half of them overrated, half underrated (one more overrated if `worst` is odd)."""
    if worst < 0:
        raise InputError(f"the number of disagreements must not be negative, got {worst}")
    keys = [key for key in scores.keys() & judgments.keys() if not math.isnan(scores[key] + judgments[key])]
    sign = -1 if lower_is_better else 1
    ranks = _ranks([sign * scores[key] for key in keys])
    judgment_ranks = _ranks([judgments[key] for key in keys])
    over, under = [], []
    for key, rank, judgment_rank in zip(keys, ranks, judgment_ranks, strict=True):
        disagreement = Disagreement(key, scores[key], judgments[key], rank, judgment_rank, len(keys))
        if disagreement.difference > 0:
            over.append(disagreement)
        elif disagreement.difference < 0:
            under.append(disagreement)
    for side in (over, under):
        side.sort(key=lambda d: (-abs(d.difference), d.key))
    return Disagreements(tuple(over[: (worst + 1) // 2]), tuple(under[: worst // 2]), len(keys))


def _ranks(values: Sequence[float]) -> list[float]:
    from scipy.stats import rankdata

    return list(map(float, rankdata(values)))
