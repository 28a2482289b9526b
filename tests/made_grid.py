"""Judged replies of several systems to the same contexts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from interloq import Rating, Sample
from interloq.agree.judgments import Judgments, collect
from interloq.statistics.resampling import bootstrap_counts

Array = NDArray[np.float64]
TESTS: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def grid(contexts: int = 12, systems: int = 5, *, shared: bool = True, seed: int = 0) -> tuple[Judgments, Array]:
    """Every system replies once to every context; better systems have higher judgments and scores."""
    rng = np.random.default_rng(seed)
    samples, scores = [], []
    for c in range(contexts):
        for s in range(systems):
            quality = s * 0.5 + rng.normal()
            context = f"context {c}" if shared else f"context {c} of {s}"
            rating = Rating(float(np.clip(round(3 + quality), 1, 5)))
            samples.append(Sample(f"{c:02d}/{s}", context, "r", system=f"system {s}", ratings=[rating]))
            scores.append(round(quality + rng.normal(), 1))
    return collect(samples), np.array(scores)


def drawn(n: int, n_bootstrap: int, seed: int) -> NDArray[np.int64]:
    return np.concatenate(list(bootstrap_counts(n, n_bootstrap, seed)))
