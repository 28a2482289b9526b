"""Cost of each metric: 10,000 replies with two references each, without and with 1,000 bootstrap resamples.

Texts have 4 to 22 words from a Zipf vocabulary of 5,000. Best of three runs on one core.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # one core, before numpy is imported

import argparse
import contextlib
import time

import numpy as np
from _figures import Figure, add_json_option, report

from interloq import Sample, create, evaluate
from interloq.errors import SpecError
from interloq.registry import names


def made_samples(n: int) -> list[Sample]:
    rng = np.random.default_rng(0)
    chances = 1 / np.arange(1, 5_001)
    lengths = rng.integers(4, 23, size=3 * n)
    drawn = rng.choice(5_000, size=int(lengths.sum()), p=chances / chances.sum())
    texts = iter([" ".join(f"word{k}" for k in part) + "." for part in np.split(drawn, np.cumsum(lengths)[:-1])])
    return [Sample(str(i), (), next(texts), [next(texts), next(texts)]) for i in range(n)]


def seconds(metric: str, samples: list[Sample], n_bootstrap: int) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        evaluate(create(metric), samples, n_bootstrap=n_bootstrap)
        times.append(time.perf_counter() - start)
    return min(times)


def plain_metrics() -> list[str]:
    """Metrics that need no model and no index; the others have their own benchmarks."""
    found = []
    for name in names("metric"):
        with contextlib.suppress(SpecError):
            create(name)
            found.append(name)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=10_000)
    add_json_option(parser)
    args = parser.parse_args()
    samples = made_samples(args.replies)
    costs = {name: [seconds(name, samples, 0), seconds(name, samples, 1_000)] for name in plain_metrics()}
    figures = []
    for name, (plain, resampled) in costs.items():
        figures.append(Figure(name, plain, "s"))
        figures.append(Figure(f"{name}, 1,000 resamples", resampled, "s"))
    report(f"{args.replies:,} replies, two references each, one core", figures, args.json)


if __name__ == "__main__":
    main()
