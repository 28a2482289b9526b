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

from interloq.agree.dialogue_scores import DialogueScore
from interloq.rank.settle import ALPHA, Look, t_interval, watch
from interloq.terminal.console import print_table

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


def measured(gap: float, runs: int, budget: int) -> list[str]:
    """Rounds and dialogues until settled, and the share of runs that separate systems in the wrong order."""
    needed, wrong, naive, settled = [], 0, 0, 0
    for seed in range(runs):
        looks: list[Look] = []
        played = list(rounds(gap, budget, seed))
        found = watch(played, budget=budget, systems=SYSTEMS, on_look=looks.append)
        needed.append(found.rounds)
        settled += found.settled
        wrong += any(_is_wrong(gap, gap_.better, gap_.worse) for look in looks for gap_ in look.gaps if gap_.apart)
        naive += _naive(gap, played, [look.rounds for look in looks])
    middle = median(needed)
    shares = [f"{100 * n / runs:.1f} %" for n in (settled, wrong, naive)]
    return [f"{gap:g}", f"{middle:g}", f"{middle * SYSTEMS * PARTNERS:g}", *shares]


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
    args = parser.parse_args()
    rows = [measured(gap, args.runs, args.budget) for gap in GAPS]
    columns = ["gap", "rounds (median)", "dialogues", "settled", "wrong", "wrong without correction"]
    print_table(f"{args.runs} runs, budget {args.budget} rounds, alpha {ALPHA}", columns, rows)
    return int(any(float(row[4].split()[0]) > 100 * ALPHA for row in rows))


if __name__ == "__main__":
    sys.exit(main())
