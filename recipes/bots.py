"""Bots of known kinds, trained on public logs and measured on the same held-out dialogues.

    python recipes/bots.py prepare --data DATA --work WORK
    python recipes/bots.py train --work WORK -o BOTS [--only lstm,vhred] [--size large] [--parallel 6] [--minutes 4]
    python recipes/bots.py cards BOTS --work WORK [-o docs/measured/bots.md]

`prepare` splits the permissive English logs, and RealPersonaChat for Japanese, into dialogues to train on and held-out
ones, and tokenises the former. It writes one compressed file per language, `WORK/en.tar.xz` and `WORK/ja.tar.xz`, which
is all that `train` needs; `train` can run on another machine, with or without a GPU. With `--minutes`, each kind first
measures its speed and then takes as many epochs as fit. `cards` prints perplexity, diversity, length, speed and samples
of each bot. Every stage resumes, and skips what is done.

The small networks (`--size small`, the default) have weights of at most 3 MB each. Weights trained on English come from
permissive logs only; RealPersonaChat is CC BY-SA 4.0, so the Japanese bot is for figures only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bots_cards import write_cards

from interloq import Dialogue, InputError, InterloqError
from interloq.data.files.durable import atomic_path, remove
from interloq.data.progress import silent
from interloq.data.records.jsonl import read
from interloq.learn.fit import fit
from interloq.learn.job import Run, train
from interloq.learn.settings import Training
from interloq.models.processes import Processes
from interloq.play.networks.job import BotJob, ReplyTask, from_log
from interloq.play.networks.reply_log import join_turns
from interloq.play.networks.settings import TRAINING, BotNetwork, BotReading, BotSources
from interloq.retrieve.training_log import TrainingLog
from interloq.signature import fingerprint
from interloq.terminal.console import print_stderr

ENGLISH = ("self_dialogue", "byu_chitchat", "personachat", "topical_chat", "casino", "persuasion")
JAPANESE = "real_persona_chat"
READING = {"en": BotReading(vocabulary=4096, language="en"), "ja": BotReading(vocabulary=4096, language="ja")}
HELD_OUT = 40  # one of so many dialogues
SAMPLES = 2_000  # held-out exchanges at most
LONGEST = 30  # words (or 60 characters in Japanese) of a held-out reply: no network is cut short
TRAIN, TEST, EXAMPLES = "train.jsonl", "test.jsonl", "examples"
PROBED = 60  # batches, to measure speed
MOST_EPOCHS = 20
RATES = {"small": 3e-3, "large": 1e-3}  # on a small log, 3e-3 was far better for small networks in two epochs


@dataclass(frozen=True, slots=True)
class Kind:
    """A bot: its language and its network in two sizes."""

    small: BotNetwork
    large: BotNetwork
    language: str = "en"

    def network(self, size: str) -> BotNetwork:
        """Return the network of a size."""
        return self.large if size == "large" else self.small


def _network(kind: Any, dimensions: int, layers: int, **settings: Any) -> BotNetwork:
    return BotNetwork(kind=kind, dimensions=dimensions, layers=layers, tokens=32_768, **settings)


TRANSFORMER = Kind(_network("transformer", 96, 2), _network("transformer", 512, 4, heads=8))
KINDS: dict[str, Kind] = {
    "lstm": Kind(_network("lstm", 96, 1), _network("lstm", 512, 2)),
    "conv": Kind(_network("conv", 96, 4), _network("conv", 512, 6)),
    "transformer": TRANSFORMER,
    "vhred": Kind(_network("vhred", 96, 1, annealing=4.0), _network("vhred", 512, 1, latent=128, annealing=4.0)),
    "reverse": Kind(replace(TRANSFORMER.small, reverse=True), replace(TRANSFORMER.large, reverse=True)),
    "transformer-ja": replace(TRANSFORMER, language="ja"),
}


# ---- prepare ---------------------------------------------------------------------------------------------------------


def prepare(data: Path, work: Path, languages: Sequence[str]) -> None:
    """Write the held-out and the tokenised dialogues of each language, packed in one file."""
    for language in languages:
        packed, folder = work / f"{language}.tar.xz", work / language
        if packed.exists():
            print_stderr(f"{packed} is already written")
            continue
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / TEST).exists():
            split_dialogues(_read_log(data, work, language), folder, LONGEST if language == "en" else 2 * LONGEST)
        job = make_job(folder, READING[language], BotNetwork(), TRAINING)
        job.prepare(Run("bots", folder, Processes(_cpu()), "cpu", silent, print_stderr))
        with atomic_path(packed) as part, tarfile.open(part, "w:xz", preset=6) as archive:
            for path in (folder / TRAIN, folder / TEST, folder / EXAMPLES):
                archive.add(path, f"{language}/{path.name}")
        print_stderr(f"{packed}: {packed.stat().st_size / 2**20:.1f} MiB")


def _cpu() -> Any:
    import torch

    return torch.device("cpu")


def _read_log(data: Path, work: Path, language: str) -> Iterator[Dialogue]:
    # imported here: the machine that trains may not have what these need
    from ready_logs import training_logs

    from interloq.data.sets.registry import locate, read_dataset

    if language == "ja":
        yield from read_dataset(JAPANESE, locate(JAPANESE, data), subset="human")
        return
    for name in training_logs(data, ENGLISH, work).files:
        yield from read(name, kind="dialogues")


def split_dialogues(dialogues: Iterator[Dialogue], folder: Path, longest: int) -> None:
    """Write the dialogues to train on, and the exchanges of held-out ones; copies of a dialogue stay together."""
    from ready_logs import write_dialogues, write_objects

    trained: list[Dialogue] = []
    held_out: list[dict[str, Any]] = []
    for dialogue in dialogues:
        turns = join_turns(dialogue.turns)
        if len(turns) < 2:
            continue
        bare = Dialogue(dialogue.id, tuple(turns))
        number = int(fingerprint("\n".join(turn.text for turn in turns)), 16)
        if number % HELD_OUT:
            trained.append(bare)
        else:
            held_out += _samples_of(bare, number, longest)
    held_out.sort(key=lambda sample: sample.pop("order"))
    write_dialogues(folder / TRAIN, trained)
    write_objects(folder / TEST, held_out[:SAMPLES])
    print_stderr(f"{len(trained):,} dialogues to train on, {min(SAMPLES, len(held_out)):,} held-out exchanges")


def _samples_of(dialogue: Dialogue, number: int, longest: int) -> Iterator[dict[str, Any]]:
    for i, turn in enumerate(dialogue.turns[1:], start=1):
        length = len(turn.text.split()) if longest == LONGEST else len(turn.text)
        if length <= longest:
            context = [{"speaker": before.speaker, "text": before.text} for before in dialogue.turns[:i]]
            id = f"{dialogue.id}/{i}"
            yield {"id": id, "context": context, "response": turn.text, "order": fingerprint(str(number), str(i))}


# ---- train -----------------------------------------------------------------------------------------------------------


def make_job(folder: Path, reading: BotReading, network: BotNetwork, training: Training) -> BotJob:
    """Return the job of one kind, on tokenised exchanges if they are there."""
    examples = folder / EXAMPLES
    files = [] if (examples / "examples.json").exists() else [str(folder / TRAIN)]
    return from_log(TrainingLog(files), BotSources(examples=str(examples)), reading, network, training)


def train_kind(name: str, work: Path, output: Path, *, size: str, device: str, epochs: int, minutes: float) -> None:
    """Train one kind in its folder."""
    kind = KINDS[name]
    folder = unpack(work, kind.language)
    training = replace(TRAINING, epochs=epochs, learning_rate=RATES[size])
    job = make_job(folder, READING[kind.language], kind.network(size), training)
    if minutes:
        job = replace(job, training=replace(job.training, epochs=find_epochs(job, output / name, device, minutes)))
    if job.settings.kind == "vhred":  # the whole bound must count for most of the training
        annealing = min(job.settings.annealing, job.training.epochs / 3)
        job = replace(job, settings=replace(job.settings, annealing=annealing))
    started = time.monotonic()
    facts = train(job, output / name, device=device, report=lambda line: print_stderr(f"{name}: {line}"))
    perplexity = facts["perplexity"]["word"]
    print_stderr(f"{name}: perplexity per word {perplexity:.1f}, {time.monotonic() - started:.0f} s")


def find_epochs(job: BotJob, folder: Path, device: str, minutes: float) -> int:
    """Return the number of epochs that fit into the minutes; kept in a file, so that an interrupted job resumes."""
    kept = folder.with_name(f"{folder.name}.epochs")
    if kept.exists():
        return int(kept.read_text())
    with Processes.join(device) as processes:
        run = Run("probe", folder.with_name(f"{folder.name}.probe"), processes, device, silent, print_stderr)
        task = _FewBatches(job.task(run))
        settings = replace(job.training, epochs=2, checkpoint_minutes=float("inf"))
        curve = fit(task, settings, run.work, job="probe", device=device)
        remove(run.work)
    seconds = curve[-1]["seconds"] * task.share
    epochs = max(1, min(MOST_EPOCHS, int(60 * minutes / seconds)))
    print_stderr(f"{folder.name}: {seconds:.0f} s per epoch, so {epochs} epochs")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(str(epochs))
    return epochs


class _FewBatches:
    """A task with the first batches of an epoch only."""

    def __init__(self, task: ReplyTask) -> None:
        self.task, self.network = task, task.network
        self.prepare, self.loss, self.share = task.prepare, task.loss, 1.0

    def batches(self, part: Any, epoch: int) -> Sequence[Any]:
        """Return a few batches."""
        every = self.task.batches(part, epoch)
        if part == "dev":
            return every[:1]
        self.share = max(1.0, len(every) / PROBED)
        return every[:PROBED]


def unpack(work: Path, language: str) -> Path:
    """Return the folder of a language's log, unpacked first if it is not there."""
    folder, packed = work / language, work / f"{language}.tar.xz"
    if not (folder / EXAMPLES / "examples.json").exists():
        if not packed.exists():
            raise InputError(f"no {packed.name} in {work}", hint="run the stage prepare first")
        with tarfile.open(packed) as archive:
            archive.extractall(work, filter="data")
    return folder


