"""`interloq play run --until-settled METRIC`: play in rounds, score, and stop when the ranking is settled."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from interloq.cli.output import interval, number, print_json, print_table, progress

if TYPE_CHECKING:
    from interloq.arena.play_settled import Played
    from interloq.arena.settle import Look, Settled
    from interloq.play.run import Plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `interloq play run`."""
    parser.add_argument(
        "--until-settled", metavar="SPEC", help="stop as soon as this metric tells the targets apart; needs two targets"
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="error allowed over all looks (default 0.05)")
    parser.add_argument("--margin", type=float, default=0.0, help="differences that do not matter (default 0: none)")
    parser.add_argument("--lower-is-better", action="store_true", help="the metric is better where it is lower")
    parser.add_argument("--scores", metavar="FILE", help="write the scores of all utterances judged here")


def run(args: argparse.Namespace, plan: Plan) -> int:
    """Play the plan, at most all of it; the bots are the caller's to close."""
    from interloq.arena.play_settled import facts, play_until_settled
    from interloq.registry import create

    with progress("utterances", quiet=args.quiet) as step:
        found = play_until_settled(
            plan,
            args.output,
            create(args.until_settled, kind="metric"),
            alpha=args.alpha,
            margin=args.margin,
            lower_is_better=args.lower_is_better,
            batch=args.batch,
            patience=args.patience,
            progress=step,
            on_look=None if args.quiet else _say,
        )
    if args.scores:
        _write(args.scores, found, plan)
    if args.json:
        print_json(facts(found.settled))
    else:
        _print(args.output, found.settled)
    return 0


def _write(path: str, found: Played, plan: Plan) -> None:
    from interloq.data.jsonl import write
    from interloq.play.samples import carried

    write(path, found.scores, kind="scores", **carried(plan.run))


def _say(look: Look) -> None:
    left = sum(not (gap.apart or gap.alike) for gap in look.gaps)
    said = f"{look.rounds} rounds, {look.dialogues} dialogues: {left} of {len(look.gaps)} neighbours not yet apart"
    print(said, file=sys.stderr)


def _print(output: str, settled: Settled) -> None:
    rows = []
    for gap in settled.looks[-1].gaps if settled.looks else ():
        verdict = "apart" if gap.apart else "alike" if gap.alike else "not apart"
        numbers = [number(gap.difference, 4), interval(gap.interval, 4), str(gap.rounds)]
        rows.append([f"{gap.better} > {gap.worse}", *numbers, verdict])
    sure = f"{100 * (1 - settled.level):.2f} %"
    print_table("neighbours in the ranking", ["better > worse", "difference", f"{sure} interval", "rounds", ""], rows)
    ended = "settled" if settled.settled else "not settled, and the schedule is played"
    print(f"{ended} after {settled.dialogues:,} dialogues in {settled.rounds} of {settled.budget} rounds")
    if settled.unscored:
        print(f"note: {settled.unscored:,} dialogues without a score")
    print(f"{output}: rank them with `interloq rank`")
