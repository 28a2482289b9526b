"""Causal and retrieval bots for `bots.py`: tuned weights, random weights, speaker tokens, C-BM25 and C-TFIDF.

    python recipes/bots_causal.py prepare --work WORK [--data DATA]
    python recipes/bots_causal.py train --work WORK -o BOTS [--only tuned,random] [--model smollm2] [--device cuda]
    python recipes/bots.py cards BOTS --work WORK -o docs/measured/bots.md

`prepare` needs the files of `bots.py prepare`; it writes `WORK/causal.tar.xz`, which is all that `train` needs besides
the model. The bots with speaker tokens learn the lines of *Friends* (MELD, EmoryNLP), whose speakers have thousands of
replies each; `friends` is the same model without the tokens, for comparison. They are for figures only: these logs are
not permissive.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from interloq import Dialogue, InputError, InterloqError, Turn
from interloq.data.records.jsonl import read, write
from interloq.learn.settings import LowRank
from interloq.records import Pair
from interloq.retrieve.index import index_files
from interloq.retrieve.retrieve_options import IndexOptions
from interloq.terminal.console import print_stderr

SHARE = 4  # one of so many dialogues of bots.py is learned from by causal models
FRIENDS = ("meld", "emorynlp")
PACKED, LOG, TEST, FRIENDS_LOG = "causal.tar.xz", "causal.jsonl", "test.jsonl", "friends.jsonl"
RETRIEVERS = {"c-bm25": "bm25", "c-tfidf": "tfidf"}


@dataclass(frozen=True, slots=True)
class CausalKind:
    """A causal bot: its settings, the rank of its updates, its learning rate and its log."""

    learning_rate: float
    low_rank: int = 0
    log: str = LOG
    reinitialise: bool = False
    layers: int = 0
    speaker_token: bool = False
    reverse: bool = False
    epochs: int = 1


CAUSAL = {
    "causal-tuned": CausalKind(5e-4, low_rank=16),
    "causal-random": CausalKind(5e-4, reinitialise=True, layers=8, epochs=4),
    "causal-friends": CausalKind(5e-4, low_rank=16, log=FRIENDS_LOG, epochs=3),
    "causal-speakers": CausalKind(5e-4, low_rank=16, log=FRIENDS_LOG, speaker_token=True, epochs=3),
    "causal-reverse": CausalKind(5e-4, low_rank=16, reverse=True),
}


def prepare(data: Path, work: Path) -> None:
    """Pack the logs of all causal bots in one file."""
    from ready_logs import write_dialogues  # imported here: the machine that trains may not have what it needs

    folder = work / "en"
    train = read(folder / "train.jsonl", kind="dialogues")
    write_dialogues(folder / LOG, [dialogue for i, dialogue in enumerate(train) if i % SHARE == 0])
    write_dialogues(folder / FRIENDS_LOG, list(_read_friends(data)))
    with tarfile.open(work / PACKED, "w:xz", preset=6) as archive:
        for name in (LOG, FRIENDS_LOG, TEST):
            archive.add(folder / name, f"en/{name}")
    print_stderr(f"{work / PACKED}: {(work / PACKED).stat().st_size / 2**20:.1f} MiB")


def _read_friends(data: Path) -> Iterator[Dialogue]:
    for name in FRIENDS:
        for dialogue in read(data / "logs" / f"{name}.jsonl.xz", kind="dialogues"):
            yield replace(dialogue, turns=tuple(map(_shorten_name, dialogue.turns)))


def _shorten_name(turn: Turn) -> Turn:
    """Name a speaker alike in both logs: `Joey`, not `Joey Tribbiani`."""
    return replace(turn, speaker=turn.speaker.split()[0] if turn.speaker.split() else "")


def unpack(work: Path) -> Path:
    """Return the folder of the logs, unpacked first if it is not there."""
    folder = work / "en"
    if not (folder / LOG).exists():
        if not (work / PACKED).exists():
            raise InputError(f"no {PACKED} in {work}", hint="run the stage prepare first")
        with tarfile.open(work / PACKED) as archive:
            archive.extractall(work, filter="data")
    return folder


def train_causal(name: str, folder: Path, output: Path, *, model: str, device: str, tokens: int) -> None:
    """Train a causal bot in its folder."""
    from interloq.learn.job import train
    from interloq.play.causal.job import from_log
    from interloq.play.causal.settings import READING, TRAINING, CausalSettings, CausalSource
    from interloq.retrieve.training_log import TrainingLog

    kind = CAUSAL[name]
    settings = CausalSettings(
        reinitialise=kind.reinitialise,
        layers=kind.layers,
        speaker_token=kind.speaker_token,
        reverse=kind.reverse,
        tokens=tokens,
    )
    training = replace(TRAINING, learning_rate=kind.learning_rate, epochs=kind.epochs)
    log = TrainingLog([str(folder / kind.log)])
    reading, low_rank = replace(READING, language="en"), LowRank(low_rank=kind.low_rank)
    job = from_log(log, CausalSource(model), reading, settings, low_rank, training)
    started = time.monotonic()
    facts = train(job, output / name, device=device, report=lambda line: print_stderr(f"{name}: {line}"))
    perplexity = facts["perplexity"]["word"]
    print_stderr(f"{name}: perplexity per word {perplexity:.1f}, {time.monotonic() - started:.0f} s")


def build_index(name: str, folder: Path, output: Path) -> None:
    """Index the utterances of the log, for a retrieval bot."""
    pairs = output / "pairs.jsonl"
    if not pairs.exists():
        output.mkdir(parents=True, exist_ok=True)
        write(pairs, list(_pairs(read(folder / "train.jsonl", kind="dialogues"))), kind="pairs")
    index_files([str(pairs)], str(output / name), IndexOptions(retriever=RETRIEVERS[name]))


def _pairs(dialogues: Iterator[Dialogue]) -> Iterator[Pair]:
    for dialogue in dialogues:
        for i, (turn, reply) in enumerate(zip(dialogue.turns, dialogue.turns[1:], strict=False)):
            yield Pair(f"{dialogue.id}/{i}", turn.text, reply.text)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=("prepare", "train"))
    parser.add_argument("--work", type=Path, required=True, help="folder of prepare's files")
    parser.add_argument("--data", type=Path, help="folder with `logs/` (default: INTERLOQ_DATA)")
    parser.add_argument("-o", "--output", type=Path, help="folder for bots")
    parser.add_argument("--only", help=f"kinds, of {','.join([*CAUSAL, *RETRIEVERS])}")
    parser.add_argument("--model", default="smollm2", help="the causal model to start from")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--tokens", type=int, default=32_768, help="per batch")
    args = parser.parse_args(argv)
    try:
        if args.stage == "prepare":
            from rated_sets import data_folder

            prepare(data_folder(args.data), args.work)
            return 0
        folder = unpack(args.work)
        for name in args.only.split(",") if args.only else [*CAUSAL, *RETRIEVERS]:
            if name in RETRIEVERS:
                build_index(name, folder, args.output)
            else:
                train_causal(name, folder, args.output, model=args.model, device=args.device, tokens=args.tokens)
    except InterloqError as error:
        print_stderr(f"bots_causal: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
