"""Learning curves of a judge of one's own: agreement with people after 0, 50, 100, 200 and 500 ratings.

    python recipes/judge_curve.py --data DATA --judge "GRADE ConvAI2=FOLDER" --judge "USR Topical-Chat=FOLDER"

Contexts of a set are drawn at random until they have the wanted number of rated replies. A judge learns from these
ratings as in `interloq train judge`, and is tested on the replies to all other contexts. This is repeated in `--draws`
draws. Each figure is the mean over draws, with the middle 95 % of draws in brackets:

- `start`: the judge that it started from, which is what 0 ratings give
- `learned`: the judge that learned from the ratings, and its difference to `start` on the same replies
- `used`: the share of draws in which learning helped on the held-out part of the ratings; otherwise `start` is kept
- `from nothing`: heads learned from the same ratings on the same network, without the judge

A judge must not know the ratings that it is tested on: `--judge SET=FOLDER` names a judge that was trained without the
set. Other sets use `--start` (`ready`), and replies that it knows are counted. A number of ratings that leaves fewer
than 90 replies for the test is omitted.

The data folder has those of `rated_sets.py`: `grade`, `usr`, `multiref_dailydialog` and `fed`. With `ready`, 50
draws from the three sets take about 20 minutes on one core, one of which is for encoding. The exit code is 0, or 2 if
data or models are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rated_sets import RatedSet, data_folder, rated_sets

from interloq import InputError, InterloqError
from interloq.retrieve.leaks import context_of
from interloq.scorers.judge.model import JudgeScorer, texts_of
from interloq.statistics.resampling import percentile_interval
from interloq.statistics.ridge import Head, RatedStates, heads, learn_correction, ranks, spearman
from interloq.terminal.console import number_with_interval, print_json, print_stderr, print_table

SETS = ("GRADE ConvAI2", "USR Topical-Chat", "FED turn")
RATINGS = (50, 100, 200, 500)
FEWEST_TESTED = 90
ALONE = 10.0  # λ of heads that are learned from scratch
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Point:
    """Figures of one set after a number of ratings: the mean over draws, and their middle 95 %."""

    set: str
    ratings: int
    start: tuple[float, float, float]
    learned: tuple[float, float, float]
    difference: tuple[float, float, float]
    used: float
    from_nothing: tuple[float, float, float]


def rated_states(rated: RatedSet, judge: JudgeScorer) -> RatedStates:
    """The replies of a set as the judge's network reads them, with their mean ratings in place of ranks."""
    texts: dict[tuple[str, ...], int] = {}
    contexts = [texts.setdefault(context_of(sample), len(texts)) for sample in rated.samples]
    states, sets = judge.relevance.states(*texts_of(rated.samples)), np.zeros(len(contexts), dtype=np.int64)
    return RatedStates(states, rated.human[rated.items], sets, np.array(contexts))


def curve(name: str, rated: RatedStates, start: Head, draws: int) -> Iterator[Point]:
    """Yield the figures of a set for each number of ratings."""
    for n in RATINGS:
        if len(rated.targets) - n < FEWEST_TESTED:
            continue
        figures = np.array([_draw(rated, start, n, seed) for seed in range(draws)])
        columns = [_summary(column) for column in (*figures.T[:3], figures[:, 1] - figures[:, 0])]
        yield Point(name, n, columns[0], columns[1], columns[3], float(figures[:, 3].mean()), columns[2])


def _draw(rated: RatedStates, start: Head, n: int, seed: int) -> tuple[float, float, float, float]:
    """Return the agreement of the start, of the learned judge and of one from scratch, and whether learning helped."""
    order = np.random.default_rng([seed, n]).permutation(int(rated.contexts.max()) + 1)
    sizes = np.bincount(rated.contexts)[order]
    drawn = order[: int(np.searchsorted(np.cumsum(sizes), n)) + 1]
    own = np.isin(rated.contexts, drawn)
    known, tested = rated[own], rated[~own]
    known = RatedStates(known.states, ranks(known.targets), known.sets, known.contexts)
    learned = learn_correction(known, start)
    (alone,) = heads(known, (ALONE,))
    judged = [spearman(tested, head(tested.states)) for head in (start, learned.head, alone)]
    return judged[0], judged[1], judged[2], float(learned.is_better)


def _summary(values: Floats) -> tuple[float, float, float]:
    return (float(values.mean()), *percentile_interval(values))


def curves(data: Path, judges: Mapping[str, str], start: str, draws: int) -> Iterator[Point]:
    """Yield the figures of all sets."""
    sets = rated_sets(data)
    for name in SETS:
        judge = JudgeScorer.load(judges.get(name, start))
        if known := judge.trained_on(sets[name].samples):
            print_stderr(f"{judge.folder} knows {known} of the {len(sets[name].samples)} replies of {name}")
        row = judge.row("overall")
        head = Head(judge.weights[row], float(judge.offsets[row]), np.inf)
        yield from curve(name, rated_states(sets[name], judge), head, draws)


def show(points: Sequence[Point]) -> None:
    rows = []
    for point in points:
        figures = [point.start, point.learned, point.difference, point.from_nothing]
        shown = [number_with_interval(value, (low, high)) for value, low, high in figures]
        rows.append([point.set, str(point.ratings), *shown[:3], f"{point.used:.0%}", shown[3]])
    columns = ["set", "ratings", "start", "learned", "difference", "used", "from nothing"]
    print_table("Spearman correlation with people", columns, rows)


def _folders(given: Sequence[str]) -> dict[str, str]:
    folders = {}
    for text in given:
        name, _, folder = text.partition("=")
        if name not in SETS or not folder:
            raise InputError(f"--judge {text!r} names no set", hint=f"write SET=FOLDER with one of {', '.join(SETS)}")
        folders[name] = folder
    return folders


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="the data sets (default: $INTERLOQ_DATA)")
    parser.add_argument("--start", default="ready", metavar="JUDGE", help="the judge to start from (ready)")
    parser.add_argument("--judge", action="append", default=[], metavar="SET=FOLDER", help="another one for a set")
    parser.add_argument("--draws", type=int, default=50, metavar="N", help="draws per number of ratings (50)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args(argv)
    try:
        points = list(curves(data_folder(args.data), _folders(args.judge), args.start, args.draws))
    except InterloqError as error:
        print(f"judge_curve: {error}", file=sys.stderr)
        return 2
    if args.json:
        print_json([asdict(point) for point in points])
    else:
        show(points)
    return 0


if __name__ == "__main__":
    sys.exit(main())
