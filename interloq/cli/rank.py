# SPDX-License-Identifier: Apache-2.0
"""`interloq rank`: scores of dialogues in, a ranking of systems with intervals and tests out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from interloq.cli.shared.arguments import add_common, add_input, add_options, make_options
from interloq.cli.shared.output import reading, stage_progress
from interloq.errors import InputError, count
from interloq.rank.rank_options import RankOptions
from interloq.terminal.console import (
    interval,
    number,
    number_with_interval,
    p_value,
    print_json,
    print_line,
    print_signatures,
    print_table,
)

if TYPE_CHECKING:
    from interloq.rank.convergence import ConvergencePoint
    from interloq.rank.ranking import Difference, Ranking, Standing
    from interloq.rank.survival import Survival

SHOWN_TURNS = (1, 2, 5, 10, 20, 50)  # of survival curves
EXAMPLES = """\
  interloq rank dialogues.jsonl
  interloq rank scores.jsonl --dialogues dialogues.jsonl
  interloq rank scores.jsonl --dialogues dialogues.jsonl --by partner --human judged.csv
  interloq rank mine.jsonl theirs.jsonl --dialogues mine-dialogues.jsonl --dialogues their-dialogues.jsonl
  interloq rank scores.jsonl --dialogues dialogues.jsonl --method bradley-terry --json
  interloq rank replies.jsonl --dialogues dialogues.jsonl --survival
  interloq rank scores.jsonl --dialogues dialogues.jsonl --convergence
  interloq rank rated-replies.jsonl --dialogues dialogues.jsonl --aspect continued --survival
  interloq rank dialogues.jsonl --against en-v1
  interloq rank preferences.jsonl --method bradley-terry"""
SCORES_HELP = "score files of samples from `interloq play samples`, or dialogues to score"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser, "scores", "SCORES", SCORES_HELP, nargs="+")
    add_options(parser, RankOptions)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    options = make_options(RankOptions, args)
    from interloq.data.text.texts import kind_of
    from interloq.rank.rank_file import rank_file

    if args.scores[0] != "-" and kind_of(args.scores[0]) == "preferences":
        _rank_preferences(args, options)
        return

    with reading(args) as read_options:
        ranked = rank_file(args.scores, options, reading=read_options, progress=stage_progress(quiet=args.quiet))
    if args.json:
        print_json(asdict(ranked))
    else:
        for metric, why in ranked.unranked.items():
            print_line(f"not ranked by {metric}: {why}")
        for ranking in ranked.rankings:
            print_ranking(ranking)


def _rank_preferences(args: argparse.Namespace, options: RankOptions) -> None:
    """Rank systems by the preferences in the files."""
    from interloq.rank.human_preferences import rank_preference_files
    from interloq.rank.ranking import format_range

    if options.method != "bradley-terry":
        raise InputError(f"{args.scores[0]} contains preferences", hint="add --method bradley-terry")
    with reading(args) as read_options:
        rankings = rank_preference_files(args.scores, options, reading=read_options)
    if args.json:
        print_json([asdict(ranking) for ranking in rankings])
        return
    for ranking in rankings:
        rows = []
        for s in ranking.systems:
            counts = [str(n) for n in (s.wins, s.ties, s.losses)]
            rows.append([s.system, format_range(s.rank_range), number(s.strength, 4), interval(s.ci, 4), *counts])
        preferences, raters = count(ranking.preferences, "preference"), count(ranking.raters, "rater")
        columns = ["system", "range", "strength", "95 % interval", "wins", "ties", "losses"]
        title = f"{ranking.aspect}: {preferences} of {raters} on {count(ranking.items, 'item')}"
        print_table(title, columns, rows)
        print_line("note: the rank ranges of all systems hold together with a probability of 95 %")
        for note in ranking.notes:
            print_line(f"note: {note}")


def print_ranking(ranking: Ranking) -> None:
    """Print a ranking as tables and notes."""
    from interloq.metrics.metric_names import labels

    score = "score" if ranking.method == "mean" else "strength"
    columns = ["system", "rank", "range", score, "95 % interval", "best", "dialogues", "unscored", "failures"]
    better = "lower is better" if ranking.lower_is_better else "higher is better"
    (label,) = labels([ranking.metric]).values()
    print_table(f"{label}, {better}", columns, [_row(standing) for standing in ranking.standings])
    _print_differences(ranking.differences, score, ranking.unit)
    if ranking.human:
        sizes = {estimate.n for estimate in ranking.human.values()}
        rows = []
        for name, estimate in ranking.human.items():
            last = estimate.note or p_value(estimate.p)
            rows.append([name.capitalize(), number(estimate.value), interval(estimate.ci), last])
        columns = ["coefficient", "value", "95 % interval", "p"]
        print_table(f"agreement with people over {count(max(sizes), 'system')}", columns, rows)
    _print_survival(ranking.survival)
    _print_convergence(ranking.convergence)
    for standing in ranking.standings:
        for reason, n in standing.reasons.items():
            print_line(f"note: {standing.system}: unscored, {reason} ({n})")
        for failure, n in standing.failures.items():
            if scored := n - standing.reasons.get(failure, 0):
                print_line(f"note: {standing.system}: failure in a scored dialogue, {failure} ({scored})")
    for note in ranking.notes:
        print_line(f"note: {note}")
    print_signatures(ranking.signature)


def _row(standing: Standing) -> list[str]:
    from interloq.rank.ranking import format_range

    ranks = format_range(standing.rank_range)
    best = "" if standing.best is None else f"{standing.best:.2f}"
    counts = [str(n) for n in (standing.dialogues, standing.unscored, sum(standing.failures.values()))]
    place = str(standing.rank) if standing.rank else "–"
    return [standing.system, place, ranks, number(standing.score, 4), interval(standing.ci, 4), best, *counts]


def _print_differences(differences: Sequence[Difference], score: str, unit: str) -> None:
    if not differences:
        return
    columns = ["better > worse", f"{score} difference", "95 % interval", "p", "p (holm)", f"{unit}s", "shared"]
    rows = []
    for d in differences:
        relation = "=" if d.difference == 0 else ">"
        pair = f"{d.first} {relation} {d.second}"
        numbers = [number(d.difference, 4), interval(d.ci, 4), p_value(d.p), p_value(d.p_adjusted)]
        rows.append([pair, *numbers, str(d.units), str(d.shared)])
    print_table("is one system better than another?", columns, rows)


def _print_survival(curves: Sequence[Survival]) -> None:
    if not curves:
        return
    horizon = curves[0].horizon
    turns = [turn for turn in SHOWN_TURNS if turn < horizon] + [horizon]
    columns = ["system", f"expected replies in {count(horizon, 'turn')}"]
    columns += [f"turn {turn}" for turn in turns]
    rows = []
    for curve in curves:
        row = [curve.system, number_with_interval(curve.expected.value, curve.expected.ci, 2)]
        for turn in turns:
            probability = curve.turns[turn - 1]
            row.append(number_with_interval(probability.value, probability.ci))
        rows.append(row)
    print_table("how long would people stay? probability that a turn is still answered", columns, rows)


def _print_convergence(points: Sequence[ConvergencePoint]) -> None:
    if not points:
        return
    rows = []
    for point in points:
        estimate = point.agreement
        rows.append([f"{point.dialogues:,}", number_with_interval(estimate.value, estimate.ci)])
    columns = ["dialogues per system", "pairs of systems in the same order"]
    print_table("would the ranking stay the same?", columns, rows)
