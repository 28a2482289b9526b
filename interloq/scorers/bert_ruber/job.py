"""Training of BERT-RUBER's scorer, from pairs to a folder.

The work is a chain of stages in `<folder>/work`: vectors of all texts, then epochs. Run again, it goes on after the
last row of vectors, or the last checkpoint, that was written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from interloq.data.progress import Progress, silent
from interloq.learn.fit import fit
from interloq.learn.job import claim, clear_work
from interloq.learn.learning_curve import best_epoch, write_curve
from interloq.learn.settings import Training
from interloq.learn.store import FACTS, read_facts, save_model
from interloq.models.encoder import Encoder
from interloq.models.pretrained import model_folder, weights_fingerprint
from interloq.models.processes import Processes
from interloq.records import Pair
from interloq.registry import full_spec
from interloq.scorers.bert_ruber.features import PairVectors, begun, write_pair_vectors
from interloq.scorers.bert_ruber.model import KIND
from interloq.scorers.bert_ruber.settings import TRAINING, BertRuberSettings
from interloq.scorers.bert_ruber.task import BertRuberTask, start, wins
from interloq.signature import fingerprint
from interloq.signature import signature as signed

LEARNED = 0.99 * 2 * math.log(2)  # the loss of a network that tells nothing apart, or nearly
NOTHING = "it has learned nothing: the dev loss is that of guessing; try another learning rate, or more pairs or epochs"
VECTORS = "vectors"
Pairs = Callable[[], Iterable[Pair]]
Say = Callable[[str], None]


def train(
    pairs: Pairs,
    folder: str | Path,
    encoder: str,
    settings: BertRuberSettings,
    training: Training,
    *,
    source: str = "",
    device: str = "auto",
    progress: Progress = silent,
    say: Say = lambda _: None,
) -> dict[str, Any]:
    """Train a scorer and save it to `folder`; a job that was cut short goes on where it was. Returns its facts.

    `source` names the pairs: a folder with a job on others is refused.
    """
    folder, weights = Path(folder).resolve(), weights_fingerprint(model_folder(encoder))
    job = _named(settings, training, weights, source)
    with Processes.joined(device) as processes:
        described = None
        if processes.first and not claim(
            folder, job, begun=begun(folder / "work" / VECTORS), others="other settings, another encoder or other pairs"
        ):
            described = _prepare(pairs, folder / "work", encoder, settings, device, progress, say)
        processes.wait()
        if (folder / FACTS).exists():
            say(f"{folder.name} is trained already")
            return read_facts(folder, kind=KIND)
        stored = PairVectors.load(folder / "work" / VECTORS)
        task = BertRuberTask(start(stored.vectors.shape[1], settings.seed), stored, settings)
        curve = fit(task, training, folder / "work", job=job, device=device, progress=progress, say=say)
        processes.wait()
        if processes.first and described:
            facts = {"job": job, "source": source, **_facts(task, training, described, source, curve)}
            _save(folder, task, curve, facts)
            if facts["best"]["dev_loss"] > LEARNED:
                say(NOTHING)
        processes.wait()
    return read_facts(folder, kind=KIND)


def _named(settings: BertRuberSettings, training: Training, weights: str, source: str) -> str:
    """One name for all that decides the result; how often it is saved does not."""
    loop = replace(training, checkpoint_minutes=TRAINING.checkpoint_minutes)
    return fingerprint(full_spec(settings), full_spec(loop), weights, source)


def _prepare(
    pairs: Pairs, work: Path, name: str, settings: BertRuberSettings, device: str, progress: Progress, say: Say
) -> dict[str, str]:
    """The vectors of all texts, made once; and what is to be known of their encoder."""
    encoder = Encoder(name, layer=settings.layer, longest=settings.longest, device=device)
    if not PairVectors.written(work / VECTORS):
        with progress("encoding texts", None) as step:
            write_pair_vectors(pairs(), work / VECTORS, encoder, settings.pooling, dev=settings.dev, step=step)
    stored = PairVectors.load(work / VECTORS)
    blank = f" ({stored.blank:,} without text left out)" if stored.blank else ""
    say(f"{len(stored.part('train')):,} pairs to train on, {stored.dev:,} to check with{blank}")
    place = str(Path(name).resolve()) if Path(name).is_dir() else name
    weights = weights_fingerprint(encoder.folder)
    return {"name": name, "place": place, "weights": weights, "signature": encoder.signature()}


def _facts(
    task: BertRuberTask, training: Training, encoder: dict[str, str], source: str, curve: list[dict[str, Any]]
) -> dict[str, Any]:
    settings, stored = task.settings, task.pairs
    devices = "+".join(dict.fromkeys(epoch["device"] for epoch in curve))
    loop = {"training": full_spec(training), "encoder": encoder["signature"], "source": source, "device": devices}
    return {
        "kind": KIND,
        "signature": str(signed(settings, **loop)),
        "config": {"pooling": settings.pooling, "layer": settings.layer, "longest": settings.longest},
        "encoder": encoder,
        "pairs": {"train": len(stored.part("train")), "dev": stored.dev, "blank": stored.blank},
        "best": best_epoch(curve),
        "wins": wins(task),
    }


def _save(folder: Path, task: BertRuberTask, curve: list[dict[str, Any]], facts: dict[str, Any]) -> None:
    """The curve, then the model, which says that all is there; then the working files go."""
    write_curve(folder, facts["signature"], curve)
    save_model(folder, task.network.state_dict(), facts)
    clear_work(folder)
