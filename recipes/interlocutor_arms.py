"""Models that judge replies as the interlocutor, trained for a table: arms, learning rates, seeds, kept predictions.

An arm is one row of a table. With the first seed it is trained once per learning rate; the rate with the lowest dev
loss is used for the other seeds. OUT/models keeps every trained model and OUT/predictions the predictions for its dev
and test parts, so a finished training is never repeated, and tables can be made on another machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results import add_measured_option

from interloq import InputError, InterloqError, Sample, read
from interloq.data.files.durable import atomic_path
from interloq.data.files.folders import find_matching
from interloq.learn.job import train
from interloq.learn.settings import LowRank, Training
from interloq.retrieve.training_log import TrainingLog
from interloq.scorers.interlocutor.job import InterlocutorJob, from_log
from interloq.scorers.interlocutor.model import InterlocutorModel
from interloq.scorers.interlocutor.settings import InterlocutorReading, InterlocutorSources, Target
from interloq.terminal.console import print_stderr

Floats = NDArray[np.float64]
DATA, MODELS, PREDICTIONS = "data", "models", "predictions"
RATES = (3e-5, 2e-4)  # the paper's, for BERT-base, and one for small encoders


@dataclass(frozen=True, slots=True)
class Arm:
    """A row of a table: how a model reads samples, what it learns, and from which folder of OUT/data."""

    name: str
    title: str
    samples: str
    reading: InterlocutorReading
    target: Target
    training: Training
    parts: tuple[str, ...] = ("dev", "test")
    japanese: bool = False  # starts from the plan's Japanese encoder


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predictions of one trained model, by part."""

    rate: float
    seed: int
    dev_loss: float
    by_part: Mapping[str, Floats] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """Where models are, what they start from, and how often each arm is trained."""

    out: Path
    encoder: str = ""
    ja_encoder: str = ""
    seeds: Sequence[int] = (0, 1, 2)
    rates: Sequence[float] = RATES
    device: str = "auto"
    epochs: int = 0  # 0: the arm's

    def trained(self, arm: Arm) -> list[Predicted]:
        """Predictions of an arm for each seed, with models that are trained if they are missing."""
        return self._chosen(arm, self._train)

    def stored(self, arm: Arm) -> list[Predicted]:
        """Predictions of an arm for each seed; missing ones are an error."""
        return self._chosen(arm, self._load)

    def finished(self, arms: Sequence[Arm]) -> list[Arm]:
        """Arms with predictions of the first seed; an error if there are none."""
        finished = []
        for arm in arms:
            paths = [self._path(arm, rate, self.seeds[0]) for rate in self.rates]
            if all(path.is_file() for path in paths):
                finished.append(arm)
        if not finished:
            self.stored(arms[0])  # raises an error that names the missing file
        return finished

    def samples(self, arm: Arm, part: str) -> list[Sample]:
        """Samples of one part of an arm's data."""
        return samples_of(self.out / DATA / arm.samples, part)

    def facts(self, arms: Sequence[Arm]) -> dict[str, list[dict[str, float]]]:
        """Learning rate, seed and dev loss of every model behind the tables."""
        facts: dict[str, list[dict[str, float]]] = {}
        for arm in self.finished(arms):
            facts[arm.name] = []
            for model in self.stored(arm):
                facts[arm.name].append({"rate": model.rate, "seed": model.seed, "dev_loss": model.dev_loss})
        return facts

    def _chosen(self, arm: Arm, make: Callable[[Arm, float, int], Predicted]) -> list[Predicted]:
        first = [make(arm, rate, self.seeds[0]) for rate in self.rates]
        best = min(first, key=lambda found: found.dev_loss)
        return [best, *(make(arm, best.rate, seed) for seed in self.seeds[1:])]

    def _path(self, arm: Arm, rate: float, seed: int) -> Path:
        return self.out / PREDICTIONS / f"{arm.name}-rate{rate:g}-seed{seed}.npz"

    def _load(self, arm: Arm, rate: float, seed: int) -> Predicted:
        path = self._path(arm, rate, seed)
        if not path.is_file():
            raise InputError(f"no predictions of {arm.title!r}", hint="run with --train first", where=str(path))
        with np.load(path, allow_pickle=False) as stored:
            by_part = {part: stored[part].astype(np.float64) for part in arm.parts}
            return Predicted(rate, seed, float(stored["dev_loss"]), by_part)

    def _train(self, arm: Arm, rate: float, seed: int) -> Predicted:
        path = self._path(arm, rate, seed)
        if not path.is_file():
            folder = self.out / MODELS / path.stem
            facts = train(self._job(arm, rate, seed), folder, device=self.device, report=print_stderr)
            model = InterlocutorModel.load(folder, kind=arm.target.kind, device=self.device)
            arrays: dict[str, Any] = {
                part: model.scores(self.samples(arm, part)).astype(np.float32) for part in arm.parts
            }
            arrays["dev_loss"] = np.array(facts["best"]["dev_loss"])
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(path) as part, part.open("wb") as file:
                np.savez(file, **arrays)
            print_stderr(f"{path.stem}: dev loss {facts['best']['dev_loss']:.4f}")
        return self._load(arm, rate, seed)

    def _job(self, arm: Arm, rate: float, seed: int) -> InterlocutorJob:
        epochs = self.epochs or arm.training.epochs
        loop = replace(arm.training, learning_rate=rate, seed=seed, epochs=epochs, checkpoint_minutes=float("inf"))
        files = TrainingLog([str(part_file(self.out / DATA / arm.samples, "train"))])
        given = InterlocutorSources(encoder=self.ja_encoder if arm.japanese else self.encoder)
        return from_log(files, given, arm.reading, replace(arm.target, seed=seed), loop, LowRank())


