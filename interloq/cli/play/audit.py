# SPDX-License-Identifier: Apache-2.0
"""`interloq play audit`: how much a ranking depends on the choice of systems and partners, from scored dialogues."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from interloq.cli.rank import SCORES_HELP
from interloq.cli.shared.arguments import add_common, add_input, add_options, make_options
from interloq.cli.shared.output import reading
from interloq.errors import count
from interloq.play.play_options import AuditOptions
from interloq.terminal.console import number, print_json, print_line, print_table

if TYPE_CHECKING:
    from interloq.rank.audit import Cheating, Influence

SHOWN = 10  # changes of partners in the table; --json prints all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser, "scores", "SCORES", SCORES_HELP, nargs="+")
    add_options(parser, AuditOptions)
    add_common(parser)


def run(args: argparse.Namespace) -> None:
    from interloq.agree.dialogue_scores import dialogue_scores, metrics_of
    from interloq.metrics.metric_names import find
    from interloq.rank.audit import cheating, influence
    from interloq.rank.scored_dialogues import read_scored

    options = make_options(AuditOptions, args)
    with reading(args) as read_options:
        scored = read_scored(args.scores, options.dialogues, reading=read_options)
    metric, lower = find(options.metric, metrics_of(scored.scores)), options.lower_is_better
    rows = dialogue_scores(scored.scores, scored.dialogues, metric=metric)
    if options.unfavoured or options.alike or options.favoured:
        tried = cheating(rows, options.unfavoured, options.alike, favoured=options.favoured, lower_is_better=lower)
        if args.json:
            print_json({**asdict(tried), "table": tried.table, "unscored": tried.unscored})
        else:
            _print_cheating(tried)
        return
    effect = influence(rows, options.in_set, options.pool, lower_is_better=lower)
    if args.json:
        print_json(asdict(effect))
    else:
        _print_influence(effect)


def _print_cheating(tried: Cheating) -> None:
    rows = []
    for trial in tried.trials:
        overturned = "overturned" if trial.overturned else ""
        numbers = [number(trial.fair, 4), number(trial.unfair, 4), str(trial.dialogues)]
        rows.append([trial.favoured, *numbers, overturned])
    title = f"favoured minus {tried.unfavoured}, with {', '.join(tried.alike)} as systems similar to it"
    print_table(title, ["favoured", "fair set", "unfair set", "dialogues", ""], rows)
    wins, loses = tried.table
    rows = [["favoured wins", *map(str, wins)], ["favoured loses", *map(str, loses)]]
    print_table("", ["fair set \\ unfair set", "favoured wins", "favoured loses"], rows)
    print_line(
        f"the choice of systems overturned {sum(t.overturned for t in tried.trials)} of {len(tried.trials)} rankings"
    )
    if tried.unscored:
        print_line(f"note: not in the table, because unscored in one of the sets: {', '.join(tried.unscored)}")


def _print_influence(effect: Influence) -> None:
    from interloq.rank.ranking import format_range

    names = {"drop": "one dropped", "add": "one added", "swap": "one swapped"}
    seen_kinds = {change.kind for change in effect.changes}
    kinds = [kind for kind in names if kind in seen_kinds]
    rows = []
    for system in sorted(effect.ranks, key=lambda name: (effect.ranks[name], name)):
        ranges = [format_range(effect.range_of(system, kind) or (0, 0)) for kind in kinds]
        rows.append([system, str(effect.ranks[system]), *ranges])
    title = f"ranks with {count(len(effect.partners), 'partner')}, and their ranges if partners change"
    print_table(title, ["system", "rank", *(names[kind] for kind in kinds)], rows)
    shown = []
    for change in effect.changes[:SHOWN]:
        labels = {
            "drop": f"without {change.out}",
            "add": f"with {change.into}",
            "swap": f"{change.into} for {change.out}",
        }
        moves = [f"{name} {move:+d}" for name, move in sorted(change.moves.items(), key=lambda item: -item[1]) if move]
        shown.append([labels[change.kind], str(change.moved), number(change.kendall), ", ".join(moves)])
    print_table("changes that move ranks most", ["change", "places moved", "Kendall", "moves"], shown)
    unmoved = sum(change.moved == 0 for change in effect.changes)
    print_line(f"{unmoved} of {count(len(effect.changes), 'change')} do not move any rank")
