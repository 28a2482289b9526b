"""How far `precision='int8'` moves the scores of the packaged judges, and their agreement with people.

    python recipes/judge_precision.py [--judges ready,ready-large] [--sets "USR PersonaChat,FED turn"] [--data DATA]

Prints, for each judge and rated set, Spearman's correlation with people in float32 and in int8, the correlation between
the two, and the mean difference of scores. The judges have learned from the ratings of these sets, so that only the
difference says something. The exit code is 0, or 2 if data are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from rated_sets import KNOWN, RatedSet, data_folder, rated_sets
from scipy.stats import spearmanr

from interloq import InterloqError
from interloq.learn.ready import READY, READY_LARGE
from interloq.scorers.judge.model import load_judge
from interloq.terminal.console import print_table

HEADER = ["judge", "set", "replies", "float32", "int8", "change", "between both", "mean difference"]
ASPECT = "overall"


def compare(name: str, sets: dict[str, RatedSet]) -> Iterator[list[str]]:
    """Yield a row for each set, and a row of the mean change."""
    changes = []
    exact, rounded = (load_judge(name, precision=precision) for precision in ("float32", "int8"))
    for set_name, rated in sets.items():
        scores = [judge.scores(rated.samples, ASPECT) for judge in (exact, rounded)]
        before, after = (spearmanr(rated.by_item(values), rated.human).statistic for values in scores)
        changes.append(after - before)
        yield [
            name,
            set_name,
            f"{len(rated.samples):,}",
            f"{before:.4f}",
            f"{after:.4f}",
            f"{changes[-1]:+.4f}",
            f"{spearmanr(scores[0], scores[1]).statistic:.4f}",
            f"{np.abs(scores[0] - scores[1]).mean():.4f}",
        ]
    yield [name, "mean", "", "", "", f"{np.mean(changes):+.4f}", "", ""]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--judges", default=f"{READY},{READY_LARGE}", help="names or folders (ready,ready-large)")
    parser.add_argument("--sets", default=",".join(KNOWN), help="names of rated sets (all)")
    parser.add_argument("--data", metavar="DATA", help="folder of the data sets")
    args = parser.parse_args(argv)
    try:
        chosen = args.sets.split(",")
        sets = {name: rated for name, rated in rated_sets(data_folder(args.data)).items() if name in chosen}
        rows = [row for judge in args.judges.split(",") for row in compare(judge, sets)]
    except InterloqError as error:
        print(f"judge_precision: {error}", file=sys.stderr)
        return 2
    print_table("int8 beside float32", HEADER, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
