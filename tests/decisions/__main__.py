"""Print how often decisions about simulated systems are wrong: `python -m tests.decisions --repeats 1000`."""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.decisions.rankings import CONTESTS
from tests.decisions.trials import Decisions, try_contest, try_decisions
from tests.decisions.worlds import LABELLED, WORLDS, World


def share(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f} %"


def print_row(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def print_head(*columns: str) -> None:
    print_row(columns)
    print_row(["---"] * len(columns))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.decisions", description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000, metavar="N", help="of each setting (default 1000)")
    repeats, start = parser.parse_args().repeats, time.monotonic()
    with ProcessPoolExecutor() as pool:
        for worlds, first in ((WORLDS, "scores"), (LABELLED, "people's ratings")):
            print_head(first, "false verdicts", "covered", "found", "wrong pass", "wrong regression", "gate decides")
            for world, found in zip(worlds, pool.map(partial(try_decisions, repeats=repeats), worlds), strict=True):
                print_decisions(world, found)
            print(flush=True)
        print_head("rank", "all ranges right", "equal systems apart", "covered", "ranks in a range")
        orders = pool.map(partial(try_contest, repeats=repeats), CONTESTS)
        for contest, order in zip(CONTESTS, orders, strict=True):
            shares = map(share, (order.together, order.disjoint, order.covered))
            print_row([contest.name, *shares, f"{order.width:.1f}"])
    minutes = (time.monotonic() - start) / 60
    print(f"\n{repeats:,} repeats of each setting, {minutes:.0f} minutes on {os.cpu_count()} cores")


def print_decisions(world: World, found: Decisions) -> None:
    numbers = [found.false_verdicts, found.covered, found.found, found.wrong_pass, found.wrong_regression]
    print_row([world.name, *map(share, [*numbers, found.decided])])
    if world.slice_by:
        print_row([f"{world.name}: any slice", share(found.false_slices), *[""] * 5])


if __name__ == "__main__":
    main()
