"""Mean human rating from 30 labels and 1,000 scores: interval width and coverage on public sets with known means.

    python recipes/few_labels.py --data FOLDER                     # or INTERLOQ_DATA=FOLDER
    python recipes/few_labels.py --data FOLDER -m "relevance(model='ready')" --labels 50 --draws 1000

The items of a set are drawn with replacement: `--labels` whose ratings are known and `--scored` of which only the
scores are. The mean rating of the whole set is then the true value that intervals should contain in 95 % of draws. For
each set and metric: Pearson's r of scores and ratings, the mean width of the prediction-powered interval relative to
that of the labels alone, and how often each contains the truth. The sets are those of `rated_sets.py`. The exit code is
0, or 2 if data or models are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from rated_sets import Floats, RatedSet, data_folder, rated_sets

from interloq import InterloqError
from interloq.score.evaluate import evaluate_all
from interloq.score.parse_metrics import choose
from interloq.statistics.prediction_powered import prediction_powered
from interloq.terminal.console import number, print_json, print_table

METRICS = ("relevance(model='ready')", "chrf", "length")


@dataclass(frozen=True, slots=True)
class Figure:
    """Intervals over all draws from one set with one metric."""

    set: str
    metric: str
    r: float  # Pearson's correlation of scores and ratings
    ratio: float  # mean width, relative to labels alone
    largest: float  # largest of these ratios
    covered: float  # share of intervals that contain the true mean
    covered_alone: float  # the same for labels alone


def figure(name: str, metric: str, scores: Floats, human: Floats, *, labels: int, scored: int, draws: int) -> Figure:
    """Draw labels and scores many times; items without a score are left out."""
    known = np.isfinite(scores)
    scores, human = scores[known], human[known]
    rng = np.random.default_rng(0)
    clusters = [str(i) for i in range(labels + scored)]
    found = []
    for _ in range(draws):
        drawn = rng.integers(len(human), size=labels + scored)
        ratings = np.where(np.arange(labels + scored) < labels, human[drawn], np.nan)
        estimate = prediction_powered(ratings, scores[drawn], clusters)
        powered, alone = (estimate.powered or estimate.labels_alone).ci, estimate.labels_alone.ci
        if powered and alone and alone[1] > alone[0]:
            covered = [low <= human.mean() <= high for low, high in (powered, alone)]
            found.append(((powered[1] - powered[0]) / (alone[1] - alone[0]), *covered))
    ratio, covers, alone_covers = np.array(found, dtype=np.float64).T
    r = float(np.corrcoef(scores, human)[0, 1])
    return Figure(name, metric, r, ratio.mean(), ratio.max(), covers.mean(), alone_covers.mean())


def scores_of(rated: RatedSet, metric: str) -> Floats:
    """Score of each item; NaN if it has none."""
    (one,), _ = choose([metric])
    result = evaluate_all([one.metric], rated.samples, n_bootstrap=0)[0][""]
    return rated.by_item(np.array([result.by_sample[sample.key] for sample in rated.samples]))


def figures(sets: dict[str, RatedSet], metrics: Sequence[str], **size: int) -> Iterator[Figure]:
    """One figure per set and metric that can score it."""
    for name, rated in sets.items():
        for metric in metrics:
            scores = scores_of(rated, metric)
            if np.isfinite(scores).sum() > 2:
                yield figure(name, metric, scores, rated.human, **size)


def show(found: Sequence[Figure]) -> None:
    """Print the figures as a table."""
    columns = ["set, metric", "r", "relative width", "largest", "covered", "covered by labels alone"]
    rows = [[f"{f.set}, {f.metric}", *(number(v) for v in (f.r, f.ratio, f.largest, f.covered, f.covered_alone))]
            for f in found]  # fmt: skip
    print_table("95 % intervals of the mean human rating", columns, rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="folder of the data sets")
    parser.add_argument("-m", "--metric", action="append", metavar="SPEC", help="repeatable")
    parser.add_argument("--labels", type=int, default=30, metavar="N", help="labelled items (default 30)")
    parser.add_argument("--scored", type=int, default=1000, metavar="N", help="other items (default 1000)")
    parser.add_argument("--draws", type=int, default=1000, metavar="N", help="draws per set (default 1000)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    size = {"labels": args.labels, "scored": args.scored, "draws": args.draws}
    try:
        found = list(figures(rated_sets(data_folder(args.data)), args.metric or METRICS, **size))
    except InterloqError as error:
        print(error, file=sys.stderr)
        return 2
    if args.json:
        print_json([asdict(one) for one in found])
    else:
        show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
