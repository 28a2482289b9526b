"""`interloq train encoder`: a small BERT from nothing but logs, for languages that no installed model reads."""

from __future__ import annotations

import argparse
from typing import Any

from interloq.cli.learning import Options, given
from interloq.cli.train_adapt import READING, add_training, trained

SHAPE: Options = {
    "layers": (int, "N", "layers of the network"),
    "dimensions": (int, "N", "numbers in the vector of a token"),
    "heads": (int, "N", "heads of attention"),
    "vocabulary": (int, "N", "pieces of its tokenizer, at most"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from interloq.learn.adapt.settings import SCRATCH, Adaptation, SmallEncoder

    for name, (kind, metavar, what) in SHAPE.items():
        default = getattr(SmallEncoder(), name)
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=f"{what} (default {default:g})")
    add_training(parser, {**vars(Adaptation()), **vars(SCRATCH)})


def run(args: argparse.Namespace) -> int:
    from interloq.learn.adapt.settings import SCRATCH, Adaptation, SmallEncoder

    shape, settings = SmallEncoder(**given(args, SHAPE)), Adaptation(**given(args, READING), seed=args.seed)

    def train(pairs: Any, training: Any, **options: Any) -> dict[str, Any]:
        from interloq.learn.adapt.scratch import train_encoder

        return train_encoder(pairs, args.output, shape, settings, training, **options)

    return trained(args, train, SCRATCH)
