"""What each rated set adds to a judge: its licence, and the mean correlation on other sets with and without it.

    python recipes/set_costs.py --data DATA --work WORK

A frozen judge on `relevance(model='ready')` learns from all sets but the tested one and those with ratings of the same
dialogues (see `judge.py`), then once more without the set in question. The cost is the mean difference of Spearman's
coefficient over the tested sets (without the set in question), with a 95 % interval from resampled items of all of
them. This is the small, quick judge: the packaged ones were trained on a GPU and were not trained again without each
set. DSTC7 is not among the sets, as its context is a text about the topic.

WORK keeps the states, as in `dialogue_teachers.py`. The exit code is 0, or 2 if data or models are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from dialogue_teachers import rated_dialogues
from judge import Encoded, Judges, encoded
from judge_sets import LICENCES
from numpy.typing import NDArray
from rated_sets import KNOWN, RatedSet, data_folder
from scipy.stats import spearmanr

from interloq import InterloqError
from interloq.statistics.resampling import percentile_interval
from interloq.terminal.console import number_with_interval, print_table

RESAMPLES = 300
Floats = NDArray[np.float64]
Pairs = Mapping[str, tuple[Floats, Floats]]  # tested set → its ratings, and a judge's scores


def scores_without(name: str, sets: Mapping[str, RatedSet], found: Mapping[str, Encoded]) -> Pairs:
    """Score every tested set but this one by judges that did not learn from it; "" leaves none out."""
    kept = {key: own for key, own in sets.items() if key != name}
    judges = Judges(kept, {key: found[key] for key in kept})
    return {tested: (kept[tested].human, judges.scores(tested)[0][tested]) for tested in KNOWN if tested in kept}


def cost(every: Pairs, fewer: Pairs) -> tuple[float, tuple[float, float]]:
    """Return how much lower the mean correlation is with fewer sets, and its interval."""
    rng = np.random.default_rng(0)

    def difference(drawn: Mapping[str, NDArray[np.int64]]) -> float:
        values = []
        for name, which in drawn.items():
            human = fewer[name][0][which]
            before, after = (spearmanr(human, pairs[name][1][which]).statistic for pairs in (every, fewer))
            values.append(after - before)
        return float(np.mean(values))

    sizes = {name: len(human) for name, (human, _) in fewer.items()}
    resampled = [difference({name: rng.integers(0, n, n) for name, n in sizes.items()}) for _ in range(RESAMPLES)]
    return difference({name: np.arange(n) for name, n in sizes.items()}), percentile_interval(np.array(resampled))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="the data sets (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/teachers", metavar="FOLDER", help="states (out/teachers)")
    args = parser.parse_args(argv)
    try:
        sets = rated_dialogues(data_folder(args.data))
        found = encoded("ready", sets, Path(args.work))
    except InterloqError as error:
        print(f"set_costs: {error}", file=sys.stderr)
        return 2
    every, rows = scores_without("", sets, found), []
    for name, rated in sets.items():
        difference = number_with_interval(*cost(every, scores_without(name, sets, found)))
        rows.append([name, f"{len(rated.human):,}", LICENCES[name], difference])
    mean = np.mean([spearmanr(*pair).statistic for pair in every.values()])
    print_table(f"mean correlation with all sets: {mean:.3f}", ["set", "items", "licence", "without it"], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
