"""How many rounds it takes until a ranking is settled, and how often it is wrong: simulated systems with known means.

    python benchmarks/settle.py [--runs 200] [--budget 300]

Three systems talk with four partners. A dialogue's score is the system's mean, plus an effect of the opening shared by
all systems (standard deviation 1), plus noise (1). Neighbours differ by `gap`; at 0 all are equal. "Without correction"
uses the same rounds with ordinary 95 % intervals. The exit code is 1 if more runs are wrong than alpha allows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from statistics import median

import numpy as np
from _figures import Figure, add_json_option, report

from interloq.agree.dialogue_scores import DialogueScore
from interloq.rank.settle import ALPHA, Look, t_interval, watch

SYSTEMS, PARTNERS = 3, 4
GAPS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0)


def rounds(gap: float, budget: int, seed: int) -> Iterator[list[DialogueScore]]:
    rng = np.random.default_rng(seed)
    for number in range(budget):
        opening, noise = rng.normal(), rng.normal(size=(SYSTEMS, PARTNERS))
        yield [
            DialogueScore(f"{s}{p}{number}", f"s{s}", f"p{p}", gap * s + opening + float(noise[s, p]), f"{p}|{number}")
            for s in range(SYSTEMS)
            for p in range(PARTNERS)
        ]


def measured(gap: float, runs: int, budget: int) -> list[Figure]:
    """Rounds until settled, and the share of runs that settle, and that separate systems in the wrong order."""
    needed, wrong, naive, settled = [], 0, 0, 0
    for seed in range(runs):
        looks: list[Look] = []
        played = list(rounds(gap, budget, seed))
        found = watch(played, budget=budget, systems=SYSTEMS, on_look=looks.append)
        needed.append(found.rounds)
        settled += found.settled
        wrong += any(_is_wrong(gap, gap_.better, gap_.worse) for look in looks for gap_ in look.gaps if gap_.apart)
        naive += _naive(gap, played, [look.rounds for look in looks])
    return [
        Figure(f"rounds until settled (median), gap {gap:g}", median(needed)),
        Figure(f"settled runs (%), gap {gap:g}", 100 * settled / runs),
        Figure(f"wrong runs (%), gap {gap:g}", 100 * wrong / runs, "", 100 * naive / runs, peer="without correction"),
    ]


def _is_wrong(gap: float, better: str, worse: str) -> bool:
    return gap == 0 or better < worse


def _naive(gap: float, played: list[list[DialogueScore]], looks: list[int]) -> bool:
    table = np.zeros((len(played), SYSTEMS))
    for row, scores in zip(table, played, strict=True):
        for s in range(SYSTEMS):
            row[s] = np.mean([score.value for score in scores if score.system == f"s{s}"])
    for n in looks:
        for first in range(SYSTEMS):
            for second in range(first):
                low, high = t_interval(table[:n, first] - table[:n, second], ALPHA)
                if high < 0 or (gap == 0 and low > 0):
                    return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--budget", type=int, default=300, help="rounds")
    add_json_option(parser)
    args = parser.parse_args()
    figures = [figure for gap in GAPS for figure in measured(gap, args.runs, args.budget)]
    title = f"{args.runs} runs, budget {args.budget} rounds of {SYSTEMS * PARTNERS} dialogues, alpha {ALPHA}"
    report(title, figures, args.json)
    return int(any(figure.ours > 100 * ALPHA for figure in figures if figure.name.startswith("wrong")))


if __name__ == "__main__":
    sys.exit(main())
