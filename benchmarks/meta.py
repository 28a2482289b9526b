"""1,000 bootstrap resamples of three coefficients for 1,000 samples, compared with a plain loop over scipy.

The coefficients are Pearson, Spearman and Kendall; both sides use the same data and resamples, in one run on one core.

Judgments are means of three ratings from 1 to 5, so there are many ties; the metric follows them with noise. Both sides
must give the same coefficients in every resample, or the benchmark stops.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # one core, before numpy is imported

import argparse
import time
from collections.abc import Callable

import numpy as np
from _figures import Figure, add_json_option, report
from scipy import stats

from interloq.metrics.metric import Array
from interloq.statistics.correlation import resample_coefficients
from interloq.statistics.estimate import COEFFICIENTS
from interloq.statistics.resampling import bootstrap_counts

N_SAMPLES, N_BOOTSTRAP = 1_000, 1_000


def made_columns(n: int, *, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    judgments = rng.integers(1, 6, size=(n, 3)).mean(axis=1).round(12)
    return judgments + rng.normal(size=n), judgments


def scipy_loop(x: Array, y: Array, n_bootstrap: int, seed: int) -> dict[str, Array]:
    """A loop as written without Interloq: draw, correlate, repeat."""
    found: dict[str, list[float]] = {name: [] for name in COEFFICIENTS}
    for block in bootstrap_counts(len(x), n_bootstrap, seed):
        for drawn in block:
            rows = np.repeat(np.arange(len(x)), drawn)
            a, b = x[rows], y[rows]
            tests = (stats.pearsonr(a, b), stats.spearmanr(a, b), stats.kendalltau(a, b))
            for name, test in zip(COEFFICIENTS, tests, strict=True):
                found[name].append(float(test.statistic))
    return {name: np.array(values) for name, values in found.items()}


def best_time(work: Callable[[], dict[str, Array]], *, repeats: int) -> tuple[dict[str, Array], float]:
    """Result of the work, and its shortest time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return result, min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=N_SAMPLES)
    parser.add_argument("--bootstrap", type=int, default=N_BOOTSTRAP)
    add_json_option(parser)
    args = parser.parse_args()
    x, y = made_columns(args.samples)
    found, ours = best_time(lambda: resample_coefficients(x, y, n_bootstrap=args.bootstrap, seed=0), repeats=5)
    expected, loop = best_time(lambda: scipy_loop(x, y, args.bootstrap, 0), repeats=2)
    for name in COEFFICIENTS:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-9)
    title = f"{args.bootstrap:,} resamples of {len(COEFFICIENTS)} coefficients of {args.samples:,} samples, one core"
    report(title, [Figure("resamples", ours, "s", loop, peer="a loop over scipy")], args.json)


if __name__ == "__main__":
    main()
