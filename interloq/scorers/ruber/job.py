"""Training of RUBER's unreferenced scorer, from pairs to a folder.

The work is a chain of stages in `<folder>/work`: tokenizer, pairs as tokens, epochs. Run again, it goes on after the
last stage, or the last checkpoint, that was finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from interloq.data.files import replacing
from interloq.data.progress import Progress, silent
from interloq.learn.fit import fit
from interloq.learn.job import claim, clear_work
from interloq.learn.learning_curve import best_epoch, write_curve
from interloq.learn.pair_tokens import PairTokens, write_pair_tokens
from interloq.learn.pieces import Pieces, train_pieces
from interloq.learn.settings import Training
from interloq.learn.store import FACTS, read_facts, save_model
from interloq.models.processes import Processes
from interloq.records import Pair
from interloq.registry import full_spec
from interloq.scorers.ruber.model import KIND, PIECES
from interloq.scorers.ruber.settings import TRAINING, Unreferenced
from interloq.scorers.ruber.task import RuberTask, start, wins
from interloq.signature import file_fingerprint, fingerprint
from interloq.signature import signature as signed

PAIRS = "pairs"
BATCH = 10_000  # texts compared at a time
LEARNED = 0.98  # share of the margin; a network that tells nothing apart loses all of it
NOTHING = "it has learned nothing: the dev loss is still the margin; try another learning rate, or more pairs or epochs"
Pairs = Callable[[], Iterable[Pair]]
Say = Callable[[str], None]


def train(
    pairs: Pairs,
    folder: str | Path,
    settings: Unreferenced,
    training: Training,
    *,
    tokenizer: str | Path | None = None,
    source: str = "",
    device: str = "auto",
    progress: Progress = silent,
    say: Say = lambda _: None,
) -> dict[str, Any]:
    """Train a scorer and save it to `folder`; a job that was cut short goes on where it was. Returns its facts.

    `pairs` is called for each pass over the pairs. `source` names them: a folder with a job on others is refused.
    """
    folder, job = Path(folder).resolve(), _named(settings, training, tokenizer, source)
    with Processes.joined(device) as processes:
        if processes.first and not claim(folder, job, begun=PairTokens.written(folder / "work" / PAIRS)):
            _prepare(pairs, folder / "work", settings, tokenizer, progress, say)
        processes.wait()
        if (folder / FACTS).exists():
            say(f"{folder.name} is trained already")
            return read_facts(folder, kind=KIND)
        pieces = Pieces(folder / "work" / PIECES, longest=settings.longest)
        task = RuberTask(start(pieces.size, settings), PairTokens.load(folder / "work" / PAIRS), settings)
        curve = fit(task, training, folder / "work", job=job, device=device, progress=progress, say=say)
        facts = {"job": job, "source": source, **_facts(task, training, pieces, source, curve)}
        processes.wait()
        if processes.first:
            _save(folder, task, pieces, facts, curve)
            if facts["best"]["dev_loss"] > LEARNED * settings.margin:
                say(NOTHING)
        processes.wait()
    return read_facts(folder, kind=KIND)


def _named(settings: Unreferenced, training: Training, tokenizer: str | Path | None, source: str) -> str:
    """One name for all that decides the result; how often it is saved does not."""
    loop = replace(training, checkpoint_minutes=TRAINING.checkpoint_minutes)
    model = Pieces(tokenizer).signature() if tokenizer else "trained"
    return fingerprint(full_spec(settings), full_spec(loop), model, source)


def _prepare(
    pairs: Pairs, work: Path, settings: Unreferenced, given: str | Path | None, progress: Progress, say: Say
) -> None:
    """The tokenizer, then the pairs as its tokens; what is there already is taken."""
    if not (work / PIECES).exists():
        _tokenizer(pairs, work / PIECES, settings, given, progress)
    pieces = Pieces(work / PIECES, longest=settings.longest)
    if not given and pieces.size < settings.vocabulary:
        say(f"a tokenizer of {pieces.size:,} pieces is all that these texts give")
    if not PairTokens.written(work / PAIRS):
        with progress("reading pairs", None) as step:
            write_pair_tokens(pairs(), work / PAIRS, pieces, dev=settings.dev, step=step)
    stored = PairTokens.load(work / PAIRS)
    blank = f" ({stored.blank:,} without text left out)" if stored.blank else ""
    say(f"{len(stored.rows('train')):,} pairs to train on, {stored.dev:,} to check with{blank}")


def _tokenizer(pairs: Pairs, path: Path, settings: Unreferenced, given: str | Path | None, progress: Progress) -> None:
    if given:
        with replacing(path) as file:
            file.write(Path(given).read_bytes())
        return
    with progress("reading texts for the tokenizer", None) as step:
        train_pieces(pairs(), path, vocabulary=settings.vocabulary, step=step)


def _facts(
    task: RuberTask, training: Training, pieces: Pieces, source: str, curve: list[dict[str, Any]]
) -> dict[str, Any]:
    settings, stored = task.settings, task.pairs
    devices = "+".join(dict.fromkeys(epoch["device"] for epoch in curve))
    loop = {"training": full_spec(training), "pieces": pieces.signature(), "source": source, "device": devices}
    return {
        "kind": KIND,
        "signature": str(signed(settings, **loop)),
        "config": {"embedding": settings.embedding, "hidden": settings.hidden, "longest": settings.longest},
        "pieces": file_fingerprint(pieces.model),
        "pairs": {"train": len(stored.rows("train")), "dev": stored.dev, "blank": stored.blank},
        "best": best_epoch(curve),
        "wins": wins(task),
    }


def _save(folder: Path, task: RuberTask, pieces: Pieces, facts: dict[str, Any], curve: list[dict[str, Any]]) -> None:
    """Tokenizer and curve, then the model, which says that all is there; then the working files go."""
    with replacing(folder / PIECES) as file:
        file.write(pieces.model.read_bytes())
    write_curve(folder, facts["signature"], curve)
    save_model(folder, task.network.state_dict(), facts)
    clear_work(folder)
