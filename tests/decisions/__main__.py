"""Print how often decisions about simulated systems are wrong: `python -m tests.decisions --repeats 1000`."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence

from tests.decisions.rankings import CONTESTS
from tests.decisions.trials import try_contest, try_decisions
from tests.decisions.worlds import LABELLED, WORLDS


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
    repeats, start = parser.parse_args().repeats, time.process_time()
    for worlds, first in ((WORLDS, "scores of"), (LABELLED, "people's ratings")):
        print_head(first, "false verdicts", "covered", "found", "wrong pass", "wrong regression", "gate decided")
        for world in worlds:
            found = try_decisions(world, repeats)
            numbers = [found.false_verdicts, math.nan if world.undecided else found.covered, found.found]
            numbers += [found.wrong_pass, found.wrong_regression, found.decided]
            print_row([world.name, *map(share, numbers)])
            if world.slice_by:
                print_row([f"{world.name}: any slice", share(found.false_slices), "", "", "", "", ""])
        print(flush=True)
    print_head("rank", "all ranges right", "equal systems apart", "covered", "separated")
    for contest in CONTESTS:
        order = try_contest(contest, repeats)
        print_row([contest.name, *map(share, (order.together, order.disjoint, order.covered, order.separated))])
    print(f"\n{repeats:,} repeats of each setting, {(time.process_time() - start) / 60:.0f} minutes of one core")


if __name__ == "__main__":
    main()
