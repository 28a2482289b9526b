"""`interloq train valid`: a scorer of how well formed replies are, from dialogues and pairs."""

from __future__ import annotations

import argparse

from interloq.cli.learning import Options
from interloq.cli.train_relevance import add_scorer, trained

# option → (kind, metavar, what it does); the defaults are those of scorers/relevance/settings.py
MODEL: Options = {
    "batch": (int, "N", "replies in a batch, each with a spoiled one"),
    "reply": (int, "N", "tokens of a reply that count"),
    "shuffled": (float, "S", "share of spoiled replies with their words in another order"),
    "dropped": (float, "S", "… with words left out"),
    "repeated": (float, "S", "… with words said three times"),
    "cut": (float, "S", "… without their second half"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from interloq.scorers.relevance.settings import VALID

    add_scorer(parser, VALID, MODEL)
    parser.set_defaults(hard=[])


def run(args: argparse.Namespace) -> int:
    from interloq.scorers.relevance.settings import VALID

    return trained(args, VALID, MODEL)
