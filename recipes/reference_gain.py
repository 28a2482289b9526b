"""When do references from logs help? Gain of extending against what the log has in common with the test contexts.

    python recipes/reference_gain.py --data FOLDER --work FOLDER --measured recipes/measured/reference_gain.json

For each of the six rated sets with references and each log: the overlap that `interloq extend --check` measures
without ratings (see `interloq.retrieve.log_overlap`), and the gain of extending in agreement with people. The gain is
the Spearman correlation of BLEU-2 or BERTScore with 15 retrieved replies and the parrot, minus the correlation with the
original reply alone. The logs are the whole pool of reference_pool.py, the logs of each set's own manner, and each log
of 20,000 pairs or more alone. BERTScore takes long: `--bertscore` names the logs for which it is computed, besides the
pool and the manner.

Does the overlap predict the gain? Two questions with different answers:

- Which log is better for my test set? Spearman correlation of overlap and gain over the logs of a set, as the mean of
  the sets.
- How much will my test set gain? Each set's gains are predicted by a line through the other sets' points; its mean
  absolute error is compared with that of the other sets' mean gain, which needs no overlap.

The whole pool is also searched for the last three turns instead of the last one, because USR's contexts are long.
Intervals are from contexts resampled within each set. No log or threshold was chosen by these figures.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from rated_sets import Floats, RatedSet, data_folder
from reference_claims import context_numbers, resampled_spearman, spearman
from reference_pool import MANNER, pairs_by_log, pairs_of, pool, pool_index, sets_with_one_reference
from relevance import ENCODER
from results import Finding, add_measured_option, report_measured
from vbleu_tables import best_matches, bleu_scores

from interloq import InterloqError, Sample
from interloq.data.records.jsonl import read
from interloq.models.vector_cache import VARIABLE as VECTORS
from interloq.retrieve.extend import extend
from interloq.retrieve.index import open_index
from interloq.retrieve.log_overlap import LogOverlap, measure_overlap
from interloq.statistics.correlation import complete_rows
from interloq.statistics.resampling import percentile_interval
from interloq.terminal.console import number, number_with_interval, print_table

K = 15
FEWEST = 20_000  # pairs of a log that is measured alone
WHOLE, OWN_MANNER, THREE_TURNS = "whole pool", "own manner", "whole pool, three turns"
BLEU, BERTSCORE = "BLEU-2", "BERTScore"
MEASURES = ("utterance", "reply")
BINS = (0.0, 0.5, 0.55, 0.6, 1.0)  # of the overlap of replies


@dataclass(frozen=True, slots=True)
class Point:
    """One log and one set: the overlap, and the gain of each metric with its resamples."""

    set: str
    log: str
    pairs: int
    overlap: LogOverlap
    gains: Mapping[str, float]
    resampled: Mapping[str, Floats]

    def measure(self, name: str) -> float:
        """The overlap of this name; NaN if it could not be measured."""
        value: float | None = getattr(self.overlap, name)
        return np.nan if value is None else value

    def interval(self, metric: str) -> tuple[float, float]:
        """The 95 % interval of a gain."""
        return percentile_interval(self.resampled[metric])


# ---- measuring -------------------------------------------------------------------------------------------------------


def measure_points(
    sets: Mapping[str, RatedSet], pairs: Path, with_bertscore: Sequence[str], resamples: int
) -> Iterator[Point]:
    """One point for each set and log, log by log."""
    logs: dict[str, Path | None] = {WHOLE: pairs, THREE_TURNS: pairs, OWN_MANNER: None}
    logs |= {name: path for name, path in pairs_by_log(pairs).items() if has_enough(path)}
    for log, of_log in logs.items():
        print(log, file=sys.stderr)
        for seed, (title, own) in enumerate(sets.items()):
            path = of_log or pairs_of(pairs, MANNER[title])
            turns = 3 if log == THREE_TURNS else 1
            metrics = [BLEU]
            if log in (WHOLE, OWN_MANNER) or log in with_bertscore:
                metrics.append(BERTSCORE)
            index = open_index(pool_index(path))
            extended = list(extend(own.samples, index, k=K, turns=turns))
            overlap = measure_overlap(own.samples, index, k=K, turns=turns, contexts=len(own.samples))
            gains: dict[str, float] = {}
            resampled: dict[str, Floats] = {}
            for metric in metrics:
                scores = score({"gold": own.samples, "extended": extended}, metric, pairs.parent)
                gains[metric], resampled[metric] = gain(own, scores, resamples, seed)
            yield Point(title, log, len(index.store), overlap, gains, resampled)


def has_enough(pairs: Path) -> bool:
    """Whether a log has enough pairs to be measured alone."""
    return sum(1 for _ in read(pairs, kind="pairs")) >= FEWEST


def score(given: Mapping[str, Sequence[Sample]], metric: str, work: Path) -> dict[str, Floats]:
    """Scores with each kind of references."""
    if metric == BLEU:
        return bleu_scores(given)
    return best_matches(given, f"bertscore(model={ENCODER!r},weights='outside')", work / "similarities")


def gain(own: RatedSet, scores: Mapping[str, Floats], resamples: int, seed: int) -> tuple[float, Floats]:
    """How much the correlation rises with more references, and in each resample of contexts."""
    places = complete_rows(scores["gold"], scores["extended"], own.human)
    human, cluster = own.human[places], context_numbers(own)[places]
    before, after = scores["gold"][places], scores["extended"][places]
    resampled = resampled_spearman(after, human, cluster, resamples, seed)
    resampled = resampled - resampled_spearman(before, human, cluster, resamples, seed)
    return spearman(after, human) - spearman(before, human), resampled


# ---- does the overlap predict the gain? ------------------------------------------------------------------------------


def findings_of(points: Sequence[Point]) -> list[Finding]:
    """Whether the overlap orders the logs of a set, and whether it predicts the gain of a set from the other sets."""
    of_last_turn = [point for point in points if point.log != THREE_TURNS]
    findings = []
    for measure in MEASURES:
        findings.append(order_of_logs(of_last_turn, measure, BLEU))
        findings.append(gain_of_prediction(of_last_turn, measure, BLEU))
    return findings


def order_of_logs(points: Sequence[Point], measure: str, metric: str) -> Finding:
    """Correlation of overlap and gain over the logs of a set: mean of the sets."""
    values, spreads, contexts = [], [], 0
    for own in by_set(points, metric).values():
        overlap = np.array([point.measure(measure) for point in own])
        values.append(spearman(overlap, np.array([point.gains[metric] for point in own])))
        resampled = np.stack([point.resampled[metric] for point in own])
        spreads.append([spearman(overlap, column) for column in resampled.T])
        contexts += own[0].overlap.contexts
    logs = len({point.log for point in points if metric in point.gains})
    way = f"when: overlap of {measure} orders logs by their gain in {metric}"
    spread = np.mean(spreads, axis=0)
    return _finding(way, float(np.mean(values)), spread, contexts, f"mean of {len(values)} sets, {logs} logs each")


def gain_of_prediction(points: Sequence[Point], measure: str, metric: str) -> Finding:
    """How much smaller the error is by the overlap than by the other sets' mean gain."""
    groups = by_set(points, metric)
    by_overlap, by_mean = prediction_errors(points, measure, metric)
    resampled = []
    for resample in range(min(len(point.resampled[metric]) for point in points)):
        drawn = []
        for group in groups.values():
            drawn += [replace(point, gains={metric: float(point.resampled[metric][resample])}) for point in group]
        errors = prediction_errors(drawn, measure, metric)
        resampled.append(errors[1] - errors[0])
    contexts = sum(group[0].overlap.contexts for group in groups.values())
    way = f"when: overlap of {measure} predicts the gain of another set in {metric} (error saved)"
    return _finding(way, by_mean - by_overlap, np.array(resampled), contexts, f"{len(groups)} sets, each left out")


