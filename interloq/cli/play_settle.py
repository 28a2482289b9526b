"""`interloq play run --until-settled METRIC`: play in rounds, score, and stop when the ranking is settled."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from interloq.cli.paths import OutputPath
from interloq.cli.play_view import print_bots
from interloq.cli.rank import add_direction
from interloq.report.console import interval, number, print_json, print_table, say, tell

if TYPE_CHECKING:
    from interloq.arena.play_settled import Played
    from interloq.arena.settle import Look, Settled
    from interloq.metrics.metric import Metric
    from interloq.play.run import Plan
    from interloq.play.talk import Tally


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `interloq play run`."""
    parser.add_argument(
        "--until-settled", metavar="SPEC", help="stop as soon as this metric tells the targets apart; needs two targets"
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="error allowed over all looks (default 0.05)")
    parser.add_argument("--margin", type=float, default=0.0, help="differences that do not matter (default 0: none)")
    add_direction(parser)
    parser.add_argument(
        "--scores", type=OutputPath, metavar="FILE", help="write the scores of all utterances judged here"
    )


class Settling:
    """Plays a plan, at most all of it; while it does, `ranking` says how systems stand."""

    def __init__(self, args: argparse.Namespace, metric: Metric) -> None:
        self.args, self.metric = args, metric
        self.last: Look | None = None

    def play(self, plan: Plan, tally: Tally, progress: Callable[[int], None]) -> Played:
        """The bots are the caller's to close."""
        from interloq.arena.play_settled import play_until_settled
        from interloq.arena.settle import Rule

        args = self.args
        return play_until_settled(
            plan,
            args.output,
            self.metric,
            Rule(args.alpha, margin=args.margin, lower_is_better=args.lower_is_better),
            batch=args.batch,
            patience=args.patience,
            again=args.again,
            tally=tally,
            progress=progress,
            on_look=self._look,
        )

    def ranking(self) -> str:
        """The ranking at the last look."""
        return _order(self.last) if self.last else ""

    def _look(self, look: Look) -> None:
        self.last = look
        if not self.args.quiet:
            left = sum(not (gap.apart or gap.alike) for gap in look.gaps)
            done = f"{look.rounds} rounds, {look.dialogues} dialogues"
            tell(f"{done}: {_order(look)}; {left} of {len(look.gaps)} neighbours not yet apart")


def show(args: argparse.Namespace, found: Played, plan: Plan, tally: Tally) -> None:
    """Print the settled ranking, and write its scores where asked."""
    from interloq.arena.play_settled import facts

    if args.scores:
        _write(args.scores, found, plan)
    unranked = sorted({match.target for match in plan.matches} - set(found.settled.order))
    if args.json:
        print_json({**facts(found.settled), "unranked": unranked, "play": tally.facts()})
        return
    print_bots(tally.facts()["bots"])
    _print(found.settled)
    if unranked:
        say(f"note: no dialogue has a score, so no rank: {', '.join(unranked)}")
    say(f"{args.output}: rank them with `interloq rank`")


def _write(path: str, found: Played, plan: Plan) -> None:
    from interloq.data.jsonl import write
    from interloq.play.samples import carried

    judge = {"metric": found.metric, "signature": found.signature}
    write(path, found.scores, kind="scores", **judge, **carried(plan.run))


def _order(look: Look) -> str:
    """`c > b ? a`: c is better than b, of b and a it is not known."""
    signs = [" > " if gap.apart else " = " if gap.alike else " ? " for gap in look.gaps]
    return "".join(part for pair in zip(look.order, [*signs, ""], strict=False) for part in pair)


def _print(settled: Settled) -> None:
    rows = []
    for gap in settled.looks[-1].gaps if settled.looks else ():
        verdict = "apart" if gap.apart else "alike" if gap.alike else "not apart"
        numbers = [number(gap.difference, 4), interval(gap.interval, 4), str(gap.rounds)]
        rows.append([f"{gap.better} > {gap.worse}", *numbers, verdict])
    sure = f"{100 * (1 - settled.level):.2f} %"
    print_table("neighbours in the ranking", ["better > worse", "difference", f"{sure} interval", "rounds", ""], rows)
    ended = "settled" if settled.settled else "not settled, and the schedule is played"
    say(f"{ended} after {settled.dialogues:,} dialogues in {settled.rounds} of {settled.budget} rounds")
    if settled.unscored:
        say(f"note: {settled.unscored:,} dialogues without a score")
