"""Make the ready weights of `contradiction`, and measure them.

    python recipes/contradiction.py pairs --data DATA -o PAIRS.jsonl
    python recipes/contradiction.py train --pairs PAIRS.jsonl -o TRAINED
    python recipes/contradiction.py measure TRAINED --data DATA --pairs PAIRS.jsonl -o FIGURES.json
    python recipes/contradiction.py install TRAINED --figures FIGURES.json

`pairs` makes pairs of an earlier turn and a reply from permissive logs (see contradiction_pairs.py), without dialogues
that share a longer turn with a test set. `train` needs only the pairs and the encoder, so it can run on another machine:
about a minute on a GPU, an hour or more without (`--most N` uses some of the pairs). `measure` computes the figures of
the card: held-out pairs, the contradictions of a public robustness test, DailyDialog++, and the false alarms on true
replies of held-out dialogues; `--against SPEC` adds other metrics. `install` writes weights, facts and card to the
package, or to `--to FOLDER`. Nothing is chosen by the measured figures. Finished stages are not repeated.

DATA (or INTERLOQ_DATA) holds `logs/` and the published sets, unpacked or as .tar.gz. The exit code is 0, or 2 when data
or weights are missing or refused.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson
from rated_sets import data_folder

from interloq import InputError, InterloqError
from interloq.data.files.opening import lines, replacing
from interloq.learn.job import train
from interloq.learn.settings import LowRank
from interloq.scorers.contradiction.job import ContradictionJob, LabelledPair
from interloq.scorers.contradiction.settings import ENCODER, TRAINING, ContradictionSettings
from interloq.scorers.contradiction.turn_pairs import TurnPair
from interloq.signature import fingerprint
from interloq.terminal.console import print_stderr

RANK = 40
LARGEST = 4_000_000  # bytes of the weights


# ---- pairs -----------------------------------------------------------------------------------------------------------


def pairs(args: argparse.Namespace) -> None:
    from contradiction_pairs import make_pairs, normalise, read_talks
    from contradiction_tests import test_texts

    output = Path(args.output)
    if output.exists():
        print_stderr(f"{output} is complete")
        return
    data = data_folder(args.data)
    excluded = frozenset(normalise(text) for text in test_texts(data)) - {"-"}
    talks = list(read_talks(data, excluded))
    counts: Counter[tuple[str, int]] = Counter()
    with replacing(output) as file:
        for made in make_pairs(talks, args.seed):
            counts[made.part, made.label] += 1
            file.write(orjson.dumps({**asdict(made.pair), "label": made.label, "kind": made.kind, "part": made.part}))
            file.write(b"\n")
    print_stderr(f"{len(talks):,} dialogues")
    for (part, label), number in sorted(counts.items()):
        print_stderr(f"{part}: {number:,} pairs with label {label}")


def read_pairs(path: Path, parts: Sequence[str]) -> Iterator[tuple[TurnPair, dict[str, Any]]]:
    """Yield pairs of some parts, each with its label, kind and part."""
    for _, line in lines(path):
        made = json.loads(line)
        if made["part"] in parts:
            facts = {name: made.pop(name) for name in ("label", "kind", "part")}
            yield TurnPair(**made), facts


# ---- training --------------------------------------------------------------------------------------------------------


def trained(args: argparse.Namespace) -> None:
    path = Path(args.pairs)
    if not path.is_file():
        raise InputError("no pairs", hint="make them first: contradiction.py pairs", where=str(path))
    source = fingerprint(*(line for _, line in lines(path)))  # the same for a compressed file
    if args.most:
        source = fingerprint(source, str(args.most))

    def labelled() -> Iterator[LabelledPair]:
        for pair, facts in choose(list(read_pairs(path, ("train", "dev"))), args.most):
            yield LabelledPair(pair, bool(facts["label"]), facts["part"] == "dev")

    job = ContradictionJob(
        encoder=args.encoder,
        pairs=labelled,
        settings=ContradictionSettings(seed=args.seed),
        training=replace(
            TRAINING, epochs=args.epochs, learning_rate=args.learning_rate, threads=args.threads, seed=args.seed
        ),
        low_rank=LowRank(low_rank=args.low_rank),
        source=source,
    )
    facts = train(job, args.output, device=args.device, report=print_stderr)
    print_stderr(f"dev loss {facts['best']['dev_loss']:.4f}, temperature {facts['temperature']:.3f}")


def choose(pairs: list[tuple[TurnPair, dict[str, Any]]], most: int) -> list[tuple[TurnPair, dict[str, Any]]]:
    """Return at most so many pairs, drawn at random; 0 means all."""
    if not most or len(pairs) <= most:
        return pairs
    return random.Random(0).sample(pairs, most)  # noqa: S311


# ---- the command -----------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    stages = parser.add_subparsers(dest="stage", required=True, metavar="STAGE")
    first = stages.add_parser("pairs", help="make pairs from logs")
    first.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    first.add_argument("--seed", type=int, default=0, metavar="N", help="(0)")
    second = stages.add_parser("train", help="train on the pairs")
    second.add_argument("-o", "--output", required=True, metavar="FOLDER", help="the folder to write, or to resume in")
    second.add_argument("--encoder", default=ENCODER, metavar="NAME", help=f"({ENCODER})")
    second.add_argument("--most", type=int, default=0, metavar="N", help="pairs to use, drawn at random (all)")
    second.add_argument("--low-rank", type=int, default=RANK, metavar="N", help=f"rank of the updates ({RANK})")
    second.add_argument("--epochs", type=int, default=TRAINING.epochs, metavar="N", help=f"({TRAINING.epochs})")
    second.add_argument(
        "--learning-rate", type=float, default=TRAINING.learning_rate, metavar="X", help=f"({TRAINING.learning_rate})"
    )
    second.add_argument("--threads", type=int, default=TRAINING.threads, metavar="N", help=f"({TRAINING.threads})")
    second.add_argument("--seed", type=int, default=0, metavar="N", help="(0)")
    second.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    for stage in (first,):
        stage.add_argument("--data", metavar="FOLDER", help="logs and published sets (default: $INTERLOQ_DATA)")
    for stage in (second,):
        stage.add_argument("--pairs", required=True, metavar="FILE", help="what the stage `pairs` wrote")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        {"pairs": pairs, "train": trained}[args.stage](args)
    except InterloqError as error:
        print(f"contradiction: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