def train_all(names: Sequence[str], arguments: Sequence[str], work: Path, parallel: int) -> int:
    """Train kinds in processes of their own, several at a time; return how many failed."""
    for name in names:
        unpack(work, KINDS[name].language)
    waiting, running, failed = list(names), dict[str, subprocess.Popen[bytes]](), 0
    while waiting or running:
        while waiting and len(running) < parallel:
            name = waiting.pop(0)
            running[name] = subprocess.Popen([sys.executable, __file__, *arguments, "--only", name])  # noqa: S603
        time.sleep(0.2)
        for name, process in list(running.items()):
            if process.poll() is not None:
                failed += running.pop(name).returncode != 0
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    stages = parser.add_subparsers(dest="stage", required=True)
    for stage in ("prepare", "train", "cards"):
        part = stages.add_parser(stage)
        if stage == "cards":
            part.add_argument("bots", type=Path, help="folder with trained bots")
        part.add_argument("--work", type=Path, required=True, help="folder of prepare's files")
        part.add_argument("--data", type=Path, help="folder with `logs/` (default: INTERLOQ_DATA)")
        part.add_argument("-o", "--output", type=Path, help="folder for bots, or file for cards")
        part.add_argument("--only", help=f"kinds, of {','.join(KINDS)}, or languages for prepare")
        part.add_argument("--size", choices=("small", "large"), default="small")
        part.add_argument("--device", default="auto")
        part.add_argument("--epochs", type=int, default=TRAINING.epochs)
        part.add_argument("--minutes", type=float, default=0.0, help="per kind; 0: as many as --epochs takes")
        part.add_argument("--parallel", type=int, default=1, help="kinds trained at the same time")
    args = parser.parse_args()
    only = args.only.split(",") if args.only else None
    try:
        if args.stage == "prepare":
            from rated_sets import data_folder

            prepare(data_folder(args.data), args.work, only or list(READING))
        elif args.stage == "train":
            names = only or list(KINDS)
            if len(names) > 1:
                words = _remove_only(sys.argv[1:])
                return 2 if train_all(names, words, args.work, args.parallel) else 0
            options = {"size": args.size, "device": args.device, "epochs": args.epochs, "minutes": args.minutes}
            train_kind(names[0], args.work, args.output, **options)
        else:
            write_cards(args.bots, args.work, args.output, device=args.device)
    except InterloqError as error:
        print_stderr(f"bots: {error}")
        return 2
    return 0


def _remove_only(words: Sequence[str]) -> list[str]:
    if "--only" not in words:
        return list(words)
    i = list(words).index("--only")
    return [*words[:i], *words[i + 2 :]]


if __name__ == "__main__":
    sys.exit(main())