def _finding(way: str, value: float, resampled: Floats, contexts: int, data: str) -> Finding:
    ci = percentile_interval(resampled)
    defined = bool(np.isfinite([value, *ci]).all())
    return Finding(
        item="000/73",
        way=way,
        value=value if defined else None,
        ci=ci if defined else None,
        units=contexts,
        unit="contexts",
        data=data,
    )


def prediction_errors(points: Sequence[Point], measure: str, metric: str) -> tuple[float, float]:
    """Mean absolute error of gains predicted by a line through the other sets' points, and by their mean alone."""
    groups = by_set(points, metric)
    by_line, by_mean = [], []
    for name, own in groups.items():
        others = [point for other, rest in groups.items() if other != name for point in rest]
        overlap = np.array([point.measure(measure) for point in others])
        gains = np.array([point.gains[metric] for point in others])
        slope, start = np.polyfit(overlap, gains, 1)
        for point in own:
            by_line.append(abs(start + slope * point.measure(measure) - point.gains[metric]))
            by_mean.append(abs(gains.mean() - point.gains[metric]))
    return float(np.mean(by_line)), float(np.mean(by_mean))


def by_set(points: Sequence[Point], metric: str) -> dict[str, list[Point]]:
    """The points of each set for which the metric was computed."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        if metric in point.gains and np.isfinite([point.gains[metric], *map(point.measure, MEASURES)]).all():
            groups.setdefault(point.set, []).append(point)
    return groups


def gains_by_overlap(points: Sequence[Point], metric: str) -> list[list[str]]:
    """Rows of the table of gains seen at each overlap of replies: mean gain with its interval, and the range."""
    rows = []
    for low, high in pairwise(BINS):
        chosen = []
        for group in by_set(points, metric).values():
            chosen += [point for point in group if low <= point.measure("reply") < high]
        if chosen:
            gains = [point.gains[metric] for point in chosen]
            mean = np.mean([point.resampled[metric] for point in chosen], axis=0)
            shown = number_with_interval(float(np.mean(gains)), percentile_interval(mean))
            sets = len({point.set for point in chosen})
            span = f"{number(min(gains))} to {number(max(gains))}"
            rows.append([metric, f"{low:.2f} to {high:.2f}", str(len(chosen)), str(sets), shown, span])
    return rows


# ---- the whole -------------------------------------------------------------------------------------------------------


def show(points: Sequence[Point]) -> None:
    """Print every point, the gains by overlap, and the errors of predictions."""
    rows = []
    for point in points:
        overlap = [number_with_interval(getattr(point.overlap, m), getattr(point.overlap, f"{m}_ci")) for m in MEASURES]
        gains = []
        for metric in (BLEU, BERTSCORE):
            known = metric in point.gains
            gains.append(number_with_interval(point.gains[metric], point.interval(metric)) if known else "")
        rows.append([point.set, point.log, f"{point.pairs:,}", *overlap, *gains])
    print_table("overlap and gain", ["set", "log", "pairs", *MEASURES, BLEU, BERTSCORE], rows)
    of_last_turn = [point for point in points if point.log != THREE_TURNS]
    rows = gains_by_overlap(of_last_turn, BLEU) + gains_by_overlap(of_last_turn, BERTSCORE)
    print_table("gains by overlap of replies", ["metric", "overlap", "points", "sets", "mean gain", "range"], rows)
    rows = []
    for metric in (BLEU, BERTSCORE):
        for measure in MEASURES:
            rows.append([metric, measure, *map(number, prediction_errors(of_last_turn, measure, metric))])
    print_table("errors of predicted gains", ["metric", "overlap of", "by the overlap", "by the mean"], rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Gain of references from logs, by overlap of log and test contexts.")
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/vbleu", metavar="FOLDER", help="pool and indexes (out/vbleu)")
    parser.add_argument(
        "--bertscore", action="append", default=[], metavar="LOG", help="compute BERTScore with this log"
    )
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    add_measured_option(parser)
    args, started = parser.parse_args(argv), time.monotonic()
    try:
        data, work = data_folder(args.data), Path(args.work)
        os.environ.setdefault(VECTORS, str(work / "vectors.sqlite"))
        sets, pairs = sets_with_one_reference(data), pool(data, work)
        points = list(measure_points(sets, pairs, args.bertscore, args.resamples))
    except InterloqError as error:
        print(f"reference_gain: {error}", file=sys.stderr)
        return 2
    show(points)
    report_measured(args.measured, findings_of(points), [], started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
