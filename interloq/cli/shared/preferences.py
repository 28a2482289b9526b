# SPDX-License-Identifier: Apache-2.0
"""Preferences of people in `interloq rank --method bradley-terry` and `interloq meta --preferences`."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from interloq.cli.shared.output import reading
from interloq.errors import InputError, count
from interloq.rank.rank_options import RankOptions
from interloq.terminal.console import interval, number, print_json, print_line, print_table


def are_preferences(args: argparse.Namespace) -> bool:
    """Whether the first file contains preferences instead of scores."""
    from interloq.data.text.texts import kind_of

    return args.scores[0] != "-" and kind_of(args.scores[0]) == "preferences"


def rank(args: argparse.Namespace, options: RankOptions) -> int:
    """Rank systems by the preferences in the files."""
    from interloq.rank.human_preferences import rank_preference_files
    from interloq.rank.ranking import format_range

    if options.method != "bradley-terry":
        raise InputError(f"{args.scores[0]} contains preferences", hint="add --method bradley-terry")
    with reading(args) as read_options:
        rankings = rank_preference_files(args.scores, options, reading=read_options)
    if args.json:
        print_json([asdict(ranking) for ranking in rankings])
        return 0
    for ranking in rankings:
        rows = [
            [
                s.system,
                format_range(s.rank_range),
                number(s.strength, 4),
                interval(s.ci, 4),
                *map(str, (s.wins, s.ties, s.losses)),
            ]
            for s in ranking.systems
        ]
        preferences, raters = count(ranking.preferences, "preference"), count(ranking.raters, "rater")
        columns = ["system", "range", "strength", "95 % interval", "wins", "ties", "losses"]
        title = f"{ranking.aspect}: {preferences} of {raters} on {count(ranking.items, 'item')}"
        print_table(title, columns, rows)
        print_line("note: the rank ranges of all systems hold together with a probability of 95 %")
        for note in ranking.notes:
            print_line(f"note: {note}")
    return 0


def agree(args: argparse.Namespace) -> int:
    """Print how often metrics prefer the reply that people preferred."""
    from interloq.rank.human_preferences import preference_agreement_files

    with reading(args) as read_options:
        agreements = preference_agreement_files(
            args.scores, args.preferences, lower_is_better=args.lower_is_better, reading=read_options
        )
    if args.json:
        print_json([asdict(agreement) for agreement in agreements])
        return 0
    rows = [
        [
            agreement.metric,
            agreement.aspect,
            number(agreement.share),
            interval(agreement.ci),
            *map(str, (agreement.n, agreement.ties, agreement.unscored)),
        ]
        for agreement in agreements
    ]
    columns = ["metric", "aspect", "prefers the winner", "95 % interval", "n", "ties", "unscored"]
    print_table("agreement with people's preferences", columns, rows)
    return 0