def part_file(folder: Path, part: str) -> Path:
    """File of one part of the samples."""
    found = find_matching(folder, f"{part}.jsonl*")
    if not found:
        raise InputError(f"no samples of the part {part!r}", hint="run with --prepare first", where=str(folder))
    return found[0]


def samples_of(folder: Path, part: str) -> list[Sample]:
    """Samples of one part."""
    return list(read(part_file(folder, part), strict=True))


# ---- the command line ------------------------------------------------------------------------------------------------


def arguments(description: str, encoder: str) -> argparse.ArgumentParser:
    """Options shared by recipes that train such models."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", metavar="FOLDER", help="published sets and logs (default: $INTERLOQ_DATA)")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="samples, models, predictions, results.json")
    parser.add_argument("--prepare", action="store_true", help="only write the samples")
    parser.add_argument("--train", action="store_true", help="only train and predict; needs no --data")
    parser.add_argument("--tables", action="store_true", help="only print tables, from stored predictions")
    parser.add_argument("--encoder", default=encoder, metavar="FOLDER", help=f"network to start from ({encoder})")
    parser.add_argument("--seeds", type=_numbers(int), default=(0, 1, 2), metavar="N,…", help="(0,1,2)")
    parser.add_argument(
        "--rates", type=_numbers(float), default=RATES, metavar="X,…", help="learning rates to choose from (3e-5,2e-4)"
    )
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"), help="where to compute (auto)")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    parser.add_argument("--quick", action="store_true", help="few samples, one epoch, one seed: a test of the script")
    parser.set_defaults(started=time.monotonic())
    add_measured_option(parser)
    return parser


def _numbers(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    return lambda text: tuple(kind(part) for part in text.split(","))


def plan_of(args: argparse.Namespace) -> Plan:
    """The plan that the options describe."""
    ja = getattr(args, "ja_encoder", "")
    plan = Plan(Path(args.out), args.encoder, ja, args.seeds, args.rates, args.device)
    return replace(plan, seeds=args.seeds[:1], rates=args.rates[:1], epochs=1) if args.quick else plan


def run_stages(
    name: str,
    args: argparse.Namespace,
    arms: Sequence[Arm],
    prepare: Callable[[argparse.Namespace], None],
    tables: Callable[[argparse.Namespace, Plan, Sequence[Arm]], None],
) -> int:
    """Run the stages that were named, or all of them; returns the exit code."""
    every, plan = not (args.prepare or args.train or args.tables), plan_of(args)

    def run() -> None:
        if every or args.prepare:
            prepare(args)
        for arm in arms if every or args.train else ():
            plan.trained(arm)
        if every or args.tables:
            tables(args, plan, arms)

    return exit_code(name, run)


def exit_code(name: str, run: Callable[[], None]) -> int:
    """0, or 2 after printing an error in one line."""
    try:
        run()
    except InterloqError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    return 0
