"""How often the 95 % interval of distinct-n covers the mean of new sets, for two ways of resampling.

`halves` of a set without repeats are what Interloq draws; `repeats` is the usual bootstrap. Both are shifted to the
observed value. `varied` replies are all different; of `stock` replies 70 % come from 50 fixed ones, as with a bland
chatbot.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from _figures import Figure, add_json_option, report

from interloq import Sample
from interloq.metrics.overlap.distinct import Distinct
from interloq.statistics.resampling import bootstrap_counts, half_counts, percentile_interval

N_SETS, N_FRESH, N_DRAWS, POOL = 200, 400, 300, 20_000
Draw = Callable[[int, int, int], Iterator[np.ndarray]]


def pool(rng: np.random.Generator) -> list[str]:
    """Replies of 4 to 22 words from a Zipf vocabulary of 5,000."""
    chances = 1 / np.arange(1, 5_001)
    lengths = rng.integers(4, 23, size=POOL)
    drawn = rng.choice(5_000, size=int(lengths.sum()), p=chances / chances.sum())
    return [" ".join(map(str, part)) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def fresh(rng: np.random.Generator, replies: Sequence[str], size: int, stock: float) -> list[Sample]:
    fixed = rng.random(size) < stock
    places = np.where(fixed, rng.integers(50, size=size), rng.integers(POOL, size=size))
    return [Sample(str(i), (), replies[place]) for i, place in enumerate(places)]


def interval(metric: Distinct, samples: list[Sample], draw: Draw) -> tuple[float, float]:
    n = len(samples)
    value = metric.value_of_set(samples, [np.ones((1, n), dtype=np.int64)])[0]
    drawn = metric.value_of_set(samples, draw(n, N_DRAWS, 0))
    return percentile_interval(value + drawn - drawn.mean())


def covered(rng: np.random.Generator, replies: Sequence[str], size: int, stock: float, n: int) -> dict[str, float]:
    metric, once = Distinct(n=n), [np.ones((1, size), dtype=np.int64)]
    values = [metric.value_of_set(fresh(rng, replies, size, stock), once)[0] for _ in range(N_FRESH)]
    truth, facts = float(np.mean(values)), {"width of new sets": float(np.ptp(np.percentile(values, [2.5, 97.5])))}
    sets = [fresh(rng, replies, size, stock) for _ in range(N_SETS)]
    draws: dict[str, Draw] = {"halves": half_counts, "repeats": bootstrap_counts}
    for name, draw in draws.items():
        found = [interval(metric, samples, draw) for samples in sets]
        facts[f"{name}: coverage"] = float(np.mean([low <= truth <= high for low, high in found]))
        facts[f"{name}: width"] = float(np.mean([high - low for low, high in found]))
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_json_option(parser)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    replies = pool(rng)
    figures = []
    for name, stock in (("varied", 0.0), ("stock", 0.7)):
        for size in (50, 300):
            for n in (1, 2):
                facts = covered(rng, replies, size, stock, n)
                for fact in ("coverage", "width"):
                    ours, other = facts[f"halves: {fact}"], facts[f"repeats: {fact}"]
                    label = f"{fact} of distinct-{n}, {size} {name} replies"
                    figures.append(Figure(label, ours, "", other, peer="the usual bootstrap"))
    report(f"95 % intervals of {N_SETS} sets", figures, args.json)


if __name__ == "__main__":
    main()
