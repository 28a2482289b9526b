# SPDX-License-Identifier: Apache-2.0
"""`interloq play run --until-settled METRIC`: play in rounds, score, and stop when the ranking is settled."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from interloq.cli.play.view import print_bots
from interloq.errors import count
from interloq.terminal.console import interval, number, print_json, print_line, print_stderr, print_table

if TYPE_CHECKING:
    from interloq.metrics.metric import Metric
    from interloq.play.play_options import PlayOptions, SettleOptions
    from interloq.play.run import Plan
    from interloq.play.talk import PlayTally
    from interloq.rank.settle import Look, Played, Settled, SystemGap

SIGNS = {"apart": " > ", "alike": " = ", "not apart": " ? "}  # between systems in a ranking


class Settling:
    """Plays a plan until the ranking is settled or the plan ends; `ranking` is the current ranking."""

    def __init__(self, output: str, metric: Metric, options: SettleOptions, *, quiet: bool) -> None:
        self.output, self.metric, self.options, self.quiet = output, metric, options, quiet
        self.last: Look | None = None

    def play(self, plan: Plan, options: PlayOptions) -> Played:
        """Play the games; the caller closes the bots."""
        from interloq.rank.settle import Rule, play_until_settled

        settle = self.options
        rule = Rule(settle.alpha, margin=settle.margin, lower_is_better=settle.lower_is_better)
        return play_until_settled(plan, self.output, self.metric, rule, options, on_look=self._look)

    def ranking(self) -> str:
        """Return the ranking at the last look, as text."""
        return _order(self.last) if self.last else ""

    def _look(self, look: Look) -> None:
        self.last = look
        if not self.quiet:
            left = sum(not (gap.apart or gap.alike) for gap in look.gaps)
            done = f"{count(look.rounds, 'round')}, {count(look.dialogues, 'dialogue')}"
            print_stderr(f"{done}: {_order(look)}; {left} of {len(look.gaps)} adjacent pairs not yet separated")


def show(args: argparse.Namespace, found: Played, plan: Plan, tally: PlayTally) -> None:
    """Print the settled ranking, and write its scores if --scores is given."""
    from interloq.data.records.jsonl import write
    from interloq.play.samples import select_carried_facts
    from interloq.rank.settle import facts

    if args.scores:
        judge = {"metric": found.metric, "signature": found.signature}
        write(args.scores, found.scores, kind="scores", **judge, **select_carried_facts(plan.run))
    unranked = sorted({match.target for match in plan.matches} - set(found.settled.order))
    if args.json:
        print_json({**facts(found.settled), "unranked": unranked, "play": tally.facts()})
        return
    print_bots(tally.facts()["bots"])
    _print(found.settled)
    if unranked:
        print_line(f"note: not ranked, because no dialogue has a score: {', '.join(unranked)}")
    print_line(f"{args.output}: rank them with `interloq rank`")


def _order(look: Look) -> str:
    """Return the order in one line, such as `c > b ? a = d`.

    Here c is better than b, b and a are not separated yet, and a and d differ by less than the margin.
    """
    signs = [SIGNS[_verdict(gap)] for gap in look.gaps]
    parts: list[str] = []
    for system, sign in zip(look.order, [*signs, ""], strict=False):
        parts += [system, sign]
    return "".join(parts)


def _verdict(gap: SystemGap) -> str:
    if gap.apart:
        return "apart"
    if gap.alike:
        return "alike"
    return "not apart"


def _print(settled: Settled) -> None:
    rows = []
    last_gaps = settled.looks[-1].gaps if settled.looks else ()
    for gap in last_gaps:
        numbers = [number(gap.difference, 4), interval(gap.interval, 4), str(gap.rounds)]
        rows.append([f"{gap.better} > {gap.worse}", *numbers, _verdict(gap)])
    level = f"{100 * (1 - settled.level):.2f} %"
    columns = ["better > worse", "difference", f"{level} interval", "rounds", ""]
    print_table("adjacent systems in the ranking", columns, rows)
    ended = "settled" if settled.settled else "not settled: the schedule ended"
    played = f"{count(settled.dialogues, 'dialogue')} in {settled.rounds} of {count(settled.budget, 'round')}"
    print_line(f"{ended} after {played}")
    if settled.unscored:
        print_line(f"note: {count(settled.unscored, 'dialogue')} without a score")
