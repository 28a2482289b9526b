"""What the commands that train networks have in common: options with their defaults elsewhere, and what was learned."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from interloq.report.console import number, print_json, say

Options = dict[str, tuple[type, str, str]]  # option → (kind, metavar, what it does)
# of scorers that tell true replies from random ones
SCORERS: Options = {
    "epochs": (int, "N", "passes over all pairs, at most"),
    "patience": (int, "N", "epochs without a better dev loss before it stops"),
    "learning-rate": (float, "R", "step of Adam"),
    "checkpoint-minutes": (float, "M", "time between checkpoints"),
}


def given(args: argparse.Namespace, options: Iterable[str]) -> dict[str, Any]:
    """What the user chose; the rest keeps the defaults of its dataclass."""
    names = (option.replace("-", "_") for option in options)
    return {name: value for name in names if (value := getattr(args, name)) is not None}


def show_scorer(args: argparse.Namespace, facts: dict[str, Any]) -> None:
    """The facts of a trained scorer."""
    if args.json:
        print_json({"model": args.output, **facts})
        return
    best = facts["best"]
    say(f"{args.output}: {facts['signature']}")
    say(
        f"best dev loss {number(best['dev_loss'], 4)} after epoch {best['epoch']}; "
        f"{facts['wins']:.1%} of {facts['pairs']['dev']:,} true replies beat a random one"
    )
